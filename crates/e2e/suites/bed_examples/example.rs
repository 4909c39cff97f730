//! A copy of an example project, in its own namespace.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lilt_e2e::lilt::Start;
use lilt_e2e::page::get;
use lilt_testbed_env::{Namespace, Project, Testbed, eventually, eventually_within, free_port};

/// Kubernetes begins its collection of what nobody owns over and over while kinds come and go, as those of other tests do.
const COLLECTED: Duration = Duration::from_secs(480);

pub(crate) struct Example {
    pub(crate) namespace: Namespace,
    pub(crate) project: Project,
    /// The variable from which its Tiltfile reads the local port.
    port: (&'static str, u16),
}

impl Example {
    pub(crate) fn new(name: &str, port: &'static str) -> Example {
        let project = Project::new(&[]);
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        copy(&examples.join(name), project.path());
        Example { namespace: Testbed::get().namespace(name), project, port: (port, free_port()) }
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Start {
        let (variable, port) = self.port;
        Start::new(&self.project, arguments)
            .in_namespace(&self.namespace)
            .variable(variable, port.to_string())
    }

    /// Runs scripts/example with this lilt.
    pub(crate) fn script(&self, arguments: &[&str]) -> Start {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/example");
        let (variable, port) = self.port;
        let start = Start::program(&script, &self.project, arguments).in_namespace(&self.namespace);
        start.variable(variable, port.to_string()).variable("LILT", env!("CARGO_BIN_EXE_lilt"))
    }

    /// Runs go in the project, for a program of the test's own.
    pub(crate) fn run_go(&self, arguments: &[&str]) {
        let mut go = Command::new("go");
        go.args(arguments).current_dir(self.project.path()).env("CGO_ENABLED", "0");
        go.envs(go_cache().map(|cache| ("GOCACHE", cache)));
        let output = go.output().expect("go is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// What Go compiled before need not be compiled again.
    pub(crate) fn with_go(&self, start: Start) -> Start {
        match go_cache() {
            Some(cache) => start.variable("GOCACHE", cache),
            None => start,
        }
    }

    /// Saves like an editor: writes a temporary file and renames it.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) {
        let text = self.project.read(file);
        assert!(text.contains(from), "{file} has no {from:?}");
        let aside = format!("{file}~");
        self.project.write(&aside, &text.replacen(from, to, 1));
        let rights = std::fs::metadata(self.project.file(file)).expect("it is there").permissions();
        std::fs::set_permissions(self.project.file(&aside), rights).expect("it is ours");
        std::fs::rename(self.project.file(&aside), self.project.file(file)).expect("a rename");
    }

    /// Waits until a response through the port forward contains a text.
    pub(crate) fn serves(&self, path: &str, words: &str) {
        eventually(&format!("{path} answers {words:?}"), || {
            get(self.port.1, path).filter(|answer| answer.contains(words))
        });
    }

    /// Returns the only pod of a deployment.
    pub(crate) fn pod(&self, app: &str) -> String {
        eventually(&format!("{app} has one pod"), || {
            let label = format!("app={app}");
            let names = self.namespace.kubectl(&["get", "pods", "-l", &label, "-o", "name"]);
            (names.lines().count() == 1).then(|| names.trim().to_owned())
        })
    }

    /// Waits until no deployed object is left.
    pub(crate) fn leaves_nothing(&self) {
        self.leaves_only(&[]);
    }

    /// Waits until only these objects (`secret/login`) are left.
    pub(crate) fn leaves_only(&self, kept: &[&str]) {
        let kinds = "deployments,services,pods,jobs,secrets,configmaps,roles,rolebindings,serviceaccounts";
        eventually_within(COLLECTED, &format!("nothing is left in the namespace but {kept:?}"), || {
            let left = self.namespace.kubectl(&["get", kinds, "-o", "name"]);
            let ours =
                |line: &&str| !matches!(*line, "configmap/kube-root-ca.crt" | "serviceaccount/default");
            left.lines().filter(ours).eq(kept.iter().copied()).then_some(())
        });
    }
}

fn go_cache() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    Some(Path::new(&home).join(".cache/go-build"))
}

/// A kind that an example defines. It is the whole cluster's, so it belongs to one test at a time; and objects that wait for an
/// deleted operator would block their namespace forever.
pub(crate) struct Kind<'a> {
    example: &'a Example,
    definition: &'static str,
    _exclusive: File,
}

impl<'a> Kind<'a> {
    pub(crate) fn new(example: &'a Example, definition: &'static str) -> Kind<'a> {
        let path = std::env::temp_dir().join(format!("lilt-test-of-{definition}"));
        let alone = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        alone.lock().unwrap_or_else(|error| panic!("{} cannot be locked: {error}", path.display()));
        let kind = Kind { example, definition, _exclusive: alone };
        kind.clear();
        kind
    }

    pub(crate) fn is_defined(&self) -> bool {
        self.example.namespace.try_kubectl(&["get", "crd", self.definition]).is_ok()
    }

    fn clear(&self) {
        let kubectl = |arguments: &[&str]| self.example.namespace.try_kubectl(arguments);
        if !self.is_defined() {
            return;
        }
        let columns = "jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}";
        let objects = kubectl(&["get", self.definition, "-A", "-o", columns]).unwrap_or_default();
        let free = r#"{"metadata":{"finalizers":null}}"#;
        for (namespace, name) in objects.lines().filter_map(|line| line.split_once(' ')) {
            // It may go by itself in this moment.
            let _ =
                kubectl(&["patch", self.definition, name, "-n", namespace, "--type", "merge", "-p", free]);
        }
        let _ = kubectl(&["delete", "crd", self.definition, "--ignore-not-found"]);
    }
}

impl Drop for Kind<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("an example") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name());
        // What somebody made by hand, or lilt for them.
        if ["bin", "crds", ".pycache", "tilt-settings.yaml", "tilt_config.json"]
            .iter()
            .any(|made| name == *made)
        {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).expect("a copy");
        }
    }
}
