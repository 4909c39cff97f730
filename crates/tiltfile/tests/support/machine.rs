//! A machine for loads that write files and run commands: a temporary folder is its home.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use lilt_model::Failure;
use lilt_tiltfile::{LoadRequest, Loaded, load};
use tempfile::TempDir;

use super::TestSystem;

/// This machine with a folder of its own for what Tilt keeps, its own variables and its own programs.
pub(crate) struct Machine {
    pub(crate) folder: TempDir,
    pub(crate) system: TestSystem,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("programs");
        fs::create_dir(&programs).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let home = folder.path().display().to_string();
        let variables = [
            ("PATH", path.as_str()),
            ("HOME", &home),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "test"),
            ("GIT_CONFIG_KEY_1", "user.email"),
            ("GIT_CONFIG_VALUE_1", "test@example.test"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let data = folder.path().join("data").display().to_string();
        let environment = vec![("GREETING".into(), "hello".into()), ("XDG_DATA_HOME".into(), data)];
        let mut system = TestSystem::with_context("dev", "kind-dev");
        system.environment = Some(environment);
        system.command_variables = variables;
        Self { folder, system }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A stand-in for a program.
    pub(crate) fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(&format!("programs/{name}"), script);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn git(&self, folder: &Path, words: &[&str]) {
        let mut command = std::process::Command::new("git");
        let output = command
            .args(words)
            .current_dir(folder)
            .envs(self.system.command_variables.clone())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Redirects git from a URL to a folder.
    pub(crate) fn redirect(&mut self, address: &str, folder: &Path) {
        let set = |variables: &mut Vec<(String, String)>, name: &str, value: String| {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value));
        };
        let number: usize = self
            .system
            .command_variables
            .iter()
            .find(|(name, _)| name == "GIT_CONFIG_COUNT")
            .unwrap()
            .1
            .parse()
            .unwrap();
        let key = format!("url.file://{}.insteadOf", folder.display());
        set(&mut self.system.command_variables, &format!("GIT_CONFIG_KEY_{number}"), key);
        set(&mut self.system.command_variables, &format!("GIT_CONFIG_VALUE_{number}"), address.to_owned());
        set(&mut self.system.command_variables, "GIT_CONFIG_COUNT", (number + 1).to_string());
    }

    pub(crate) fn load(&self, tiltfile: &Path, subcommand: &str) -> (Loaded, String) {
        let request = LoadRequest {
            path: tiltfile.to_owned(),
            args: Vec::new(),
            subcommand: subcommand.into(),
            ..LoadRequest::default()
        };
        let mut printed = String::new();
        let loaded =
            load(&request, &self.system, &|| false, &mut |line| writeln!(printed, "{line}").unwrap());
        (loaded, printed)
    }

    /// Loads a text as the Tiltfile of a project; returns its output or the failure.
    pub(crate) fn load_text(&self, text: &str) -> Result<String, Failure> {
        let tiltfile = self.write("project/Tiltfile", text);
        let (loaded, printed) = self.load(&tiltfile, "up");
        loaded.project.map(|_| printed)
    }
}
