//! The `run` command: supervises the container's process as its init. Forwards signals, exits with its exit code, reaps
//! orphans, and restarts it on request without ending the container.

mod child;
mod descendants;
mod options;
mod restart_file;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::error::{AgentError, WithPath as _};
use crate::home;
use child::Child;
pub(crate) use options::Options;
use restart_file::RestartFile;

/// The default grace period: how long a process has to exit at a restart before it is killed.
const GRACE: Duration = Duration::from_secs(10);
/// How often to check for the exit of killed processes.
const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// The reply to a successful restart request; anything else is an error message.
pub(crate) const STARTED: &str = "started";

pub(crate) fn run(options: &Options) -> ExitCode {
    match Supervisor::new(options).and_then(Supervisor::supervise) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("lilt-agent: {error}");
            // The exit code of a shell for a command that it cannot start.
            ExitCode::from(127)
        }
    }
}

struct Supervisor<'a> {
    options: &'a Options,
    signals: SignalFd,
    control: Option<UnixListener>,
    restart_file: Option<RestartFile>,
    child: Option<Child>,
    /// The pending restart, until the process has exited.
    restart: Option<Restart>,
    /// The container is shutting down.
    is_shutting_down: bool,
}

#[derive(Default)]
struct Restart {
    kill_at: Option<Instant>,
    /// Remaining descendants of the old process that got SIGTERM.
    signalled: HashSet<Pid>,
    waiting: Vec<UnixStream>,
}

impl<'a> Supervisor<'a> {
    fn new(options: &'a Options) -> Result<Self, AgentError> {
        let failed = |what: &'static str| {
            move |error: nix::Error| AgentError::new(what, crate::error::cause(&error.into()))
        };
        // Before the first child, so that none of its signals is missed.
        let all = SigSet::all();
        all.thread_block().map_err(failed("cannot wait for signals"))?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let signals = SignalFd::with_flags(&all, flags).map_err(failed("cannot wait for signals"))?;
        // With a shared process namespace of the pod, this is not pid 1 and would not adopt orphans.
        nix::sys::prctl::set_child_subreaper(true).map_err(failed("cannot collect orphans"))?;
        home::protect();
        home::create_state()?;
        let list = home::kept_list();
        fs::write(&list, options.kept.join("\n")).with_path(&list)?;
        let restart_file = match &options.restart_file {
            Some(path) => RestartFile::watch(path)?,
            None => None,
        };
        Ok(Self {
            options,
            signals,
            control: Some(listen()?),
            restart_file,
            child: None,
            restart: None,
            is_shutting_down: false,
        })
    }

    fn supervise(mut self) -> Result<u8, AgentError> {
        self.start(Restart::default())?;
        loop {
            self.wait()?;
            while let Ok(Some(signal)) = self.signals.read_signal() {
                if let Ok(signal) = Signal::try_from(signal.ssi_signo.cast_signed()) {
                    self.receive(signal);
                }
            }
            if let Some(code) = self.reap()? {
                return Ok(code);
            }
            if self.is_shutting_down && self.child.is_none() {
                // The process has exited already.
                return Ok(0);
            }
            self.accept_requests();
            if self.restart_file.as_mut().is_some_and(RestartFile::was_written) {
                self.request_restart(None);
            }
            self.kill_after_grace();
            self.restart_when_clear()?;
        }
    }

    /// Waits for a signal, a request or a deadline.
    fn wait(&self) -> Result<(), AgentError> {
        let watched = [
            Some(self.signals.as_fd()),
            self.control.as_ref().map(UnixListener::as_fd),
            self.restart_file.as_ref().map(RestartFile::as_fd),
        ];
        let mut watched: Vec<PollFd<'_>> =
            watched.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let until = self.restart.as_ref().and_then(|restart| restart.kill_at);
        let timeout = match until {
            None => PollTimeout::NONE,
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                let left = if left.is_zero() { EXIT_CHECK_INTERVAL } else { left + Duration::from_millis(1) };
                PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
            }
        };
        match poll(&mut watched, timeout) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(AgentError::new("cannot wait for events", error.desc())),
        }
    }

    fn receive(&mut self, signal: Signal) {
        match signal {
            // Children are reaped after every signal; job control of a terminal is up to the kernel.
            Signal::SIGCHLD | Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU => {}
            signal => {
                self.is_shutting_down |= matches!(signal, Signal::SIGTERM | Signal::SIGINT | Signal::SIGQUIT);
                if let Some(child) = &self.child {
                    child.signal(signal);
                }
            }
        }
    }

    /// Reaps exited children. Returns the container's exit code if its process has exited for good.
    fn reap(&mut self) -> Result<Option<u8>, AgentError> {
        loop {
            let (pid, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, code),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, 128 + signal as i32),
                Ok(WaitStatus::StillAlive) | Err(nix::Error::ECHILD) => return Ok(None),
                Ok(_) | Err(nix::Error::EINTR) => continue,
                Err(error) => return Err(AgentError::new("cannot collect processes", error.desc())),
            };
            if let Some(child) = self.child.take_if(|child| child.is(pid)) {
                if self.restart.is_none() || self.is_shutting_down {
                    child.kill_group();
                }
                if let Some(code) = self.exit_code_after(code) {
                    return Ok(Some(code));
                }
            }
        }
    }

    fn exit_code_after(&self, code: i32) -> Option<u8> {
        let code = u8::try_from(code & 0xff).unwrap_or(u8::MAX);
        if self.is_shutting_down {
            return Some(code);
        }
        match &self.restart {
            Some(_) => None,
            None if self.options.wait_when_ended => {
                eprintln!("lilt-agent: the process ended with exit code {code}; waiting for the next update");
                None
            }
            None => Some(code),
        }
    }

    /// Restarts the process once all descendants of the old one have exited: they might hold a port or a lock.
    fn restart_when_clear(&mut self) -> Result<(), AgentError> {
        if self.restart.is_none() || self.child.is_some() {
            return Ok(());
        }
        let left = descendants::find();
        if left.is_empty() {
            // Reaps zombies: a server that checks its pid file would find them alive.
            self.reap()?;
            let restart = self.restart.take().unwrap_or_default();
            return self.start(restart);
        }
        let restart = self.restart.get_or_insert_default();
        let late =
            Instant::now() >= *restart.kill_at.get_or_insert_with(|| Instant::now() + self.options.grace());
        for pid in left {
            // It may exit at the same moment.
            if late {
                let _ = kill(pid, Signal::SIGKILL);
            } else if restart.signalled.insert(pid) {
                let _ = kill(pid, Signal::SIGTERM);
                let _ = kill(pid, Signal::SIGCONT);
            }
        }
        Ok(())
    }

    fn start(&mut self, restart: Restart) -> Result<(), AgentError> {
        match Child::start(self.options) {
            Ok(child) => {
                self.child = Some(child);
                reply_all(restart.waiting, STARTED);
                Ok(())
            }
            Err(error) => {
                // A reply is one line.
                reply_all(restart.waiting, &error.to_string().replace('\n', " "));
                if !self.options.wait_when_ended {
                    return Err(error);
                }
                eprintln!("lilt-agent: {error}; waiting for the next update");
                Ok(())
            }
        }
    }

    fn accept_requests(&mut self) {
        while let Some(Ok((stream, _))) = self.control.as_ref().map(UnixListener::accept) {
            // The request arrives at once, because the other end is the agent's. A silent connection is not waited for.
            let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
            let mut request = String::new();
            if BufReader::new(&stream).read_line(&mut request).is_ok() && request == "restart\n" {
                self.request_restart(Some(stream));
            }
        }
    }

    fn request_restart(&mut self, waiting: Option<UnixStream>) {
        let restart = self.restart.get_or_insert_default();
        restart.waiting.extend(waiting);
        if let Some(child) = &self.child
            && restart.kill_at.is_none()
        {
            restart.kill_at = Some(Instant::now() + self.options.grace());
            child.signal(Signal::SIGTERM);
            // A stopped process would not handle SIGTERM.
            child.signal(Signal::SIGCONT);
        }
    }

    fn kill_after_grace(&mut self) {
        let late = self.restart.as_ref().and_then(|restart| restart.kill_at);
        if let (Some(child), Some(at)) = (&self.child, late)
            && Instant::now() >= at
        {
            child.kill_group();
        }
    }
}

/// Replies to restart requests. After an error, waits until the requesters have forwarded it: they end with this
/// process.
fn reply_all(waiting: Vec<UnixStream>, reply: &str) {
    for mut waiting in waiting {
        // The requester may have disconnected.
        let _ = writeln!(waiting, "{reply}");
        if reply != STARTED {
            let _ = waiting.set_read_timeout(Some(Duration::from_secs(1)));
            let _ = waiting.read(&mut [0]);
        }
    }
}

fn listen() -> Result<UnixListener, AgentError> {
    let path = &home::control();
    // Left by an earlier run of the container.
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).with_path(path),
        _ => {}
    }
    let listener = UnixListener::bind(path).with_path(path)?;
    // Independent of the container's umask.
    crate::copy::set_mode(path, 0o600)?;
    listener.set_nonblocking(true).with_path(path)?;
    Ok(listener)
}
