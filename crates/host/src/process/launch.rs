//! What to start, and the reasons why it does not start.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use lilt_model::{Failure, Unreachable};

use crate::environment;

/// A command to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub argv: Vec<String>,
    /// Absolute.
    pub dir: PathBuf,
    /// Set on top of lilt's own environment.
    pub env: Vec<(String, String)>,
    /// Taken out of lilt's own environment.
    pub unset: Vec<String>,
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
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.argv.is_empty() { Err(Failure::user("the command is empty")) } else { Ok(()) }
    }

    /// In a group of its own. Whoever starts it says where its output goes.
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

    pub(super) fn explain(&self, error: &io::Error) -> Failure {
        let program = self.argv.first().map_or("", String::as_str);
        if !self.dir.is_dir() {
            return Failure::user(format!("the directory {} does not exist", self.dir.display()))
                .hint(format!("`{program}` was to run there"));
        }
        match error.kind() {
            io::ErrorKind::NotFound if program.contains('/') => {
                Failure::user(format!("the program {program} does not exist")).hint(format!(
                    "it was to run in {}; a script may also name an interpreter that does not exist",
                    self.dir.display()
                ))
            }
            io::ErrorKind::NotFound => {
                Failure::user(format!("the program `{program}` was not found")).hint(format!(
                    "it is in none of the folders of PATH ({})",
                    self.path().unwrap_or_else(|| "which is not set".into())
                ))
            }
            io::ErrorKind::PermissionDenied => Failure::user(format!("the program {program} may not be run"))
                .hint("make it executable with `chmod +x`, or run it through its interpreter"),
            // No more processes are allowed, for now.
            io::ErrorKind::WouldBlock => {
                Failure::environment(format!("cannot start `{program}`: too many processes run"))
                    .hint("end some, or raise the limit (`ulimit -u`)")
                    .of_kind(Unreachable::Machine)
            }
            _ => Failure::environment(format!("cannot start `{program}`: {error}")).caused_by(error),
        }
    }

    fn path(&self) -> Option<String> {
        let own = self.env.iter().rev().find(|(name, _)| name == environment::PATH);
        own.map(|(_, value)| value.clone()).or_else(|| environment::variable(environment::PATH))
    }
}
