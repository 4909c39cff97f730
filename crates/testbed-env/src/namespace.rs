//! A namespace for one test.
//!
//! It is removed when the test ends, also by a panic. What a killed test left is removed by the next process that
//! makes one: namespaces carry their creator as labels.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::creator::Creator;
use crate::{Bed, Project};

const PID: &str = "lilt.test/creator-pid";
const STARTED: &str = "lilt.test/creator-started";

/// A namespace of the bed's cluster that belongs to one test.
#[derive(Debug)]
pub struct Namespace {
    bed: &'static Bed,
    name: String,
    kubeconfig: PathBuf,
    /// Holds the kubeconfig, and goes with the namespace.
    _settings: Project,
}

impl Namespace {
    pub(crate) fn create(bed: &'static Bed, topic: &str) -> Namespace {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(bed));
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let this = Creator::this();
        let name = format!("{topic}-{}-{}", this.pid, NUMBER.fetch_add(1, Ordering::Relaxed));
        let settings = Project::new(&[]);
        let kubeconfig = settings.file("kubeconfig");
        std::fs::copy(bed.kubeconfig(), &kubeconfig).expect("the bed's kubeconfig can be copied");
        // Made in one step with its labels: killed at any moment, the test leaves nothing that a sweep would miss.
        let manifest = format!(
            r#"{{"apiVersion": "v1", "kind": "Namespace", "metadata": {{"name": "{name}", "labels": {{"{PID}": "{}", "{STARTED}": "{}"}}}}}}"#,
            this.pid, this.started
        );
        settings.write("namespace.json", &manifest);
        bed.kubectl(&["create", "-f", &settings.file("namespace.json").to_string_lossy()]);
        let namespace = Namespace { bed, name, kubeconfig, _settings: settings };
        namespace.kubectl(&["config", "set-context", "--current", "--namespace", &namespace.name]);
        // Pods are refused until it is there.
        crate::eventually("the namespace has its service account", || {
            namespace.try_kubectl(&["get", "serviceaccount", "default"]).ok()
        });
        namespace
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A kubeconfig of this test's own, whose current context leads to this namespace.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Runs kubectl with this namespace as the default, and returns what it prints.
    ///
    /// # Panics
    /// If kubectl fails.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.try_kubectl(arguments).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// [`Namespace::kubectl`] that may fail; the error is what kubectl says.
    pub fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let kubeconfig = self.kubeconfig().to_string_lossy();
        let all: Vec<&str> =
            ["--kubeconfig", &kubeconfig].into_iter().chain(arguments.iter().copied()).collect();
        self.bed.try_kubectl(&all)
    }

    /// What a program that deploys into this namespace has in its environment.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let kubeconfig = self.kubeconfig().to_str().expect("temporary folders have UTF-8 names");
        self.bed.variables().filter(|(name, _)| *name != "KUBECONFIG").chain([("KUBECONFIG", kubeconfig)])
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Whoever cannot be reached now (a fault test may have stopped it) leaves this to the next sweep.
        let _ = remove(self.bed, &self.name);
    }
}

/// Starts the removal and does not wait: names are never used again.
fn remove(bed: &Bed, name: &str) -> Result<(), String> {
    bed.try_kubectl(&["delete", "namespace", name, "--wait=false", "--request-timeout=10s"])?;
    // Test images seldom obey SIGTERM, and would stay for half a minute each.
    bed.try_kubectl(&[
        "-n",
        name,
        "delete",
        "pods",
        "--all",
        "--grace-period=1",
        "--wait=false",
        "--request-timeout=10s",
    ])?;
    Ok(())
}

/// Removes the namespaces of processes that are no more.
fn sweep(bed: &Bed) {
    let columns = format!(
        "jsonpath={{range .items[*]}}{{.metadata.name}} {{.metadata.labels.{}}} {{.metadata.labels.{}}} {{.status.phase}}{{\"\\n\"}}{{end}}",
        PID.replace('.', "\\."),
        STARTED.replace('.', "\\.")
    );
    for line in bed.kubectl(&["get", "namespaces", "-l", PID, "-o", &columns]).lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, pid, started, "Active"] = fields[..] else { continue };
        if Creator::parse(pid, started).is_some_and(|creator| !creator.is_alive()) {
            // Another process may sweep it at the same time; gone is gone.
            let _ = remove(bed, name);
        }
    }
}
