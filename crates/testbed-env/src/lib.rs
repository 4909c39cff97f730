//! What tests on the test bed share: the bed itself, a namespace of each test's own, project folders.
//!
//! A development dependency of other crates' tests, and of nothing else. It knows no other crate of the workspace and
//! needs no runtime: it starts `kubectl`, `docker` and `testbed/testbed`, and asks the cluster itself where that is asked often.
//! Everything here panics with a sentence that
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

mod api;
mod bed;
mod creator;
mod namespace;
mod project;

pub use bed::{Alone, Bed, Stopped};
pub use namespace::Namespace;
pub use project::Project;

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A port of the loopback address that was free a moment ago. Use it at once: nothing reserves it. It is below those that
/// the system gives to connections and to whoever asks for any, so that nobody but another test could take it.
pub fn free_port() -> u16 {
    const FIRST: u32 = 12_000;
    const COUNT: u32 = 20_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Each process begins elsewhere.
    let begin = std::process::id().wrapping_mul(97);
    let tried = std::iter::repeat_with(|| begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)))
        .take(COUNT as usize);
    let mut ports = tried.filter_map(|number| u16::try_from(FIRST + number % COUNT).ok());
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.expect("the loopback address has a free port")
}

/// Asks for a fact until it is there, for at most three minutes. The fact comes as `Some`; `what` completes the sentence
/// "waited in vain until …".
pub fn eventually<T>(what: &str, fact: impl FnMut() -> Option<T>) -> T {
    eventually_within(Duration::from_secs(180), what, fact)
}

/// [`eventually`] with a deadline of one's own, for what takes longer on a slow machine.
pub fn eventually_within<T>(patience: Duration, what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    const SHORTEST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(1);
    let deadline = Instant::now() + patience;
    loop {
        let asked = Instant::now();
        if let Some(value) = fact() {
            return value;
        }
        let now = Instant::now();
        assert!(now < deadline, "waited {patience:?} in vain until {what}");
        // Some ask by a program that takes a tenth of a second of the processor: what is waited for needs it more.
        std::thread::sleep(((now - asked) * 2).clamp(SHORTEST, LONGEST));
    }
}
