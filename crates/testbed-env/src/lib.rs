//! What tests on the test bed share: the bed itself, a namespace of each test's own, project folders.
//!
//! A development dependency of other crates' tests, and of nothing else. It knows no other crate of the workspace and
//! needs no runtime: it starts `kubectl`, `docker` and `testbed/testbed`. Everything here panics with a sentence that
//! says what is wrong, because a test can do nothing else with an error.
//!
//! ```no_run
//! use lilt_testbed_env::{Bed, Project};
//!
//! let bed = Bed::get();
//! let namespace = bed.namespace("greeting");
//! let project = Project::new(&[("Tiltfile", "k8s_yaml('web.yaml')"), ("web.yaml", "…")]);
//! let mut lilt = bed.command("lilt");
//! lilt.env("KUBECONFIG", namespace.kubeconfig()).current_dir(project.path());
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "tests use this machine through here: files, processes, clock, environment"
)]

mod bed;
mod creator;
mod namespace;
mod project;

pub use bed::{Alone, Bed, Stopped};
pub use namespace::Namespace;
pub use project::Project;

use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A port of the loopback address that was free a moment ago. Use it at once: nothing reserves it.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback address has a free port");
    listener.local_addr().expect("a bound listener has an address").port()
}

/// Asks for a fact until it is there, for at most a minute. The fact comes as `Some`; `what` completes the sentence
/// "waited in vain until …".
pub fn eventually<T>(what: &str, fact: impl FnMut() -> Option<T>) -> T {
    eventually_within(Duration::from_secs(60), what, fact)
}

/// [`eventually`] with a deadline of one's own, for what takes longer on a slow machine.
pub fn eventually_within<T>(patience: Duration, what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(value) = fact() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {patience:?} in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
