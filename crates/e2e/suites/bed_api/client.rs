//! kubectl as a client of a session.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_testbed_env::{Namespace, Project, Testbed};
use serde_json::Value;

pub(crate) struct Session {
    pub(crate) lilt: Lilt,
    config: PathBuf,
    project: Project,
}

impl Session {
    pub(crate) fn start(files: &[(&str, &str)]) -> Session {
        Session::begin(files, |start| start)
    }

    /// With the test bed's cluster, in this namespace.
    pub(crate) fn start_on(namespace: &Namespace, files: &[(&str, &str)]) -> Session {
        Session::begin(files, |start| start.in_namespace(namespace))
    }

    fn begin(files: &[(&str, &str)], with: impl FnOnce(Start) -> Start) -> Session {
        let project = Project::new(files);
        let config = project.file("config");
        let lilt = with(Start::up(&project)).variable("TILT_CONFIG", &config).start();
        lilt.wait_for_line("Successfully loaded Tiltfile");
        Session { lilt, config, project }
    }

    pub(crate) fn config(&self) -> &PathBuf {
        &self.config
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        self.project.write(file, content);
    }

    /// lilt's own command beside the session.
    pub(crate) fn command(&self, arguments: &[&str]) -> Start {
        Start::new(&self.project, arguments).with_home_of(&self.lilt).variable("TILT_CONFIG", &self.config)
    }

    /// The path of a file of the project.
    pub(crate) fn file(&self, file: &str) -> String {
        self.project.file(file).display().to_string()
    }

    pub(crate) fn context(&self) -> String {
        format!("tilt-{}", self.lilt.port())
    }

    /// What kubectl prints, or what it complains about.
    pub(crate) fn try_kubectl(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        self.kubectl_with(&[], arguments, input)
    }

    /// The same with variables.
    pub(crate) fn kubectl_with(
        &self,
        variables: &[(&str, &str)],
        arguments: &[&str],
        input: &str,
    ) -> Result<String, String> {
        let context = self.context();
        let mut child = Testbed::get()
            .command("kubectl")
            .arg("--kubeconfig")
            .arg(&self.config)
            .args(["--context", &context, "--cache-dir"])
            .arg(self.config.with_extension("cache"))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("kubectl reads");
        let output = child.wait_with_output().expect("kubectl ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    #[track_caller]
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.try_kubectl(arguments, "").unwrap_or_else(|error| panic!("kubectl {arguments:?}: {error}"))
    }

    #[track_caller]
    pub(crate) fn apply(&self, yaml: &str) -> String {
        self.try_kubectl(&["apply", "-f", "-"], yaml).unwrap_or_else(|error| panic!("kubectl apply: {error}"))
    }

    #[track_caller]
    pub(crate) fn get(&self, object: &str) -> Value {
        serde_json::from_str(&self.kubectl(&["get", object, "-o", "json"])).expect("JSON")
    }
}
