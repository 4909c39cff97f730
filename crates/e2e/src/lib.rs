//! What the suites of the whole product share: a running `lilt` as a person has it, in a pipe or in a terminal, and
//! projects for the test bed.
//!
//! The suites in `suites/` are test targets of the package that has the binary: only for those does cargo build the
//! binary first. This library is for them alone. It knows nothing of lilt's insides: what it asks a session, it asks
//! through `lilt-client`, or as any other program would. Everything here panics with a sentence that says what is wrong.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]
#![allow(clippy::print_stderr, reason = "a test that fails shows what lilt printed")]

pub mod bed;
pub mod chance;
pub mod lilt;
pub mod page;
pub mod processes;
pub mod proxy;
pub mod rights;
pub mod tty;
pub mod workload;

use std::path::PathBuf;

/// Returns the `lilt` that cargo built together with the suite that runs.
pub fn program() -> PathBuf {
    let suite = std::env::current_exe().expect("a process knows its program");
    // A suite is in `deps`, the programs are in the folder above.
    let folder = suite.ancestors().nth(2).expect("cargo has a folder for what it builds");
    folder.join("lilt")
}
