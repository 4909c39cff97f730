//! The container's own process.
#![allow(unsafe_code, reason = "what runs between fork and exec cannot be checked by the language")]

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::{Pid, getpid, tcsetpgrp};

use super::Options;
use crate::home::trusted_kept;
use crate::problem::{Problem, cause};

pub(super) struct Child {
    pid: Pid,
}

impl Child {
    /// In a process group of its own, so that all of it can be ended; with the terminal, if there is one.
    pub(super) fn start(options: &Options) -> Result<Self, Problem> {
        let failed =
            |error: &std::io::Error| Problem::new(format!("cannot start {}", options.program), cause(error));
        let mut command = Command::new(find(options, std::env::var_os("PATH")));
        command.arg0(&options.program).args(arguments(options)).process_group(0);
        let terminal = std::io::stdin().is_terminal();
        // SAFETY: between fork and exec only system calls are made that may be made there; nothing is allocated and no lock
        // is taken.
        unsafe { command.pre_exec(move || begin(terminal)) };
        let child = command.spawn().map_err(|error| failed(&error))?;
        Ok(Self { pid: Pid::from_raw(child.id().cast_signed()) })
    }

    pub(super) fn is(&self, pid: Pid) -> bool {
        self.pid == pid
    }

    /// It may be gone in the same moment.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill(self.pid, signal);
    }

    /// It and what it started.
    pub(super) fn kill_group(&self) {
        let _ = killpg(self.pid, Signal::SIGKILL);
    }
}

/// In the child, which is alone in its group. It takes the terminal itself: it would be stopped if it read from it before
/// it had it. Then it gets the signals that the agent blocks, to wait for them; a child inherits that.
fn begin(terminal: bool) -> std::io::Result<()> {
    if terminal {
        // SAFETY: the descriptor is the process's own stdin, which stays open.
        let stdin = unsafe { BorrowedFd::borrow_raw(0) };
        // Who takes it from the background is stopped, too, unless he does not hear of it.
        SigSet::all().thread_set_mask()?;
        // Fails only where it rules no processes.
        let _ = tcsetpgrp(stdin, getpid());
    }
    Ok(SigSet::empty().thread_set_mask()?)
}

/// A debugger is told the path of the program: of the newer one in the volume, if there is one.
fn arguments(options: &Options) -> impl Iterator<Item = PathBuf> {
    options.arguments.iter().map(|word| newest(PathBuf::from(word), &options.kept))
}

/// The newer version of a file that is kept in the volume, if there is one. Whatever else lies there is not started.
fn newest(file: PathBuf, kept: &[String]) -> PathBuf {
    let path = absolute(&file);
    let newer = kept.iter().any(|kept| path == Path::new(kept)).then(|| trusted_kept(&path)).flatten();
    newer.unwrap_or(file)
}

/// What a path means in the working directory, which is the container's.
fn absolute(path: impl AsRef<Path>) -> PathBuf {
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mut clean = PathBuf::from("/");
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::Normal(name) => clean.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    clean
}

/// The file of a program: as the system looks for it, but a newer one in the volume goes first.
fn find(options: &Options, path: Option<OsString>) -> PathBuf {
    let program = &options.program;
    if program.contains('/') {
        return newest(PathBuf::from(program), &options.kept);
    }
    let path = path.unwrap_or_else(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into());
    let found = std::env::split_paths(&path).map(|folder| newest(folder.join(program), &options.kept));
    found.into_iter().find(|file| is_executable(file)).unwrap_or_else(|| PathBuf::from(program))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
