//! Starts the container's own process.
#![allow(unsafe_code, reason = "`pre_exec` and raw descriptors have no safe alternative")]

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
use crate::error::{AgentError, cause};
use crate::home::trusted_kept;

pub(super) struct Child {
    pid: Pid,
}

impl Child {
    /// Starts the process in its own process group, so that the group can be killed; in the foreground of the terminal,
    /// if there is one.
    pub(super) fn start(options: &Options) -> Result<Self, AgentError> {
        let failed = |error: &std::io::Error| {
            AgentError::new(format!("cannot start {}", options.program), cause(error))
        };
        let mut command = Command::new(find(options, std::env::var_os("PATH")));
        command.arg0(&options.program).args(arguments(options)).process_group(0);
        let terminal = std::io::stdin().is_terminal();
        // SAFETY: `prepare` makes only async-signal-safe system calls between fork and exec: it neither allocates nor
        // takes a lock.
        unsafe { command.pre_exec(move || prepare(terminal)) };
        let child = command.spawn().map_err(|error| failed(&error))?;
        Ok(Self { pid: Pid::from_raw(child.id().cast_signed()) })
    }

    pub(super) fn is(&self, pid: Pid) -> bool {
        self.pid == pid
    }

    /// Sends a signal; the process may have exited.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill(self.pid, signal);
    }

    /// Kills the process and its group.
    pub(super) fn kill_group(&self) {
        let _ = killpg(self.pid, Signal::SIGKILL);
    }
}

/// Runs in the child between fork and exec. Makes its group the foreground group of the terminal: otherwise it would be
/// stopped when it reads from it. Then unblocks the signals that the agent blocks, because a child inherits the mask.
fn prepare(terminal: bool) -> std::io::Result<()> {
    if terminal {
        // SAFETY: the descriptor is the process's own stdin, which stays open.
        let stdin = unsafe { BorrowedFd::borrow_raw(0) };
        // `tcsetpgrp` from the background stops the caller by SIGTTOU unless that is blocked.
        SigSet::all().thread_set_mask()?;
        // Fails only if it is not the controlling terminal.
        let _ = tcsetpgrp(stdin, getpid());
    }
    Ok(SigSet::empty().thread_set_mask()?)
}

/// Returns the arguments, with paths replaced by updated copies: a debugger gets the program as an argument.
fn arguments(options: &Options) -> impl Iterator<Item = PathBuf> {
    options.arguments.iter().map(|word| updated_copy(PathBuf::from(word), &options.kept))
}

/// Returns the updated copy of a file in the volume, if the file is listed in `kept` and a trusted copy exists.
fn updated_copy(file: PathBuf, kept: &[String]) -> PathBuf {
    let path = absolute(&file);
    let copy = kept.iter().any(|kept| path == Path::new(kept)).then(|| trusted_kept(&path)).flatten();
    copy.unwrap_or(file)
}

/// Resolves a path against the working directory and cleans it.
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

/// Searches a program in `PATH` like the kernel, but prefers updated copies in the volume.
fn find(options: &Options, path: Option<OsString>) -> PathBuf {
    let program = &options.program;
    if program.contains('/') {
        return updated_copy(PathBuf::from(program), &options.kept);
    }
    let path = path.unwrap_or_else(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into());
    let found = std::env::split_paths(&path).map(|folder| updated_copy(folder.join(program), &options.kept));
    found.into_iter().find(|file| is_executable(file)).unwrap_or_else(|| PathBuf::from(program))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
