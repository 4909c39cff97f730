//! What to start, and why a start failed.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::environment;
use crate::error::Error;

/// A command to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub argv: Vec<String>,
    /// Absolute.
    #[serde(with = "os_path")]
    pub dir: PathBuf,
    /// Set on top of lilt's own environment.
    pub env: Vec<(String, String)>,
    /// Removed from lilt's own environment.
    pub unset: Vec<String>,
}

/// Encodes a path that need not be UTF-8.
mod os_path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

impl From<&lilt_model::command::Command> for Launch {
    fn from(command: &lilt_model::command::Command) -> Self {
        Self {
            argv: command.argv.clone(),
            dir: command.dir.clone(),
            env: command.env.clone(),
            unset: command.unset.clone(),
        }
    }
}

impl Launch {
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.argv.is_empty() { Err(Error::EmptyCommand) } else { Ok(()) }
    }

    /// Builds the command, with its own process group. The caller sets its input and output.
    pub(super) fn command(&self) -> io::Result<Command> {
        let (program, arguments) = self.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        for name in &self.unset {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(&self.dir).process_group(0);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Why it did not start.
    pub(super) fn explain(&self, cause: io::Error) -> Error {
        let program = self.argv.first().cloned().unwrap_or_default();
        let directory = self.dir.clone();
        if !directory.is_dir() {
            return Error::NoDirectory { directory, program };
        }
        match cause.kind() {
            io::ErrorKind::NotFound if program.contains('/') => Error::NoProgram { program, directory },
            io::ErrorKind::NotFound => Error::NotInPath { program, path: self.path() },
            io::ErrorKind::PermissionDenied => Error::NotExecutable { program },
            io::ErrorKind::WouldBlock => Error::TooManyProcesses { program },
            _ => Error::NotStarted { what: format!("`{program}`"), cause },
        }
    }

    fn path(&self) -> Option<String> {
        let configured = self.env.iter().rev().find(|(name, _)| name == environment::PATH);
        configured.map(|(_, value)| value.clone()).or_else(|| environment::variable(environment::PATH))
    }
}
