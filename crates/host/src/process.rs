//! Processes on this machine, each the leader of a group of its own, none of which outlives its [`Process`].
//!
//! Commands are started without a terminal and without input, by a [`Guardian`], so that they end with lilt however
//! that ends. What their output means is the caller's business.

mod blocking;
mod detached;
mod foreground;
mod guardian;
mod launch;
mod stop;
mod supervise;
mod tree;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lilt_model::Failure;
use nix::unistd::Pid;
use tokio::net::unix::pipe::{Sender, pipe};
use tokio::task::JoinHandle;

use crate::error::Error;

pub use blocking::{CapturedOutput, CommandStarter, DirectStarter, RunningCommand, run_blocking};
pub use detached::detached;
pub use foreground::{in_terminal, output_of};
pub use guardian::duty::guard;
pub use guardian::{ARGUMENT as GUARDIAN_ARGUMENT, Guardian, Held};
pub use launch::Launch;
pub use stop::{Daemons, reap_adopted};
pub use supervise::Stream;

/// Tells what a command started from what others did, also when it has left the command's group and session.
const MARK: &str = "LILT_COMMAND";

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// Its guardian was killed, and with it all commands.
    Lost,
}

impl Exit {
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or(0)),
        }
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
            Exit::Lost => write!(f, "the end of lilt's guardian, which something has killed"),
        }
    }
}

/// A running process and all that it starts. Dropping it kills them at once.
///
/// When it ends by itself, its group is killed, as Tilt does it. What has left the group stays, until [`Process::stop`]
/// or the end of the session: a command may mean to start a daemon.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    id: u64,
    runs: Arc<AtomicBool>,
    guardian: Guardian,
    /// The value of [`MARK`].
    mark: String,
    /// Passes output on and waits for the end.
    supervisor: JoinHandle<Exit>,
    exit: Option<Exit>,
}

impl Process {
    /// Starts a command. `on_output` gets what it writes to either stream, in order, in pieces of any length; it is
    /// called from a task of the current tokio runtime and must not block for long.
    pub async fn spawn(
        guardian: &Guardian,
        launch: &Launch,
        on_output: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<Process, Failure> {
        let mut on_output = on_output;
        let piped = supervise::Output::together();
        Self::start(guardian, launch, None, piped, move |_, bytes| on_output(bytes)).await
    }

    /// The same, told which stream it is. What comes on one is in order; between both there is none.
    pub async fn spawn_apart(
        guardian: &Guardian,
        launch: &Launch,
        on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<Process, Failure> {
        Self::start(guardian, launch, None, supervise::Output::apart(), on_output).await
    }

    /// The same with an input: it reads what is written there, until that is dropped.
    pub async fn spawn_fed(
        guardian: &Guardian,
        launch: &Launch,
        on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<(Process, Sender), Failure> {
        let (input, theirs) =
            pipe().and_then(|(input, theirs)| Ok((input, theirs.into_blocking_fd()?))).map_err(no_pipe)?;
        let piped = supervise::Output::apart();
        Ok((Self::start(guardian, launch, Some(theirs), piped, on_output).await?, input))
    }

    async fn start(
        guardian: &Guardian,
        launch: &Launch,
        input: Option<OwnedFd>,
        piped: io::Result<supervise::Piped>,
        on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<Process, Failure> {
        launch.check()?;
        let (output, writers) = piped.map_err(no_pipe)?;
        let id = guardian.next_id();
        let mark = format!("{}.{id}", std::process::id());
        let mut launch = launch.clone();
        launch.env.push((MARK.to_owned(), mark.clone()));
        let started = guardian.start(id, &launch, input, writers).await?;
        let supervisor = tokio::spawn(supervise::supervise(output, started.ended, on_output));
        let (pid, runs) = (started.pid, started.runs);
        Ok(Process { pid, id, runs, guardian: guardian.clone(), mark, supervisor, exit: None })
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
            Err(_) => Exit::Lost,
        };
        self.exit = Some(exit);
        exit
    }
}

fn no_pipe(cause: io::Error) -> Error {
    Error::NotStarted { what: "a command".to_owned(), cause }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.runs.load(Ordering::Acquire) {
            stop::kill(self.pid);
        }
        self.supervisor.abort();
    }
}

/// Makes lilt the parent of what its commands leave behind, so that it can be found and reaped; without it, that is
/// the init process.
#[cfg(target_os = "linux")]
fn become_subreaper() -> Result<(), Failure> {
    nix::sys::prctl::set_child_subreaper(true).map_err(|error| {
        Failure::environment(format!("cannot become the reaper of orphaned processes: {error}"))
    })
}
