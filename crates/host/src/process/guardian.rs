//! The guardian: a small process between lilt and its commands, which ensures that no command outlives lilt, even when
//! lilt is killed.
//!
//! It is lilt's own program, started with the first command. It starts commands for lilt, with descriptors that lilt
//! sends, and reports their exits. When its socket closes, it stops all remaining processes and exits. As a subreaper
//! it also adopts processes that leave their group or session, which lilt could not track reliably.

mod protocol;
pub(super) mod server;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use lilt_model::Failure;
use lilt_model::os_error::is_shortage;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::Pid;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType};
use tokio::sync::{oneshot, watch};

use super::{Exit, Launch};
use crate::error::Error;
use protocol::{Reply, Request};

/// The argument that makes lilt's program run as a guardian.
pub const ARGUMENT: &str = "__guardian";

/// The argument with the soft limit of open files for commands.
pub(super) const OPEN_FILES: &str = "--open-files=";

/// Longer than the guardian takes to stop all processes.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts commands. Cheap to clone. Dropping the last clone stops all processes that were started.
#[derive(Clone, Debug)]
pub struct Guardian {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    program: PathBuf,
    arguments: Vec<String>,
    /// `None` before the first command. A connection whose guardian has exited is replaced.
    ///
    /// Published by whoever opens it: commands are started from any task and any thread, also before there is a runtime
    /// that could run an owner of the connection.
    connection: watch::Sender<Option<Arc<Connection>>>,
    /// No further commands are started.
    is_closed: AtomicBool,
    next: AtomicU64,
}

/// The connection to the running guardian.
#[derive(Debug)]
struct Connection {
    pid: Pid,
    socket: Arc<OwnedFd>,
    /// Unbounded: one entry per command, and the reader receives it before the command's replies.
    pending: mpsc::Sender<(u64, PendingCommand)>,
    /// Whether the guardian has exited.
    has_exited: watch::Receiver<bool>,
    null: OwnedFd,
}

/// Where to report the start and the exit of a command.
#[derive(Debug)]
struct PendingCommand {
    started: Option<oneshot::Sender<Result<Pid, io::Error>>>,
    ended: oneshot::Sender<Exit>,
    /// False after the exit: from then on the pid may belong to another process.
    is_running: Arc<AtomicBool>,
}

/// A command that the guardian has started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Pid,
    /// Receives the exit. Closed without one if the guardian has exited, and all commands with it.
    pub(super) ended: oneshot::Receiver<Exit>,
    pub(super) is_running: Arc<AtomicBool>,
}

impl Guardian {
    /// `program` with `arguments` must call [`run_guardian`](super::run_guardian). It is started on demand.
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Guardian {
        let shared = Shared {
            program,
            arguments,
            connection: watch::Sender::new(None),
            is_closed: AtomicBool::new(false),
            next: AtomicU64::new(1),
        };
        Guardian { shared: Arc::new(shared) }
    }

    /// Sets the soft limit of open files that commands get.
    pub fn with_open_files(mut self, limit: Option<u64>) -> Guardian {
        // Has no effect after the first clone.
        if let (Some(limit), Some(shared)) = (limit, Arc::get_mut(&mut self.shared)) {
            shared.arguments.push(format!("{OPEN_FILES}{limit}"));
        }
        self
    }

    /// Uses lilt's own program.
    pub fn of_this_program() -> Result<Guardian, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::environment(format!("lilt does not find its own program: {error}")))?;
        Ok(Guardian::new(program, vec![ARGUMENT.to_owned()]))
    }

    /// Returns the connection to the guardian, starting one if none is running.
    fn connection(&self) -> io::Result<Arc<Connection>> {
        let Shared { program, arguments, connection: current, is_closed, .. } = &*self.shared;
        if let Some(connection) =
            current.borrow().as_ref().filter(|connection| !connection.is_closed_by_guardian())
        {
            return Ok(Arc::clone(connection));
        }
        if is_closed.load(Ordering::Acquire) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // A failure is not remembered: a shortage on this machine may pass.
        let opened = Arc::new(Connection::open(program, arguments)?);
        let mut connection = Arc::clone(&opened);
        current.send_if_modified(|current| match current {
            Some(other) if !other.is_closed_by_guardian() => {
                connection = Arc::clone(other);
                false
            }
            _ => {
                *current = Some(Arc::clone(&opened));
                true
            }
        });
        if !Arc::ptr_eq(&connection, &opened) {
            opened.close();
        }
        Ok(connection)
    }

    fn not_started(&self, cause: io::Error) -> Error {
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return Error::GuardianEnded(cause);
        }
        let program = self.shared.program.display();
        Error::NotStarted { what: format!("{program}, which guards lilt's commands"), cause }
    }

    fn current(&self) -> Option<Arc<Connection>> {
        self.shared.connection.borrow().clone()
    }

    /// Returns the guardian's process id, if it was started.
    pub(super) fn pid(&self) -> Option<Pid> {
        self.current().map(|connection| connection.pid)
    }

    /// Returns an id that is unique among the commands of this session.
    pub(super) fn next_id(&self) -> u64 {
        self.shared.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts a command with the given stdin, stdout and stderr.
    pub(super) async fn start(
        &self,
        id: u64,
        launch: &Launch,
        input: Option<OwnedFd>,
        (output, errors): (OwnedFd, OwnedFd),
    ) -> Result<Started, Failure> {
        let not_started = |error: io::Error| self.not_started(error);
        let mut connection = self.connection().map_err(not_started)?;
        let request_start = |connection: &Connection| {
            let read = input.as_ref().unwrap_or(&connection.null);
            connection.request_start(id, launch, false, [read.as_fd(), output.as_fd(), errors.as_fd()])
        };
        let mut events = request_start(&connection);
        // The guardian was killed before it started the command: start a new guardian.
        if events.as_ref().is_err_and(is_disconnected) {
            connection.ended().await;
            connection = self.connection().map_err(not_started)?;
            events = request_start(&connection);
        }
        let events = events.map_err(Error::GuardianEnded)?;
        drop((input, output, errors));
        match events.started.await {
            Ok(Ok(pid)) => Ok(Started { pid, ended: events.ended, is_running: events.is_running }),
            Ok(Err(error)) => Err(launch.explain(error).into()),
            Err(_) => Err(Error::GuardianEnded(io::ErrorKind::BrokenPipe.into()).into()),
        }
    }

    /// Starts a command with the given stdin, stdout and stderr, for a caller that waits on its own thread. Processes
    /// that it leaves in its group stay until lilt ends. Blocks until the command is running.
    pub fn hold(
        &self,
        launch: &Launch,
        input: Option<OwnedFd>,
        output: OwnedFd,
        errors: OwnedFd,
    ) -> io::Result<Held> {
        let connection = self.connection().map_err(|error| match is_shortage(&error) {
            true => error,
            false => io::Error::other(Failure::from(self.not_started(error)).message),
        })?;
        let input = input.as_ref().unwrap_or(&connection.null);
        let events = connection.request_start(
            self.next_id(),
            launch,
            true,
            [input.as_fd(), output.as_fd(), errors.as_fd()],
        )?;
        let started = events.started.blocking_recv();
        let pid = started.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??;
        Ok(Held { pid, ended: events.ended, is_running: events.is_running })
    }

    /// Prevents the guardian from killing the command's group with its leader: [`Process::stop`](super::Process::stop)
    /// gives it time.
    pub(super) fn keep_group(&self, id: u64) {
        if let Some(connection) = self.current() {
            // A guardian that has exited kills nothing.
            let _ = Request::KeepGroup { id }.send(&*connection.socket, &[]);
        }
    }

    /// Stops all remaining processes and the guardian.
    pub async fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Release);
        let Some(connection) = self.current() else { return };
        // It may have exited already.
        let _ = Request::Shutdown.send(&*connection.socket, &[]);
        if tokio::time::timeout(EXIT_TIMEOUT, connection.ended()).await.is_err() {
            tracing::warn!("something that a command started does not end");
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.borrow().as_ref() {
            connection.close();
        }
    }
}

impl Connection {
    fn is_closed_by_guardian(&self) -> bool {
        *self.has_exited.borrow()
    }

    /// Waits until the guardian and all that it started have exited.
    async fn ended(&self) {
        // An error means that the sending thread has ended, too.
        let _ = self.has_exited.clone().wait_for(|has_exited| *has_exited).await;
    }
    /// Makes the guardian exit.
    fn close(&self) {
        // Dropping the descriptor is not enough: the reader thread has its own.
        let _ = rustix::net::shutdown(&*self.socket, Shutdown::Both);
    }

    fn open(program: &std::path::Path, arguments: &[String]) -> io::Result<Connection> {
        // If the guardian itself is killed, its commands are adopted by this process.
        super::become_subreaper().map_err(|failure| io::Error::other(failure.message))?;
        let (ours, theirs) = sockets()?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = without_signals(|| command.spawn())??;
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let socket = Arc::new(ours);
        let (pending, received) = mpsc::channel();
        let (report_exit, has_exited) = watch::channel(false);
        let reader = Reader { socket: socket.clone(), received, pending: HashMap::new() };
        std::thread::Builder::new().name("lilt-guardian".into()).spawn(move || {
            reader.run(child);
            report_exit.send_replace(true);
        })?;
        let null = OwnedFd::from(std::fs::File::open("/dev/null")?);
        Ok(Connection { pid, socket, pending, has_exited, null })
    }

    fn request_start(
        &self,
        id: u64,
        launch: &Launch,
        keeps_group: bool,
        descriptors: [BorrowedFd<'_>; 3],
    ) -> io::Result<CommandEvents> {
        let (report_started, started) = oneshot::channel();
        let (report_ended, ended) = oneshot::channel();
        let is_running = Arc::new(AtomicBool::new(true));
        let pending = PendingCommand {
            started: Some(report_started),
            ended: report_ended,
            is_running: is_running.clone(),
        };
        // Before the request: the reader must know the command when the reply arrives.
        self.pending.send((id, pending)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Request::Start { id, launch: launch.clone(), keeps_group }.send(&*self.socket, &descriptors)?;
        Ok(CommandEvents { started, ended, is_running })
    }
}

/// What the reader reports about a command.
struct CommandEvents {
    started: oneshot::Receiver<Result<Pid, io::Error>>,
    ended: oneshot::Receiver<Exit>,
    is_running: Arc<AtomicBool>,
}

/// A command whose caller waits for it on its own thread. Dropping it while it is running kills it and its group.
#[derive(Debug)]
pub struct Held {
    pid: Pid,
    ended: oneshot::Receiver<Exit>,
    is_running: Arc<AtomicBool>,
}

impl Held {
    /// Returns the exit if the command has exited; only once.
    pub fn try_wait(&mut self) -> Option<Exit> {
        match self.ended.try_recv() {
            Ok(exit) => Some(exit),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(Exit::Lost),
        }
    }

    /// Sends SIGTERM, or SIGKILL if `hard`, to the command's group.
    pub fn end(&self, hard: bool) {
        // The kernel does not reuse a pid while a group of that id has members: a process with the pid is another one.
        if self.is_running.load(Ordering::Acquire) || super::tree::Member::read(self.pid).is_none() {
            super::stop::signal_group(self.pid, hard);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_running.load(Ordering::Acquire) {
            self.end(true);
        }
    }
}

/// Blocks signals during `start`, so that a Ctrl-C does not reach the new process before it has left the terminal.
fn without_signals<T>(start: impl FnOnce() -> T) -> io::Result<T> {
    let before = SigSet::from_iter(server::SESSION_SIGNALS).thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let started = start();
    before.thread_set_mask()?;
    Ok(started)
}

/// Returns lilt's end and the guardian's end of a socket pair.
fn sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Returns whether an error means that the request did not reach the guardian.
fn is_disconnected(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Forwards the guardian's replies to the waiting callers.
struct Reader {
    socket: Arc<OwnedFd>,
    received: mpsc::Receiver<(u64, PendingCommand)>,
    pending: HashMap<u64, PendingCommand>,
}

impl Reader {
    fn run(mut self, mut guardian: Child) {
        loop {
            match Reply::receive(&*self.socket) {
                Ok(Some(reply)) => self.dispatch(reply),
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, "the guardian cannot be understood");
                    break;
                }
            }
        }
        if let Err(error) = guardian.wait() {
            tracing::warn!(%error, "the end of the guardian was not seen");
        }
        // Dropping the senders notifies those who still wait.
        super::stop::kill_adopted();
    }

    fn dispatch(&mut self, reply: Reply) {
        self.pending.extend(self.received.try_iter());
        match reply {
            Reply::Started { id, pid } => {
                let pid = Pid::from_raw(pid);
                let started = self.pending.get_mut(&id).and_then(|pending| pending.started.take());
                if started.is_none_or(|started| started.send(Ok(pid)).is_err()) {
                    // The caller is no longer interested.
                    super::stop::kill(pid);
                }
            }
            Reply::Refused { id, errno } => {
                if let Some(started) = self.pending.remove(&id).and_then(|pending| pending.started) {
                    // The caller may have stopped waiting.
                    let _ = started.send(Err(io::Error::from_raw_os_error(errno)));
                }
            }
            Reply::Ended { id, status } => {
                if let Some(pending) = self.pending.remove(&id) {
                    pending.is_running.store(false, Ordering::Release);
                    let _ = pending.ended.send(Exit::from(ExitStatus::from_raw(status)));
                }
            }
        }
    }
}
