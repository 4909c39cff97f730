//! The guardian process itself: starts commands, reports their exits, and stops all remaining processes when lilt has
//! exited.
//!
//! It is lilt's program called with [`ARGUMENT`](super::ARGUMENT), in its own session, so that signals to lilt's group
//! do not reach it. As a subreaper it adopts every orphaned descendant: no process can escape it.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Stdio;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{self, SigSet, Signal};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid};
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::signal::unix::{SignalKind, signal as on_signal};
use tokio::time::{Instant, timeout};

use super::protocol::{Reply, Request};
use crate::process::Launch;
use crate::process::tree::{Member, descendants};

/// How long processes have to exit by themselves when lilt was killed.
const GRACE: Duration = Duration::from_secs(1);
/// How long daemons have to exit at the end of a session, while the user waits.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(300);
/// How long the kernel may take to end killed processes.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often to check for processes started meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the guardian until lilt and all started processes have exited. Its socket is the standard input.
pub fn run_guardian() -> io::Result<()> {
    // Makes it recognizable in `ps`, and `killall lilt` does not match it.
    nix::sys::prctl::set_name(c"lilt-guardian")?;
    nix::sys::prctl::set_child_subreaper(true)?;
    nix::unistd::setsid()?;
    let limit = std::env::args().find_map(|argument| argument.strip_prefix(super::OPEN_FILES)?.parse().ok());
    if let Some(limit) = limit {
        crate::limits::set_open_files(limit)?;
    }
    // Keeps no mount busy.
    std::env::set_current_dir("/")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let _handlers = ignore_session_signals()?;
        let socket = std::os::unix::net::UnixDatagram::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.set_nonblocking(true)?;
        let mut server = Server { socket: UnixDatagram::from_std(socket)?, leaders: HashMap::new() };
        let grace = server.serve().await?;
        server.end_all(grace).await
    })
}

/// Signals from a terminal or a person that are meant for lilt. The guardian exits with lilt, not because of them.
pub(super) const SESSION_SIGNALS: [Signal; 4] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTERM];

/// Installs handlers that ignore signals meant for lilt. These were blocked when this process started (see [`super`]),
/// so one that arrived meanwhile is handled now. Commands inherit neither the handlers nor the blocked mask.
fn ignore_session_signals() -> io::Result<Vec<tokio::signal::unix::Signal>> {
    let handlers = SESSION_SIGNALS.iter().map(|signal| on_signal(SignalKind::from_raw(*signal as i32)));
    let handlers = handlers.collect::<io::Result<Vec<_>>>()?;
    SigSet::from_iter(SESSION_SIGNALS).thread_unblock()?;
    Ok(handlers)
}

struct Server {
    /// A SEQPACKET socket in spite of its type, so that it reports when the other end is closed.
    socket: UnixDatagram,
    /// The running commands.
    leaders: HashMap<Pid, Leader>,
}

struct Leader {
    id: u64,
    /// Its group is not killed when it exits.
    keeps_group: bool,
}

impl Server {
    /// Serves requests until lilt shuts down or has exited. Returns the grace period for the remaining processes.
    async fn serve(&mut self) -> io::Result<Duration> {
        let mut child_exits = on_signal(SignalKind::child())?;
        loop {
            let request = tokio::select! {
                request = self.socket.async_io(Interest::READABLE, || Request::receive(&self.socket)) => request?,
                _ = child_exits.recv() => {
                    self.reap().await?;
                    continue;
                }
            };
            match request {
                Some((Request::Start { id, launch, keeps_group }, descriptors)) => {
                    let reply = match start(&launch, descriptors) {
                        Ok(pid) => {
                            self.leaders.insert(pid, Leader { id, keeps_group });
                            Reply::Started { id, pid: pid.as_raw() }
                        }
                        Err(error) => Reply::Refused { id, errno: error.raw_os_error().unwrap_or(0) },
                    };
                    self.send(reply).await?;
                }
                Some((Request::KeepGroup { id }, _)) => {
                    let leader = self.leaders.values_mut().find(|leader| leader.id == id);
                    leader.into_iter().for_each(|leader| leader.keeps_group = true);
                }
                Some((Request::Shutdown, _)) => return Ok(SHUTDOWN_GRACE),
                None => return Ok(GRACE),
            }
        }
    }

    /// Sends a reply. If lilt has exited meanwhile, the next read reports it.
    async fn send(&self, reply: Reply) -> io::Result<()> {
        match self.socket.async_io(Interest::WRITABLE, || reply.send(&self.socket)).await {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) =>
            {
                Ok(())
            }
            sent => sent,
        }
    }

    /// Reaps all exited children: commands, and adopted orphans.
    async fn reap(&mut self) -> io::Result<()> {
        // Not reaped yet (WNOWAIT): while the zombie exists, its pid is not reused.
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        loop {
            let pid = match waitid(Id::All, flags) {
                Ok(status) => status.pid(),
                Err(Errno::ECHILD) => None,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(pid) = pid else { return Ok(()) };
            let leader = self.leaders.remove(&pid);
            if leader.as_ref().is_some_and(|leader| !leader.keeps_group) {
                // As in Tilt, processes that a command left in its group end with it. Fails if there are none.
                let _ = signal::killpg(pid, Signal::SIGKILL);
            }
            let status = waitpid(pid, Some(WaitPidFlag::WNOHANG))?;
            if let Some(Leader { id, .. }) = leader {
                self.send(Reply::Ended { id, status: raw_status(status) }).await?;
            }
        }
    }

    /// Stops all descendants: SIGTERM first, SIGKILL after `grace`.
    async fn end_all(&mut self, grace: Duration) -> io::Result<()> {
        let mut child_exits = on_signal(SignalKind::child())?;
        let deadline = Instant::now() + grace;
        let mut signalled: Vec<Member> = Vec::new();
        while Instant::now() < deadline {
            self.reap().await?;
            let left = descendants(getpid());
            if left.is_empty() {
                return Ok(());
            }
            for member in left.iter().filter(|member| !signalled.contains(member)) {
                // It may have exited, or run as another user, which we may not stop.
                let _ = signal::kill(member.pid, Signal::SIGTERM);
            }
            signalled = left;
            // Until a child exits, or it is time for the next check.
            let _ = timeout(POLL_INTERVAL, child_exits.recv()).await;
        }
        let deadline = Instant::now() + KILL_TIMEOUT;
        while Instant::now() < deadline {
            self.reap().await?;
            let left = descendants(getpid());
            if left.is_empty() {
                return Ok(());
            }
            for member in left {
                let _ = signal::kill(member.pid, Signal::SIGKILL);
            }
            let _ = timeout(POLL_INTERVAL, child_exits.recv()).await;
        }
        Ok(())
    }
}

fn start(launch: &Launch, descriptors: Vec<OwnedFd>) -> io::Result<Pid> {
    let [input, output, errors] =
        <[OwnedFd; 3]>::try_from(descriptors).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let mut command = launch.command()?;
    let child =
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors)).spawn()?;
    let pid = i32::try_from(child.id()).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Pid::from_raw(pid))
}

/// Encodes a status as `wait` returns it.
fn raw_status(status: WaitStatus) -> i32 {
    match status {
        WaitStatus::Exited(_, code) => (code & 0xff) << 8,
        WaitStatus::Signaled(_, signal, _) => signal as i32,
        _ => 0,
    }
}
