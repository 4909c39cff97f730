//! Processes on this machine, each the leader of a group of its own, none of which outlives its [`Process`].
//!
//! Commands are started without a terminal and without input. What their output means is the caller's business.

mod foreground;
mod launch;
mod stop;
mod supervise;
mod tree;

use std::fmt;

use lilt_model::Failure;
use nix::unistd::Pid;
use tokio::task::JoinHandle;

pub use foreground::in_terminal;
pub use launch::Launch;
pub use stop::reap_adopted;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => match nix::sys::signal::Signal::try_from(*signal) {
                Ok(name) => write!(f, "signal {}", name.as_str().trim_start_matches("SIG")),
                Err(_) => write!(f, "signal {signal}"),
            },
        }
    }
}

/// A running process and all that it starts. Dropping it kills them at once.
///
/// Once the process has ended by itself, what it left running in the background stays: a command may mean to start a
/// server. [`Process::stop`] still ends that.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// Passes output on and waits for the end.
    supervisor: JoinHandle<Exit>,
    exit: Option<Exit>,
}

impl Process {
    /// Starts a command. `on_output` gets its output as it comes, in pieces of any length; it is called from a task of
    /// the current tokio runtime and must not block for long.
    pub fn spawn(
        launch: &Launch,
        on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<Process, Failure> {
        let child = launch.start()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw);
        let pid = pid.expect("invariant: a child that was not waited for has a process id");
        let supervisor = tokio::spawn(supervise::supervise(child, on_output));
        Ok(Process { pid, supervisor, exit: None })
    }

    pub fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Waits until the process has ended and its output was passed on. May be cancelled and called again.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = match (&mut self.supervisor).await {
            Ok(exit) => exit,
            // The receiver of the output panicked: let the panic be seen where the process is waited for.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Only the drop aborts it; or the runtime is ending, and everything with it.
            Err(_) => Exit::Signal(nix::sys::signal::Signal::SIGKILL as i32),
        };
        self.exit = Some(exit);
        exit
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit.is_none() {
            stop::kill(self.pid);
        }
        self.supervisor.abort();
    }
}

/// Makes lilt the parent of what its commands leave behind, so that it can be found and reaped; without it, that is
/// the init process. Call [`reap_adopted`] now and then after it.
#[cfg(target_os = "linux")]
pub fn become_subreaper() -> Result<(), Failure> {
    nix::sys::prctl::set_child_subreaper(true).map_err(|error| {
        Failure::environment(format!("cannot become the reaper of orphaned processes: {error}"))
    })
}
