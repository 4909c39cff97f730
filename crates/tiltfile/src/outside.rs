//! Everything an evaluation may touch outside of its own memory, and nothing else does.
//!
//! Kept small so that a fuzzer or a test can shut it off. [`RealOutside`] is this machine.

#![expect(clippy::disallowed_methods, reason = "this is the module that touches the machine")]

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lilt_model::Failure;
use lilt_model::cluster::Product;
use lilt_model::command::Command;

mod kubeconfig;
mod process;

pub use kubeconfig::{FrozenKubeconfig, Pinned};

pub trait Outside: Sync {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>>;

    fn list_directory(&self, path: &Path) -> io::Result<Vec<Entry>>;

    fn is_dir(&self, path: &Path) -> bool;

    fn exists(&self, path: &Path) -> bool;

    /// Returns the folder where lilt was started.
    fn start_directory(&self) -> Option<PathBuf> {
        std::path::absolute(".").ok()
    }

    /// The time by which a load that takes long is reported.
    fn now(&self) -> Instant {
        Instant::now()
    }

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

    fn environment_variable(&self, name: &str) -> Option<String>;

    /// All variables, sorted by name.
    fn environment(&self) -> Vec<(String, String)>;

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
pub struct KubeContext {
    pub name: String,
    /// Which cluster of the kubeconfig it names; tells local clusters from others.
    pub cluster: String,
    /// Of objects that name none; empty if the kubeconfig does not say.
    pub namespace: String,
    /// Who made the cluster, as far as the places of its files tell.
    pub by_files: Product,
}

impl KubeContext {
    /// Who made the cluster; its name comes before its files.
    pub fn product(&self) -> Product {
        match Product::of_cluster(&self.cluster) {
            Product::Unknown => self.by_files,
            product => product,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// None if a signal ended it.
    pub exit_code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Who starts the commands of a Tiltfile.
pub trait Starter: fmt::Debug + Send + Sync {
    /// In a group of its own, with this environment and no other, and on top of it what the command itself sets.
    fn start(
        &self,
        command: &Command,
        environment: &[(String, String)],
        input: Option<io::PipeReader>,
        output: io::PipeWriter,
        errors: io::PipeWriter,
    ) -> io::Result<Box<dyn Running>>;
}

/// A command that was started.
pub trait Running {
    /// None: it has not ended. Its exit code, or none if a signal ended it.
    fn try_wait(&mut self) -> io::Result<Option<Option<i32>>>;

    /// Asks it and its group to end, or kills them.
    fn end(&mut self, hard: bool);
}

/// This machine.
#[derive(Clone, Debug, Default)]
pub struct RealOutside {
    /// Who starts commands; none: this process itself.
    pub starter: Option<Arc<dyn Starter>>,
    /// From `--namespace`: in place of the context's own.
    pub namespace: Option<String>,
    /// What commands see as their `KUBECONFIG`, and which context is meant.
    pub kubeconfig: FrozenKubeconfig,
}

impl Outside for RealOutside {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn list_directory(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = std::fs::read_dir(path)?
            .map(|entry| {
                let entry = entry?;
                Ok(Entry { is_dir: entry.file_type()?.is_dir(), path: entry.path() })
            })
            .collect::<io::Result<Vec<_>>>()?;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn age(&self, path: &Path) -> Option<Duration> {
        std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        std::fs::create_dir_all(directory)?;
        // Beside its place, so that it gets there in one step; two writers at once do not meet in it.
        let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = directory.join(name);
        let written = std::fs::write(&part, content).and_then(|()| std::fs::rename(&part, path));
        if written.is_err() {
            // It may not even exist.
            let _ = std::fs::remove_file(&part);
        }
        written
    }

    fn temporary_file(&self, content: &[u8]) -> io::Result<tempfile::TempPath> {
        let mut file = tempfile::Builder::new().prefix("lilt-").suffix(".yml").tempfile()?;
        io::Write::write_all(&mut file, content)?;
        Ok(file.into_temp_path())
    }

    fn environment_variable(&self, name: &str) -> Option<String> {
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn environment(&self) -> Vec<(String, String)> {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        let mut variables: Vec<_> =
            std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        variables.sort();
        variables
    }

    fn kube_context(&self) -> Result<Option<KubeContext>, Failure> {
        let configs = kubeconfig::read()?;
        let mut context = match configs.is_empty() {
            true => kubeconfig::within(),
            false => kubeconfig::context_of(&configs, self.kubeconfig.context()).or_else(kubeconfig::within),
        };
        if let (Some(context), Some(namespace)) = (&mut context, &self.namespace) {
            context.namespace.clone_from(namespace);
        }
        Ok(context)
    }

    fn kube_contexts(&self) -> Result<Vec<KubeContext>, Failure> {
        Ok(kubeconfig::contexts(&kubeconfig::read()?))
    }

    fn kubeconfig_of_commands(&self, needed: bool) -> Result<Option<PathBuf>, Failure> {
        let pinned = match needed || self.kubeconfig.is_asked_for() {
            true => self.kubeconfig.get()?,
            false => self.kubeconfig.known(),
        };
        Ok(pinned.map(|pinned| pinned.path.clone()))
    }

    fn arguments(&self) -> Vec<String> {
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
    }

    fn executable(&self) -> Option<PathBuf> {
        std::env::current_exe().ok()
    }

    #[cfg(target_os = "linux")]
    fn memory(&self) -> Option<usize> {
        // The second number is what is in memory, in pages, which are never smaller than this.
        const PAGE: usize = 4096;
        let numbers = std::fs::read_to_string("/proc/self/statm").ok()?;
        numbers.split(' ').nth(1)?.parse::<usize>().ok().map(|pages| pages * PAGE)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn run(
        &self,
        command: &Command,
        environment: &[(String, String)],
        stdin: Option<&[u8]>,
        cancelled: &(dyn Fn() -> bool + Sync),
        each_line: &mut dyn FnMut(&str),
    ) -> io::Result<Output> {
        let direct = process::Direct;
        let starter = self.starter.as_deref().unwrap_or(&direct);
        process::run(starter, command, environment, stdin, cancelled, each_line)
    }
}
