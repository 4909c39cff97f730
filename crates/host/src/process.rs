//! Processes on this machine. Each leads its own process group, and none outlives its [`Process`].
//!
//! Commands are started without a terminal and without input, by a [`Guardian`], so that they end with lilt for
//! whatever reason lilt ends. The caller interprets their output.

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
pub use detached::run_detached;
pub use foreground::{capture_output, run_in_terminal};
pub use guardian::server::run_guardian;
pub use guardian::{ARGUMENT as GUARDIAN_ARGUMENT, Guardian, Held};
pub use launch::Launch;
pub use stop::{Daemons, reap_adopted};
pub use supervise::Stream;

/// The environment variable that identifies the processes a command started, also those that have left its group and
/// session.
const COMMAND_VARIABLE: &str = "LILT_COMMAND";

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The guardian was killed, and all commands with it.
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

/// A running process and its descendants. Dropping it kills them at once.
///
/// When the process exits, its group is killed, as in Tilt. Processes that have left the group stay until
/// [`Process::stop`] or the end of the session: a command may start a daemon on purpose.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    id: u64,
    is_running: Arc<AtomicBool>,
    guardian: Guardian,
    /// The value of [`COMMAND_VARIABLE`].
    command_tag: String,
    /// Forwards output and waits for the exit.
    supervisor: JoinHandle<Exit>,
    exit: Option<Exit>,
}

impl Process {
    /// Starts a command. `on_output` gets what it writes to stdout and stderr, in order, in chunks of any length. It is
    /// called from a task of the current tokio runtime and must not block for long.
    pub async fn spawn(
        guardian: &Guardian,
        launch: &Launch,
        on_output: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<Process, Failure> {
        let mut on_output = on_output;
        let pipes = supervise::Output::shared();
        Self::start(guardian, launch, None, pipes, move |_, bytes| on_output(bytes)).await
    }

    /// Starts a command whose stdout and stderr are separate. The order between the two streams is not known.
    pub async fn spawn_with_streams(
        guardian: &Guardian,
        launch: &Launch,
        on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<Process, Failure> {
        Self::start(guardian, launch, None, supervise::Output::separate(), on_output).await
    }

    /// Starts a command with separate streams and an input, which ends when the returned `Sender` is dropped.
    pub async fn spawn_with_input(
        guardian: &Guardian,
        launch: &Launch,
        on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<(Process, Sender), Failure> {
        let (input, theirs) = pipe()
            .and_then(|(input, theirs)| Ok((input, theirs.into_blocking_fd()?)))
            .map_err(pipe_failure)?;
        let pipes = supervise::Output::separate();
        Ok((Self::start(guardian, launch, Some(theirs), pipes, on_output).await?, input))
    }

    async fn start(
        guardian: &Guardian,
        launch: &Launch,
        input: Option<OwnedFd>,
        pipes: io::Result<supervise::OutputPipes>,
        on_output: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<Process, Failure> {
        launch.check()?;
        let (output, writers) = pipes.map_err(pipe_failure)?;
        let id = guardian.next_id();
        let command_tag = format!("{}.{id}", std::process::id());
        let mut launch = launch.clone();
        launch.env.push((COMMAND_VARIABLE.to_owned(), command_tag.clone()));
        let started = guardian.start(id, &launch, input, writers).await?;
        let supervisor = tokio::spawn(supervise::supervise(output, started.ended, on_output));
        let (pid, is_running) = (started.pid, started.is_running);
        Ok(Process { pid, id, is_running, guardian: guardian.clone(), command_tag, supervisor, exit: None })
    }

    pub fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Waits until the process has exited and its output was forwarded. Cancel-safe.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = match (&mut self.supervisor).await {
            Ok(exit) => exit,
            // `on_output` panicked: propagate the panic to the waiting caller.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Only `drop` aborts the task; otherwise the runtime is shutting down.
            Err(_) => Exit::Lost,
        };
        self.exit = Some(exit);
        exit
    }
}

fn pipe_failure(cause: io::Error) -> Error {
    Error::NotStarted { what: "a command".to_owned(), cause }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_running.load(Ordering::Acquire) {
            stop::kill(self.pid);
        }
        self.supervisor.abort();
    }
}

/// Makes lilt adopt the orphaned descendants of its commands, so that it can find and reap them; otherwise the init
/// process adopts them.
#[cfg(target_os = "linux")]
fn become_subreaper() -> Result<(), Failure> {
    nix::sys::prctl::set_child_subreaper(true).map_err(|error| {
        Failure::environment(format!("cannot become the reaper of orphaned processes: {error}"))
    })
}
