//! Everything an evaluation may touch outside of its own memory, and nothing else does.
//!
//! The program that loads Tiltfiles implements the trait. It is kept small so that a fuzzer or a test can refuse all of it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::Failure;
use lilt_model::cluster::KubeContext;
use lilt_model::command::Command;

pub trait Outside: Sync {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>>;

    fn list_directory(&self, path: &Path) -> io::Result<Vec<Entry>>;

    fn is_dir(&self, path: &Path) -> bool;

    fn exists(&self, path: &Path) -> bool;

    /// Returns the folder where lilt was started.
    fn start_directory(&self) -> Option<PathBuf>;

    /// The time by which a load that takes long is reported.
    fn now(&self) -> Instant;

    /// How long ago a file was written; none if there is no such file, or nobody knows.
    fn age(&self, _path: &Path) -> Option<Duration> {
        None
    }

    /// Writes a file as a whole or not at all, with the directories it needs. For what lilt keeps for itself, outside
    /// of projects.
    fn write_file(&self, _path: &Path, _content: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// A file with this content for other programs to read; gone when it is dropped.
    fn temporary_file(&self, _content: &[u8]) -> io::Result<tempfile::TempPath> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// All variables, sorted by name.
    fn environment(&self) -> Vec<(String, String)>;

    fn environment_variable(&self, name: &str) -> Option<String> {
        self.environment().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The context that Kubernetes objects would go to; none if there is no kubeconfig.
    fn kube_context(&self) -> Result<Option<KubeContext>, Failure>;

    /// All contexts that kubeconfig has.
    fn kube_contexts(&self) -> Result<Vec<KubeContext>, Failure> {
        Ok(Vec::new())
    }

    /// The kubeconfig that commands are given in place of theirs; none if they find their own. It is only read if it is
    /// `needed`.
    fn kubeconfig_of_commands(&self, _needed: bool) -> Result<Option<PathBuf>, Failure> {
        Ok(None)
    }

    /// How lilt was called: its name and arguments.
    fn arguments(&self) -> Vec<String> {
        Vec::new()
    }

    /// The program that runs.
    fn executable(&self) -> Option<PathBuf> {
        None
    }

    /// What this process takes, in bytes; none where that is not known.
    fn memory(&self) -> Option<usize> {
        None
    }

    /// The path with its links resolved.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    /// Runs to the end; `each_line` gets what it prints, as it comes. Ends it at once when `cancelled` says so. The
    /// child has this environment and no other, and on top of it what the command itself sets.
    fn run(
        &self,
        command: &Command,
        environment: &[(String, String)],
        stdin: Option<&[u8]>,
        cancelled: &(dyn Fn() -> bool + Sync),
        each_line: &mut dyn FnMut(&str),
    ) -> io::Result<Output>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: PathBuf,
    pub is_dir: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// None if a signal ended it.
    pub exit_code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}
