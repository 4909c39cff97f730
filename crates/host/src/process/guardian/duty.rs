//! The guardian's own side: it starts commands, tells of their ends, and ends whatever is left when lilt is gone.
//!
//! It runs as a process of its own (lilt itself, called with [`ARGUMENT`](super::ARGUMENT)) in a session of its own, so
//! that what ends lilt does not end it. All that it started, and all that those started, has it as the nearest living
//! ancestor that adopts orphans: nothing can leave its sight.

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

use super::wire::{Reply, Request};
use crate::process::Launch;
use crate::process::tree::{Member, descendants};

/// What servers get to end by themselves when lilt was killed.
const GRACE: Duration = Duration::from_secs(1);
/// And what daemons get at the end of a session, which people wait for.
const FAREWELL_GRACE: Duration = Duration::from_millis(300);
/// How long the kernel may take to end what was killed.
const DEATH: Duration = Duration::from_secs(5);
/// How often we look for what was started meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// Guards until lilt is gone and so is all that was started. Its socket is the standard input.
pub fn guard() -> io::Result<()> {
    // Whoever reads the list of processes should know it, and `killall lilt` should not end it.
    nix::sys::prctl::set_name(c"lilt-guardian")?;
    nix::sys::prctl::set_child_subreaper(true)?;
    nix::unistd::setsid()?;
    let limit = std::env::args().find_map(|argument| argument.strip_prefix(super::OPEN_FILES)?.parse().ok());
    if let Some(limit) = limit {
        crate::limits::set_open_files(limit)?;
    }
    // No folder is held busy.
    std::env::set_current_dir("/")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let _deaf = deaf()?;
        let socket = std::os::unix::net::UnixDatagram::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.set_nonblocking(true)?;
        let mut duty = Duty { socket: UnixDatagram::from_std(socket)?, leaders: HashMap::new() };
        let grace = duty.serve().await?;
        duty.end_all(grace).await
    })
}

/// Those that a terminal or a person has for lilt. The guardian ends with lilt, not with them.
pub(super) const FOR_LILT: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTERM];

/// Lets signals pass by that are meant for lilt. They were blocked when this process began (see [`super`]): one that has
/// come meanwhile finds a handler now. Commands get neither the handlers nor the blocks.
fn deaf() -> io::Result<Vec<tokio::signal::unix::Signal>> {
    let handlers = FOR_LILT.iter().map(|signal| on_signal(SignalKind::from_raw(*signal as i32)));
    let handlers = handlers.collect::<io::Result<Vec<_>>>()?;
    SigSet::from_iter(FOR_LILT).thread_unblock()?;
    Ok(handlers)
}

struct Duty {
    /// Of packets in both directions, whatever its type says: it tells when the other end is gone.
    socket: UnixDatagram,
    /// Commands that run.
    leaders: HashMap<Pid, Leader>,
}

struct Leader {
    id: u64,
    /// Its group is not killed with it.
    spared: bool,
}

impl Duty {
    /// Until lilt says farewell or is gone; gives the time that what is left has to end by itself.
    async fn serve(&mut self) -> io::Result<Duration> {
        let mut ends = on_signal(SignalKind::child())?;
        loop {
            let received = tokio::select! {
                received = self.socket.async_io(Interest::READABLE, || Request::receive(&self.socket)) => received?,
                _ = ends.recv() => {
                    self.reap().await?;
                    continue;
                }
            };
            match received {
                Some((Request::Start { id, launch, spared }, descriptors)) => {
                    let reply = match start(&launch, descriptors) {
                        Ok(pid) => {
                            self.leaders.insert(pid, Leader { id, spared });
                            Reply::Started { id, pid: pid.as_raw() }
                        }
                        Err(error) => Reply::Refused { id, errno: error.raw_os_error().unwrap_or(0) },
                    };
                    self.tell(reply).await?;
                }
                Some((Request::Spare { id }, _)) => {
                    let leader = self.leaders.values_mut().find(|leader| leader.id == id);
                    leader.into_iter().for_each(|leader| leader.spared = true);
                }
                Some((Request::Farewell, _)) => return Ok(FAREWELL_GRACE),
                None => return Ok(GRACE),
            }
        }
    }

    /// If lilt is gone meanwhile, the next read says so.
    async fn tell(&self, reply: Reply) -> io::Result<()> {
        match self.socket.async_io(Interest::WRITABLE, || reply.send(&self.socket)).await {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) =>
            {
                Ok(())
            }
            told => told,
        }
    }

    /// Takes note of all that have ended: commands, and orphans that came to us.
    async fn reap(&mut self) -> io::Result<()> {
        // Not taken away yet: as long as it is there, its number means no other.
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        loop {
            let pid = match waitid(Id::All, look) {
                Ok(status) => status.pid(),
                Err(Errno::ECHILD) => None,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(pid) = pid else { return Ok(()) };
            let leader = self.leaders.remove(&pid);
            if leader.as_ref().is_some_and(|leader| !leader.spared) {
                // As Tilt does: what a command left in its group ends with it. Fails if nobody is left.
                let _ = signal::killpg(pid, Signal::SIGKILL);
            }
            let status = waitpid(pid, Some(WaitPidFlag::WNOHANG))?;
            if let Some(Leader { id, .. }) = leader {
                self.tell(Reply::Ended { id, status: raw_status(status) }).await?;
            }
        }
    }

    /// Ends all that descends from us: politely first, then not.
    async fn end_all(&mut self, grace: Duration) -> io::Result<()> {
        let mut ends = on_signal(SignalKind::child())?;
        let deadline = Instant::now() + grace;
        let mut asked: Vec<Member> = Vec::new();
        while Instant::now() < deadline {
            self.reap().await?;
            let left = descendants(getpid());
            if left.is_empty() {
                return Ok(());
            }
            for member in left.iter().filter(|member| !asked.contains(member)) {
                // It may have ended, or run as another user: then nothing lets us end it.
                let _ = signal::kill(member.pid, Signal::SIGTERM);
            }
            asked = left;
            // Whichever comes first: the end of one, or the time for another look.
            let _ = timeout(LOOK, ends.recv()).await;
        }
        let deadline = Instant::now() + DEATH;
        while Instant::now() < deadline {
            self.reap().await?;
            let left = descendants(getpid());
            if left.is_empty() {
                return Ok(());
            }
            for member in left {
                let _ = signal::kill(member.pid, Signal::SIGKILL);
            }
            let _ = timeout(LOOK, ends.recv()).await;
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

/// As `wait` would give it.
fn raw_status(status: WaitStatus) -> i32 {
    match status {
        WaitStatus::Exited(_, code) => (code & 0xff) << 8,
        WaitStatus::Signaled(_, signal, _) => signal as i32,
        _ => 0,
    }
}
