//! Support for tests on the test bed: the test bed itself, a namespace for each test, project folders.
//!
//! Only a development dependency of other crates. It depends on no other crate of the workspace and
//! needs no async runtime: it runs `kubectl`, `docker` and `testbed/testbed`, and queries the API server directly where
//! tests query often. Everything here panics with a message that says what is wrong, because a test cannot handle errors.
//!
//! ```no_run
//! use lilt_testbed_env::{Project, Testbed};
//!
//! let testbed = Testbed::get();
//! let namespace = testbed.namespace("greeting");
//! let project = Project::new(&[("Tiltfile", "k8s_yaml('web.yaml')"), ("web.yaml", "…")]);
//! let mut lilt = testbed.command("lilt");
//! lilt.env("KUBECONFIG", namespace.kubeconfig()).current_dir(project.path());
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "tests use this machine through here: files, processes, clock, environment"
)]

mod api;
mod creator;
mod namespace;
mod project;
mod testbed;

pub use namespace::Namespace;
pub use project::Project;
pub use testbed::{ExclusiveLock, Stopped, Testbed};

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Returns a port of the loopback address that was free a moment ago. Use it at once: it is not reserved. It is below the
/// system's ephemeral ports, so that only another test could take it.
pub fn free_port() -> u16 {
    const FIRST: u32 = 12_000;
    const COUNT: u32 = 20_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Each process starts at another port.
    let begin = std::process::id().wrapping_mul(97);
    let tried = std::iter::repeat_with(|| begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)))
        .take(COUNT as usize);
    let mut ports = tried.filter_map(|number| u16::try_from(FIRST + number % COUNT).ok());
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.expect("the loopback address has a free port")
}

/// Polls until `fact` returns `Some`, for at most three minutes. `what` completes the sentence
/// "waited in vain until …".
pub fn eventually<T>(what: &str, fact: impl FnMut() -> Option<T>) -> T {
    eventually_within(Duration::from_secs(180), what, fact)
}

/// [`eventually`] with another timeout, for what takes longer on a slow machine.
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
        // Some polls run a program that takes a tenth of a second of CPU time, which the tested program needs.
        std::thread::sleep(((now - asked) * 2).clamp(SHORTEST, LONGEST));
    }
}
