//! A namespace for one test.
//!
//! It is removed when the test ends, also by a panic. What a killed test left is removed by the next process that
//! creates one: namespaces have their creator as labels.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::api::path_of;
use crate::creator::Creator;
use crate::{Project, Testbed};

const PID: &str = "lilt.test/creator-pid";
const STARTED: &str = "lilt.test/creator-started";

/// A namespace of the test bed's cluster for one test.
#[derive(Debug)]
pub struct Namespace {
    testbed: &'static Testbed,
    name: String,
    kubeconfig: PathBuf,
    /// The folder of the kubeconfig.
    _settings: Project,
}

impl Namespace {
    pub(crate) fn create(testbed: &'static Testbed, topic: &str) -> Namespace {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(testbed));
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let this = Creator::this();
        let name = format!("{topic}-{}-{}", this.pid, NUMBER.fetch_add(1, Ordering::Relaxed));
        let settings = Project::new(&[("kubeconfig", &leading_to(&name, testbed.kubeconfig()))]);
        let kubeconfig = settings.file("kubeconfig");
        // Created with its labels in one step, so that a killed test leaves nothing that a sweep would miss.
        let labels = json!({PID: this.pid.to_string(), STARTED: this.started.to_string()});
        let manifest =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        testbed
            .api
            .ask("POST", "/api/v1/namespaces", &manifest.to_string())
            .unwrap_or_else(|reason| panic!("{reason}"));
        let namespace = Namespace { testbed, name, kubeconfig, _settings: settings };
        // Pods are refused until it exists.
        crate::eventually("the namespace has its service account", || {
            namespace.get("serviceaccount/default").ok()
        });
        namespace
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kubeconfig of this test, whose current context has this namespace.
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
        self.testbed.try_kubectl(&all)
    }

    /// An object like `deployment/web`, or a list of all `pods`, without a kubectl; the error is what the cluster says.
    ///
    /// # Panics
    /// For a kind whose API path is not known here; use kubectl for those.
    pub fn get(&self, object: &str) -> Result<Value, String> {
        self.testbed.api.ask("GET", &path_of(&self.name, object), "")
    }

    /// Returns the environment variables for programs that deploy into this namespace.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let kubeconfig = self.kubeconfig().to_str().expect("temporary folders have UTF-8 names");
        self.testbed.variables().filter(|(name, _)| *name != "KUBECONFIG").chain([("KUBECONFIG", kubeconfig)])
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // If the API server is unreachable (a fault test may have stopped it), the next sweep deletes it.
        let _ = remove(self.testbed, &self.name);
    }
}

/// Starts the deletion and does not wait: names are never reused.
fn remove(testbed: &Testbed, name: &str) -> Result<(), String> {
    let path = path_of(name, &format!("namespace/{name}"));
    testbed.api.ask("DELETE", &path, "")?;
    // Most test images ignore SIGTERM, and would delay the deletion by half a minute.
    let soon = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 1});
    testbed.api.ask("DELETE", &path_of(name, "pods"), &soon.to_string())?;
    Ok(())
}

/// Replaces the namespace in a kubeconfig written by kubectl, which always has the same format.
fn leading_to(namespace: &str, kubeconfig: &Path) -> String {
    let text = std::fs::read_to_string(kubeconfig).expect("the bed's kubeconfig can be read");
    let (before, after) = text.split_once("- context:\n").expect("the bed's kubeconfig has a context");
    format!("{before}- context:\n    namespace: {namespace}\n{after}")
}

/// Deletes the namespaces of processes that have ended.
fn sweep(testbed: &Testbed) {
    let found =
        testbed.api.ask("GET", &format!("/api/v1/namespaces?labelSelector={}", PID.replace('/', "%2F")), "");
    let found = found.unwrap_or_else(|reason| panic!("{reason}"));
    for namespace in found["items"].as_array().into_iter().flatten() {
        let text = |value: &'static str| namespace.pointer(value).and_then(Value::as_str).unwrap_or_default();
        let labels = &namespace["metadata"]["labels"];
        let label = |name: &str| labels[name].as_str().unwrap_or_default();
        if text("/status/phase") == "Active"
            && Creator::parse(label(PID), label(STARTED)).is_some_and(|creator| !creator.is_alive())
        {
            // Another process may sweep it at the same time.
            let _ = remove(testbed, text("/metadata/name"));
        }
    }
}
