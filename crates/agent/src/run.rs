//! Starts the container's process and stands in its place: signals go to it, its end is the container's, orphans are
//! collected; and it is started anew at a word, without an end of the container.

mod child;
mod left;
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

use crate::home;
use crate::problem::{About as _, Problem};
use child::Child;
pub(crate) use options::Options;
use restart_file::RestartFile;

/// How long a process has to end before it is killed, when it is to be started anew, unless something else is said.
const GRACE: Duration = Duration::from_secs(10);
/// What was killed is gone in a moment.
const MOMENT: Duration = Duration::from_millis(20);
/// What who asked for a restart is told; anything else is what went wrong.
pub(crate) const STARTED: &str = "started";

pub(crate) fn run(options: &Options) -> ExitCode {
    match Supervisor::new(options).and_then(Supervisor::supervise) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            eprintln!("lilt-agent: {problem}");
            // As a shell says it.
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
    /// The process is to be started anew when it has ended; who waits for that.
    restart: Option<Restart>,
    /// The container is to end.
    ending: bool,
}

#[derive(Default)]
struct Restart {
    kill_at: Option<Instant>,
    /// What the old process left, and was told to end.
    told: HashSet<Pid>,
    waiting: Vec<UnixStream>,
}

impl<'a> Supervisor<'a> {
    fn new(options: &'a Options) -> Result<Self, Problem> {
        let failed = |what: &'static str| {
            move |error: nix::Error| Problem::new(what, crate::problem::cause(&error.into()))
        };
        // Before the first child, so that none of its signals is missed.
        let all = SigSet::all();
        all.thread_block().map_err(failed("cannot wait for signals"))?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let signals = SignalFd::with_flags(&all, flags).map_err(failed("cannot wait for signals"))?;
        // With a process namespace for the whole pod, this is not its first process, and orphans would go elsewhere.
        nix::sys::prctl::set_child_subreaper(true).map_err(failed("cannot collect orphans"))?;
        home::protect();
        home::create_state()?;
        let list = home::kept_list();
        fs::write(&list, options.kept.join("\n")).about(&list)?;
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
            ending: false,
        })
    }

    fn supervise(mut self) -> Result<u8, Problem> {
        self.start(Restart::default())?;
        loop {
            self.wait()?;
            while let Ok(Some(signal)) = self.signals.read_signal() {
                if let Ok(signal) = Signal::try_from(signal.ssi_signo.cast_signed()) {
                    self.receive(signal);
                }
            }
            if let Some(code) = self.collect()? {
                return Ok(code);
            }
            if self.ending && self.child.is_none() {
                // It waited for an update.
                return Ok(0);
            }
            self.answer();
            if self.restart_file.as_mut().is_some_and(RestartFile::was_written) {
                self.begin_restart(None);
            }
            self.kill_if_late();
            self.replace()?;
        }
    }

    /// Until something happens.
    fn wait(&self) -> Result<(), Problem> {
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
                let left = if left.is_zero() { MOMENT } else { left + Duration::from_millis(1) };
                PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
            }
        };
        match poll(&mut watched, timeout) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(Problem::new("cannot wait for events", error.desc())),
        }
    }

    fn receive(&mut self, signal: Signal) {
        match signal {
            // Children are looked at after every signal; job control of a terminal is the kernel's.
            Signal::SIGCHLD | Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU => {}
            signal => {
                self.ending |= matches!(signal, Signal::SIGTERM | Signal::SIGINT | Signal::SIGQUIT);
                if let Some(child) = &self.child {
                    child.signal(signal);
                }
            }
        }
    }

    /// Collects what has ended. Gives the container's exit code if that was its process.
    fn collect(&mut self) -> Result<Option<u8>, Problem> {
        loop {
            let (pid, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, code),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, 128 + signal as i32),
                Ok(WaitStatus::StillAlive) | Err(nix::Error::ECHILD) => return Ok(None),
                Ok(_) | Err(nix::Error::EINTR) => continue,
                Err(error) => return Err(Problem::new("cannot collect processes", error.desc())),
            };
            if let Some(child) = self.child.take_if(|child| child.is(pid)) {
                if self.restart.is_none() || self.ending {
                    child.kill_group();
                }
                if let Some(code) = self.after_the_end(code) {
                    return Ok(Some(code));
                }
            }
        }
    }

    fn after_the_end(&self, code: i32) -> Option<u8> {
        let code = u8::try_from(code & 0xff).unwrap_or(u8::MAX);
        if self.ending {
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

    /// Starts the process anew when nothing of the old one is left: it might hold a port, or a lock.
    fn replace(&mut self) -> Result<(), Problem> {
        if self.restart.is_none() || self.child.is_some() {
            return Ok(());
        }
        let left = left::find();
        if left.is_empty() {
            // Those that ended since the last look are zombies: a server that checks its pid file would find them alive.
            self.collect()?;
            let restart = self.restart.take().unwrap_or_default();
            return self.start(restart);
        }
        let restart = self.restart.get_or_insert_default();
        let late =
            Instant::now() >= *restart.kill_at.get_or_insert_with(|| Instant::now() + self.options.grace());
        for pid in left {
            // It may be gone in the same moment.
            if late {
                let _ = kill(pid, Signal::SIGKILL);
            } else if restart.told.insert(pid) {
                let _ = kill(pid, Signal::SIGTERM);
                let _ = kill(pid, Signal::SIGCONT);
            }
        }
        Ok(())
    }

    fn start(&mut self, restart: Restart) -> Result<(), Problem> {
        match Child::start(self.options) {
            Ok(child) => {
                self.child = Some(child);
                tell(restart.waiting, STARTED);
                Ok(())
            }
            Err(problem) => {
                // On one line, as all answers are.
                tell(restart.waiting, &problem.to_string().replace('\n', " "));
                if !self.options.wait_when_ended {
                    return Err(problem);
                }
                eprintln!("lilt-agent: {problem}; waiting for the next update");
                Ok(())
            }
        }
    }

    fn answer(&mut self) {
        while let Some(Ok((stream, _))) = self.control.as_ref().map(UnixListener::accept) {
            // It comes at once: the other end is ours. One that says nothing is not waited for.
            let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
            let mut request = String::new();
            if BufReader::new(&stream).read_line(&mut request).is_ok() && request == "restart\n" {
                self.begin_restart(Some(stream));
            }
        }
    }

    fn begin_restart(&mut self, waiting: Option<UnixStream>) {
        let restart = self.restart.get_or_insert_default();
        restart.waiting.extend(waiting);
        if let Some(child) = &self.child
            && restart.kill_at.is_none()
        {
            restart.kill_at = Some(Instant::now() + self.options.grace());
            child.signal(Signal::SIGTERM);
            // One that was stopped would not hear it.
            child.signal(Signal::SIGCONT);
        }
    }

    fn kill_if_late(&mut self) {
        let late = self.restart.as_ref().and_then(|restart| restart.kill_at);
        if let (Some(child), Some(at)) = (&self.child, late)
            && Instant::now() >= at
        {
            child.kill_group();
        }
    }
}

/// Answers those who asked for a restart, and waits until they have passed it on: if this process ends, so do they.
fn tell(waiting: Vec<UnixStream>, answer: &str) {
    for mut waiting in waiting {
        // Who asked may be gone.
        let _ = writeln!(waiting, "{answer}");
        if answer != STARTED {
            let _ = waiting.set_read_timeout(Some(Duration::from_secs(1)));
            let _ = waiting.read(&mut [0]);
        }
    }
}

fn listen() -> Result<UnixListener, Problem> {
    let path = &home::control();
    // Of the container's earlier run.
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).about(path),
        _ => {}
    }
    let listener = UnixListener::bind(path).about(path)?;
    // Whatever the container's umask is.
    crate::copy::set_mode(path, 0o600)?;
    listener.set_nonblocking(true).about(path)?;
    Ok(listener)
}
