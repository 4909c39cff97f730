//! The operating system and the kubeconfig, as far as an evaluation may use them.
//!
//! Nothing else in this crate does IO. The program that loads Tiltfiles implements the trait; it is small, so that a
//! fuzzer or a test can deny everything.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::Failure;
use lilt_model::cluster::KubeContext;
use lilt_model::command::Command;

pub trait System: Sync {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>>;

    fn list_directory(&self, path: &Path) -> io::Result<Vec<DirEntry>>;

    fn is_dir(&self, path: &Path) -> bool;

    fn exists(&self, path: &Path) -> bool;

    /// Returns the folder where lilt was started.
    fn start_directory(&self) -> Option<PathBuf>;

    /// Returns the monotonic time by which slow loads are reported and builtins are timed.
    fn now(&self) -> Instant;

    /// Returns how long ago a file was written; none if it does not exist or that is not known.
    fn file_age(&self, _path: &Path) -> Option<Duration> {
        None
    }

    /// Writes a file atomically, and creates its directory. For lilt's own data, outside of projects.
    fn write_file(&self, _path: &Path, _content: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes a temporary file for other programs to read; it is removed when the path is dropped.
    fn temporary_file(&self, _content: &[u8]) -> io::Result<tempfile::TempPath> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns all variables, sorted by name.
    fn environment(&self) -> Vec<(String, String)>;

    fn environment_variable(&self, name: &str) -> Option<String> {
        self.environment().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns the context that Kubernetes objects are deployed to; none if there is no kubeconfig.
    fn kube_context(&self) -> Result<Option<KubeContext>, Failure>;

    /// Returns all contexts of kubeconfig.
    fn kube_contexts(&self) -> Result<Vec<KubeContext>, Failure> {
        Ok(Vec::new())
    }

    /// Returns the value of `KUBECONFIG` for commands; none if they find their own. It is only read if it is `needed`.
    fn command_kubeconfig(&self, _needed: bool) -> Result<Option<PathBuf>, Failure> {
        Ok(None)
    }

    /// Returns lilt's command line.
    fn arguments(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the path of lilt's program.
    fn executable(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the memory that this process takes, in bytes; none where that is not known.
    fn memory_usage(&self) -> Option<usize> {
        None
    }

    /// Resolves all links of a path.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    /// Runs a command to its end; `each_line` gets its output as it comes. Ends it at once when `cancelled` returns true.
    /// It gets this environment and no other, with the command's own variables on top of it.
    fn run(
        &self,
        command: &Command,
        environment: &[(String, String)],
        stdin: Option<&[u8]>,
        cancelled: &(dyn Fn() -> bool + Sync),
        each_line: &mut dyn FnMut(&str),
    ) -> io::Result<CommandOutput>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    pub path: PathBuf,
    pub is_dir: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// None if a signal ended it.
    pub exit_code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}
