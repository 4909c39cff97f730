//! Support for the suites of the whole product: a running `lilt` in a pipe or in a terminal, and
//! projects for the test bed.
//!
//! The suites in `suites/` are test targets of the package that has the binary: only for those does cargo build the
//! binary first. This library is only for them. It uses no internals of lilt: it queries a session
//! through `lilt-client`, or like any other program. Everything here panics with a message that says what is wrong.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]
#![allow(clippy::print_stderr, reason = "a test that fails shows what lilt printed")]

pub mod lilt;
pub mod page;
pub mod processes;
pub mod proxy;
pub mod rights;
pub mod seeded_random;
pub mod site;
pub mod tty;
pub mod workload;

use std::path::PathBuf;

/// Returns the `lilt` binary that cargo built with the running suite.
pub fn program() -> PathBuf {
    let suite = std::env::current_exe().expect("a process knows its program");
    // Suites are in `deps`, programs in its parent folder.
    let folder = suite.ancestors().nth(2).expect("cargo has a folder for what it builds");
    folder.join("lilt")
}
