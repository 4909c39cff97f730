//! Why something on this machine failed, and how that becomes a [`Failure`].

use std::io;
use std::path::{Path, PathBuf};

use lilt_model::{Failure, FailureKind, Unreachable};

/// A failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the command is empty")]
    EmptyCommand,
    #[error("the directory {} does not exist", .directory.display())]
    NoDirectory { directory: PathBuf, program: String },
    /// A program that is named by its path.
    #[error("the program {program} does not exist")]
    NoProgram { program: String, directory: PathBuf },
    /// A program that is looked for in the folders of `PATH`.
    #[error("the program `{program}` was not found")]
    NotInPath { program: String, path: Option<String> },
    #[error("the program {program} may not be run")]
    NotExecutable { program: String },
    /// The system allows no more processes for now.
    #[error("cannot start `{program}`: too many processes run")]
    TooManyProcesses { program: String },
    #[error("cannot start {what}: {cause}")]
    NotStarted { what: String, cause: io::Error },
    #[error("the process that guards lilt's commands has ended: {0}")]
    GuardianEnded(io::Error),
    #[error("the end of a command was not seen: {0}")]
    EndUnseen(io::Error),
    #[error("cannot watch {what}: {cause}")]
    NotWatched { what: String, cause: io::Error },
    #[error("the file watcher has stopped")]
    WatcherStopped,
    /// A file of lilt's own that only the user may read and write.
    #[error("cannot read {}: {cause}", .path.display())]
    PrivateFile { path: PathBuf, cause: io::Error },
    #[error("{} belongs to another user (id {owner})", .path.display())]
    ForeignFile { path: PathBuf, owner: u32 },
    #[error("{} is open to other users (mode {mode:o})", .path.display())]
    OpenFile { path: PathBuf, mode: u32 },
    /// The folder of a session.
    #[error("cannot {verb} {}: {cause}", .path.display())]
    SessionFolder { verb: &'static str, path: PathBuf, cause: io::Error },
    #[error("no free name for a session in {}", .0.display())]
    NoSessionName(PathBuf),
}

impl Error {
    pub(crate) fn session_folder(verb: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::SessionFolder { verb, path: path.to_owned(), cause }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::EmptyCommand
            | Self::NoDirectory { .. }
            | Self::NoProgram { .. }
            | Self::NotInPath { .. }
            | Self::NotExecutable { .. } => FailureKind::User,
            Self::TooManyProcesses { .. } => Unreachable::Machine.into(),
            Self::NotStarted { .. }
            | Self::GuardianEnded(_)
            | Self::EndUnseen(_)
            | Self::NotWatched { .. }
            | Self::PrivateFile { .. }
            | Self::ForeignFile { .. }
            | Self::OpenFile { .. }
            | Self::SessionFolder { .. } => FailureKind::Environment,
            Self::WatcherStopped | Self::NoSessionName(_) => FailureKind::Internal,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoDirectory { program, .. } => format!("`{program}` was to run there"),
            Self::NoProgram { directory, .. } => format!(
                "it was to run in {}; a script may also name an interpreter that does not exist",
                directory.display()
            ),
            Self::NotInPath { path, .. } => {
                let path = path.as_deref().unwrap_or("which is not set");
                format!("it is in none of the folders of PATH ({path})")
            }
            Self::NotExecutable { .. } => {
                "make it executable with `chmod +x`, or run it through its interpreter".to_owned()
            }
            Self::TooManyProcesses { .. } => "end some, or raise the limit (`ulimit -u`)".to_owned(),
            Self::GuardianEnded(_) => {
                "something has killed it, and what it had started; the next command starts another".to_owned()
            }
            Self::ForeignFile { path, .. } => {
                format!("remove it: `rm {}`; lilt creates a new one", path.display())
            }
            Self::OpenFile { path, .. } => {
                format!("`chmod 600 {}`, or remove it if others may have read it", path.display())
            }
            Self::SessionFolder { .. } => {
                "lilt keeps a session's logs there; XDG_CACHE_HOME chooses another place".to_owned()
            }
            Self::EmptyCommand
            | Self::NotStarted { .. }
            | Self::EndUnseen(_)
            | Self::NotWatched { .. }
            | Self::WatcherStopped
            | Self::PrivateFile { .. }
            | Self::NoSessionName(_) => return None,
        })
    }

    /// The error behind it, if a shortage of this machine is waited for.
    fn retried_cause(&self) -> Option<&io::Error> {
        match self {
            Self::NotStarted { cause, .. } | Self::GuardianEnded(cause) => Some(cause),
            _ => None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Failure::new(error.kind(), error.to_string());
        let failure = match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        };
        match error.retried_cause() {
            Some(cause) => failure.caused_by(cause),
            None => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortage_of_this_machine_is_waited_for_and_a_missing_program_is_not() {
        let start = |number| {
            let cause = io::Error::from_raw_os_error(number);
            Failure::from(Error::NotStarted { what: "`make`".into(), cause })
        };
        assert_eq!(start(24).unreachable(), Some(&Unreachable::Machine));
        assert_eq!(start(5).kind, FailureKind::Environment);
        let busy = Failure::from(Error::TooManyProcesses { program: "make".into() });
        assert_eq!(busy.unreachable(), Some(&Unreachable::Machine));
        let missing = Failure::from(Error::NotInPath { program: "make".into(), path: None });
        assert_eq!(missing.kind, FailureKind::User);
        assert_eq!(
            missing.to_string(),
            "the program `make` was not found\nhint: it is in none of the folders of PATH (which is not set)"
        );
    }
}
