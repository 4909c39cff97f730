//! A namespace for one test.
//!
//! It is removed when the test ends, also by a panic. What a killed test left is removed by the next process that
//! makes one: namespaces carry their creator as labels.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::api::path_of;
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
        let settings = Project::new(&[("kubeconfig", &leading_to(&name, bed.kubeconfig()))]);
        let kubeconfig = settings.file("kubeconfig");
        // Made in one step with its labels: killed at any moment, the test leaves nothing that a sweep would miss.
        let labels = json!({PID: this.pid.to_string(), STARTED: this.started.to_string()});
        let manifest =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        bed.api
            .ask("POST", "/api/v1/namespaces", &manifest.to_string())
            .unwrap_or_else(|reason| panic!("{reason}"));
        let namespace = Namespace { bed, name, kubeconfig, _settings: settings };
        // Pods are refused until it is there.
        crate::eventually("the namespace has its service account", || {
            namespace.get("serviceaccount/default").ok()
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

    /// An object like `deployment/web`, or a list of all `pods`, without a kubectl; the error is what the cluster says.
    ///
    /// # Panics
    /// With a kind whose place in the API is not known here: kubectl knows them all.
    pub fn get(&self, object: &str) -> Result<Value, String> {
        self.bed.api.ask("GET", &path_of(&self.name, object), "")
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
    let path = path_of(name, &format!("namespace/{name}"));
    bed.api.ask("DELETE", &path, "")?;
    // Test images seldom obey SIGTERM, and would stay for half a minute each.
    let soon = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 1});
    bed.api.ask("DELETE", &path_of(name, "pods"), &soon.to_string())?;
    Ok(())
}

/// A kubeconfig with another namespace for its context. kubectl wrote it, always in the same form.
fn leading_to(namespace: &str, kubeconfig: &Path) -> String {
    let text = std::fs::read_to_string(kubeconfig).expect("the bed's kubeconfig can be read");
    let (before, after) = text.split_once("- context:\n").expect("the bed's kubeconfig has a context");
    format!("{before}- context:\n    namespace: {namespace}\n{after}")
}

/// Removes the namespaces of processes that are no more.
fn sweep(bed: &Bed) {
    let found =
        bed.api.ask("GET", &format!("/api/v1/namespaces?labelSelector={}", PID.replace('/', "%2F")), "");
    let found = found.unwrap_or_else(|reason| panic!("{reason}"));
    for namespace in found["items"].as_array().into_iter().flatten() {
        let text = |value: &'static str| namespace.pointer(value).and_then(Value::as_str).unwrap_or_default();
        let labels = &namespace["metadata"]["labels"];
        let label = |name: &str| labels[name].as_str().unwrap_or_default();
        if text("/status/phase") == "Active"
            && Creator::parse(label(PID), label(STARTED)).is_some_and(|creator| !creator.is_alive())
        {
            // Another process may sweep it at the same time; gone is gone.
            let _ = remove(bed, text("/metadata/name"));
        }
    }
}
