//! This machine, but for what a test sets.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lilt_host::process::{DirectStarter, run_blocking};
use lilt_host::{clock, environment, files, memory};
use lilt_model::Failure;
use lilt_model::cluster::KubeContext;
use lilt_model::command::Command;
use lilt_tiltfile::{CommandOutput, DirEntry, System};
use tempfile::TempPath;

/// By default: this machine without Kubernetes contexts.
#[derive(Default)]
pub(crate) struct TestSystem {
    /// None: that of the test's process.
    pub(crate) environment: Option<Vec<(String, String)>>,
    /// Variables that every command gets on top of its own.
    pub(crate) command_variables: Vec<(String, String)>,
    /// The command line and the program; none: those of the test's process.
    pub(crate) called_as: Option<(Vec<String>, PathBuf)>,
    /// The contexts of kubeconfig, the current one first.
    pub(crate) contexts: Vec<KubeContext>,
    /// The age of every file that exists, in place of its own.
    pub(crate) file_age: Option<Duration>,
    /// No command can be started: no git, no kubectl, nothing.
    pub(crate) has_no_programs: bool,
    pub(crate) shortage: Option<Shortage>,
    /// Seconds on a clock that moves on by one each time it is read; none: the real clock.
    pub(crate) test_clock: Option<(Instant, AtomicU64)>,
}

/// Nothing is left for files called `short`, for folders, and for commands.
#[derive(Clone, Copy)]
pub(crate) struct Shortage {
    /// The error of starting a command; `Other`: there are no file descriptors.
    pub(crate) of_commands: io::ErrorKind,
}

impl Shortage {
    const EMFILE: i32 = 24;

    fn of_descriptors() -> io::Error {
        io::Error::from_raw_os_error(Self::EMFILE)
    }
}

impl TestSystem {
    pub(crate) fn with_context(name: &str, cluster: &str) -> Self {
        let context = KubeContext { name: name.into(), cluster: cluster.into(), ..KubeContext::default() };
        Self { contexts: vec![context], ..Self::default() }
    }
}

impl System for TestSystem {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.shortage {
            Some(_) if path.ends_with("short") => Err(Shortage::of_descriptors()),
            _ => files::try_read(path),
        }
    }

    fn list_directory(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        if self.shortage.is_some() {
            return Err(Shortage::of_descriptors());
        }
        let entries = files::list_with_types(path)?;
        Ok(entries.into_iter().map(|(path, is_dir)| DirEntry { path, is_dir }).collect())
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn start_directory(&self) -> Option<PathBuf> {
        environment::start_directory()
    }

    fn now(&self) -> Instant {
        match &self.test_clock {
            Some((start, seconds)) => *start + Duration::from_secs(seconds.fetch_add(1, Ordering::Relaxed)),
            None => clock::instant(),
        }
    }

    fn file_age(&self, path: &Path) -> Option<Duration> {
        files::age(path).map(|age| self.file_age.unwrap_or(age))
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        files::save(path, content)
    }

    fn temporary_file(&self, content: &[u8]) -> io::Result<TempPath> {
        files::temporary(".yml", content)
    }

    fn environment(&self) -> Vec<(String, String)> {
        self.environment.clone().unwrap_or_else(environment::all)
    }

    fn kube_context(&self) -> Result<Option<KubeContext>, Failure> {
        Ok(self.contexts.first().cloned())
    }

    fn kube_contexts(&self) -> Result<Vec<KubeContext>, Failure> {
        Ok(self.contexts.clone())
    }

    fn arguments(&self) -> Vec<String> {
        let called_as = self.called_as.as_ref().map(|(arguments, _)| arguments.clone());
        called_as.unwrap_or_else(|| std::env::args().collect())
    }

    fn executable(&self) -> Option<PathBuf> {
        let called_as = self.called_as.as_ref().map(|(_, program)| program.clone());
        called_as.or_else(|| std::env::current_exe().ok())
    }

    fn memory_usage(&self) -> Option<usize> {
        memory::resident_size()
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn run(
        &self,
        command: &Command,
        environment: &[(String, String)],
        stdin: Option<&[u8]>,
        cancelled: &(dyn Fn() -> bool + Sync),
        each_line: &mut dyn FnMut(&str),
    ) -> io::Result<CommandOutput> {
        match self.shortage {
            Some(Shortage { of_commands: io::ErrorKind::Other }) => return Err(Shortage::of_descriptors()),
            Some(Shortage { of_commands }) => return Err(of_commands.into()),
            None if self.has_no_programs => return Err(io::ErrorKind::NotFound.into()),
            None => {}
        }
        let mut command = command.clone();
        command.env.extend(self.command_variables.iter().cloned());
        let output = run_blocking(&DirectStarter, &command, environment, stdin, cancelled, each_line)?;
        Ok(CommandOutput { exit_code: output.exit_code, stdout: output.stdout, stderr: output.stderr })
    }
}
