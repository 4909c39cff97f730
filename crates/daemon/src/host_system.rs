//! Gives the evaluation of Tiltfiles access to this machine and its kubeconfig.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_cluster::SessionKubeconfig;
use lilt_host::process::{Guardian, run_blocking};
use lilt_host::{clock, environment, files, memory};
use lilt_model::Failure;
use lilt_model::cluster::KubeContext;
use lilt_model::command::Command;
use lilt_tiltfile::{CommandOutput, DirEntry, System};
use tempfile::TempPath;

/// This machine.
#[derive(Clone, Debug)]
pub struct HostSystem {
    guardian: Guardian,
    kubeconfig: SessionKubeconfig,
}

impl HostSystem {
    /// Creates a system whose commands are started by the guardian and get the kubeconfig.
    pub fn new(guardian: Guardian, kubeconfig: SessionKubeconfig) -> Self {
        Self { guardian, kubeconfig }
    }
}

impl System for HostSystem {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        files::try_read(path)
    }

    fn list_directory(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let entries = files::list_with_types(path)?;
        Ok(entries.into_iter().map(|(path, is_dir)| DirEntry { path, is_dir }).collect())
    }

    fn is_dir(&self, path: &Path) -> bool {
        files::is_directory(path) == Some(true)
    }

    fn exists(&self, path: &Path) -> bool {
        files::is_directory(path).is_some()
    }

    fn start_directory(&self) -> Option<PathBuf> {
        environment::start_directory()
    }

    fn now(&self) -> Instant {
        clock::instant()
    }

    fn file_age(&self, path: &Path) -> Option<Duration> {
        files::age(path)
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        files::save(path, content)
    }

    fn temporary_file(&self, content: &[u8]) -> io::Result<TempPath> {
        files::temporary(".yml", content)
    }

    fn environment(&self) -> Vec<(String, String)> {
        environment::all()
    }

    fn kube_context(&self) -> Result<Option<KubeContext>, Failure> {
        self.kubeconfig.selected_context()
    }

    fn kube_contexts(&self) -> Result<Vec<KubeContext>, Failure> {
        lilt_cluster::kube_contexts()
    }

    fn command_kubeconfig(&self, needed: bool) -> Result<Option<PathBuf>, Failure> {
        self.kubeconfig.for_commands(needed)
    }

    fn arguments(&self) -> Vec<String> {
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
    }

    fn executable(&self) -> Option<PathBuf> {
        std::env::current_exe().ok()
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
        let output = run_blocking(&self.guardian, command, environment, stdin, cancelled, each_line)?;
        Ok(CommandOutput { exit_code: output.exit_code, stdout: output.stdout, stderr: output.stderr })
    }
}
