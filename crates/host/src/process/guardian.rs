//! The guardian: a small process between lilt and its commands, which sees to it that none of them outlives lilt, also
//! when lilt is killed.
//!
//! It is lilt's own program, started with the first command. It starts commands for lilt, with the descriptors that
//! lilt gives it, and tells how they ended; when its socket closes, it ends all that is left and then itself. Being
//! their parent, it also gets what leaves its group or its session: no record of who is who could be as complete.

pub(super) mod duty;
mod wire;

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
use wire::{Reply, Request};

/// What lilt's program is called with to be a guardian.
pub const ARGUMENT: &str = "__guardian";

/// Argument with the soft limit of open files that commands get.
pub(super) const OPEN_FILES: &str = "--open-files=";

/// Longer than the guardian itself takes for its last work.
const PATIENCE: Duration = Duration::from_secs(2);

/// Starts commands. Cheap to clone; with the last clone, all that was started ends.
#[derive(Clone, Debug)]
pub struct Guardian {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    program: PathBuf,
    arguments: Vec<String>,
    /// None before the first command. One whose guardian has ended is replaced.
    line: watch::Sender<Option<Arc<Line>>>,
    /// Nothing is started any more.
    is_closed: AtomicBool,
    next: AtomicU64,
}

/// The connection to the running guardian.
#[derive(Debug)]
struct Line {
    pid: Pid,
    socket: Arc<OwnedFd>,
    /// Unbounded: one for each command, and the reader takes them before it needs them.
    expected: mpsc::Sender<(u64, Expected)>,
    /// Whether the guardian has ended.
    gone: watch::Receiver<bool>,
    null: OwnedFd,
}

/// Who wants to know of a command.
#[derive(Debug)]
struct Expected {
    started: Option<oneshot::Sender<Result<Pid, io::Error>>>,
    ended: oneshot::Sender<Exit>,
    /// Until it has ended: from then on its number may mean another process.
    runs: Arc<AtomicBool>,
}

/// A command that the guardian has started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Pid,
    /// Comes when it has ended. Closed without a word: the guardian is gone, and everything with it.
    pub(super) ended: oneshot::Receiver<Exit>,
    pub(super) runs: Arc<AtomicBool>,
}

impl Guardian {
    /// `program` with `arguments` must call [`guard`](super::guard). It is not started before it is needed.
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Guardian {
        let shared = Shared {
            program,
            arguments,
            line: watch::Sender::new(None),
            is_closed: AtomicBool::new(false),
            next: AtomicU64::new(1),
        };
        Guardian { shared: Arc::new(shared) }
    }

    /// Commands get this soft limit of open files.
    pub fn with_open_files(mut self, limit: Option<u64>) -> Guardian {
        // Nobody has a clone yet, or it runs already.
        if let (Some(limit), Some(shared)) = (limit, Arc::get_mut(&mut self.shared)) {
            shared.arguments.push(format!("{OPEN_FILES}{limit}"));
        }
        self
    }

    /// With lilt's own program.
    pub fn of_this_program() -> Result<Guardian, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::environment(format!("lilt does not find its own program: {error}")))?;
        Ok(Guardian::new(program, vec![ARGUMENT.to_owned()]))
    }

    /// The connection to the guardian, which is started if none runs.
    fn line(&self) -> io::Result<Arc<Line>> {
        let Shared { program, arguments, line: current, is_closed, .. } = &*self.shared;
        if let Some(line) = current.borrow().as_ref().filter(|line| !line.has_ended()) {
            return Ok(Arc::clone(line));
        }
        if is_closed.load(Ordering::Acquire) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // A failure is not kept: a machine that is short of something now may have it later.
        let opened = Arc::new(Line::open(program, arguments)?);
        let mut line = Arc::clone(&opened);
        current.send_if_modified(|current| match current {
            Some(other) if !other.has_ended() => {
                line = Arc::clone(other);
                false
            }
            _ => {
                *current = Some(Arc::clone(&opened));
                true
            }
        });
        if !Arc::ptr_eq(&line, &opened) {
            opened.close();
        }
        Ok(line)
    }

    fn not_started(&self, cause: io::Error) -> Error {
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return Error::GuardianEnded(cause);
        }
        let program = self.shared.program.display();
        Error::NotStarted { what: format!("{program}, which guards lilt's commands"), cause }
    }

    fn current(&self) -> Option<Arc<Line>> {
        self.shared.line.borrow().clone()
    }

    /// The process of the guardian, if it was started.
    pub(super) fn pid(&self) -> Option<Pid> {
        self.current().map(|line| line.pid)
    }

    /// A number that no other command of this lilt has.
    pub(super) fn next_id(&self) -> u64 {
        self.shared.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts a command with these for its input, its output and its errors.
    pub(super) async fn start(
        &self,
        id: u64,
        launch: &Launch,
        input: Option<OwnedFd>,
        (output, errors): (OwnedFd, OwnedFd),
    ) -> Result<Started, Failure> {
        let not_started = |error: io::Error| self.not_started(error);
        let mut line = self.line().map_err(not_started)?;
        let ask = |line: &Line| {
            let read = input.as_ref().unwrap_or(&line.null);
            line.ask(id, launch, false, [read.as_fd(), output.as_fd(), errors.as_fd()])
        };
        let mut asked = ask(&line);
        // The guardian was killed: the command was not started, and another guardian starts it.
        if asked.as_ref().is_err_and(is_lost) {
            line.ended().await;
            line = self.line().map_err(not_started)?;
            asked = ask(&line);
        }
        let asked = asked.map_err(Error::GuardianEnded)?;
        drop((input, output, errors));
        match asked.started.await {
            Ok(Ok(pid)) => Ok(Started { pid, ended: asked.ended, runs: asked.runs }),
            Ok(Err(error)) => Err(launch.explain(error).into()),
            Err(_) => Err(Error::GuardianEnded(io::ErrorKind::BrokenPipe.into()).into()),
        }
    }

    /// Starts a command with these as input, output and errors, for who waits for it on a thread of its own. What it
    /// leaves in its group stays until lilt ends. Blocks until it has begun.
    pub fn hold(
        &self,
        launch: &Launch,
        input: Option<OwnedFd>,
        output: OwnedFd,
        errors: OwnedFd,
    ) -> io::Result<Held> {
        let line = self.line().map_err(|error| match is_shortage(&error) {
            true => error,
            false => io::Error::other(Failure::from(self.not_started(error)).message),
        })?;
        let input = input.as_ref().unwrap_or(&line.null);
        let asked =
            line.ask(self.next_id(), launch, true, [input.as_fd(), output.as_fd(), errors.as_fd()])?;
        let started = asked.started.blocking_recv();
        let pid = started.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??;
        Ok(Held { pid, ended: asked.ended, runs: asked.runs })
    }

    /// Whoever stops a command gives its group time; the guardian would kill it with its leader.
    pub(super) fn spare(&self, id: u64) {
        if let Some(line) = self.current() {
            // A guardian that is gone kills nobody.
            let _ = Request::Spare { id }.send(&*line.socket, &[]);
        }
    }

    /// Ends all that is left of what was started, and the guardian.
    pub async fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Release);
        let Some(line) = self.current() else { return };
        // It may have ended already.
        let _ = Request::Farewell.send(&*line.socket, &[]);
        if tokio::time::timeout(PATIENCE, line.ended()).await.is_err() {
            tracing::warn!("something that a command started does not end");
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(line) = self.line.borrow().as_ref() {
            line.close();
        }
    }
}

impl Line {
    fn has_ended(&self) -> bool {
        *self.gone.borrow()
    }

    /// Waits until the guardian has ended, and what it had started.
    async fn ended(&self) {
        // An error: whoever would say so has ended, too.
        let _ = self.gone.clone().wait_for(|gone| *gone).await;
    }

    /// Ends the guardian.
    fn close(&self) {
        // The reader's own descriptor would keep it open.
        let _ = rustix::net::shutdown(&*self.socket, Shutdown::Both);
    }

    fn open(program: &std::path::Path, arguments: &[String]) -> io::Result<Line> {
        // Should the guardian itself be killed, its commands come to us.
        super::become_subreaper().map_err(|failure| io::Error::other(failure.message))?;
        let (ours, theirs) = sockets()?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = without_signals(|| command.spawn())??;
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let socket = Arc::new(ours);
        let (expected, received) = mpsc::channel();
        let (tell_gone, gone) = watch::channel(false);
        let reader = Reader { socket: socket.clone(), received, known: HashMap::new() };
        std::thread::Builder::new().name("lilt-guardian".into()).spawn(move || {
            reader.run(child);
            tell_gone.send_replace(true);
        })?;
        let null = OwnedFd::from(std::fs::File::open("/dev/null")?);
        Ok(Line { pid, socket, expected, gone, null })
    }

    fn ask(
        &self,
        id: u64,
        launch: &Launch,
        spared: bool,
        descriptors: [BorrowedFd<'_>; 3],
    ) -> io::Result<Asked> {
        let (tell_started, started) = oneshot::channel();
        let (tell_ended, ended) = oneshot::channel();
        let runs = Arc::new(AtomicBool::new(true));
        let expected = Expected { started: Some(tell_started), ended: tell_ended, runs: runs.clone() };
        // Before the request: the reader must know of it when the answer comes.
        self.expected.send((id, expected)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Request::Start { id, launch: launch.clone(), spared }.send(&*self.socket, &descriptors)?;
        Ok(Asked { started, ended, runs })
    }
}

/// What the reader will tell of a command.
struct Asked {
    started: oneshot::Receiver<Result<Pid, io::Error>>,
    ended: oneshot::Receiver<Exit>,
    runs: Arc<AtomicBool>,
}

/// A command of someone who waits for it on a thread of its own. Dropping it while it runs kills it and its group.
#[derive(Debug)]
pub struct Held {
    pid: Pid,
    ended: oneshot::Receiver<Exit>,
    runs: Arc<AtomicBool>,
}

impl Held {
    /// How it ended, if it has; told once.
    pub fn try_wait(&mut self) -> Option<Exit> {
        match self.ended.try_recv() {
            Ok(exit) => Some(exit),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(Exit::Lost),
        }
    }

    /// Asks its group to end, or kills it.
    pub fn end(&self, hard: bool) {
        // While a group has members, no process gets its number: one that has it now is a stranger.
        if self.runs.load(Ordering::Acquire) || super::tree::Member::read(self.pid).is_none() {
            super::stop::signal_group(self.pid, hard);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.runs.load(Ordering::Acquire) {
            self.end(true);
        }
    }
}

/// A process that is started so does not get a Ctrl-C before it has left the terminal.
fn without_signals<T>(start: impl FnOnce() -> T) -> io::Result<T> {
    let before = SigSet::from_iter(duty::FOR_LILT).thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let started = start();
    before.thread_set_mask()?;
    Ok(started)
}

/// Ours, and the guardian's.
fn sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Whether an error of a request says that nobody got it.
fn is_lost(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Hands the guardian's answers to those who wait for them.
struct Reader {
    socket: Arc<OwnedFd>,
    received: mpsc::Receiver<(u64, Expected)>,
    known: HashMap<u64, Expected>,
}

impl Reader {
    fn run(mut self, mut guardian: Child) {
        loop {
            match Reply::receive(&*self.socket) {
                Ok(Some(reply)) => self.pass_on(reply),
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
        // Those who wait are told by what they wait on being dropped.
        super::stop::kill_adopted();
    }

    fn pass_on(&mut self, reply: Reply) {
        self.known.extend(self.received.try_iter());
        match reply {
            Reply::Started { id, pid } => {
                let pid = Pid::from_raw(pid);
                let started = self.known.get_mut(&id).and_then(|expected| expected.started.take());
                if started.is_none_or(|started| started.send(Ok(pid)).is_err()) {
                    // Nobody wants it any more.
                    super::stop::kill(pid);
                }
            }
            Reply::Refused { id, errno } => {
                if let Some(started) = self.known.remove(&id).and_then(|expected| expected.started) {
                    // Whoever asked may have lost interest.
                    let _ = started.send(Err(io::Error::from_raw_os_error(errno)));
                }
            }
            Reply::Ended { id, status } => {
                if let Some(expected) = self.known.remove(&id) {
                    expected.runs.store(false, Ordering::Release);
                    let _ = expected.ended.send(Exit::from(ExitStatus::from_raw(status)));
                }
            }
        }
    }
}
