//! A namespace for each test, removed afterwards, also when the test fails.
#![allow(dead_code, reason = "each test target uses a part of it")]

use std::process::Command;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use lilt_cluster::{Cluster, ConnectOptions, NamespaceEvent, NamespaceWatch};
use lilt_model::Timestamp;
use lilt_model::cluster::{Pod, PodRef};
use serde_json::{Value, json};

/// Far longer than anything here takes; only reached when something never happens.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Space {
    pub(crate) cluster: Cluster,
    pub(crate) name: String,
}

impl Space {
    pub(crate) async fn new(purpose: &str) -> Self {
        assert!(
            std::env::var_os("KUBECONFIG").is_some(),
            "the test bed is not there: run `testbed/testbed up` and `eval \"$(testbed/testbed env)\"` first"
        );
        let name = format!("lilt-{purpose}-{}-{}", std::process::id(), unique());
        let options = ConnectOptions { namespace: Some(name.clone()), ..ConnectOptions::default() };
        let cluster = Cluster::connect(options).await.expect("the bed's kubeconfig is valid");
        let space = Self { cluster, name };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space.name}});
        space.cluster.apply(&[namespace], DEADLINE).await.expect("the bed is up");
        // Pods are rejected until the namespace has its default service account.
        space.until_default_account().await;
        space
    }

    async fn until_default_account(&self) {
        let probe = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        self.cluster.apply(&[probe], DEADLINE).await.expect("a service account can be made");
    }

    pub(crate) async fn apply(&self, object: Value) -> lilt_cluster::Applied {
        self.cluster.apply(&[object], DEADLINE).await.unwrap_or_else(|failure| panic!("{failure}")).remove(0)
    }

    pub(crate) fn pod(&self, name: &str) -> PodRef {
        PodRef { namespace: self.name.clone(), name: name.to_owned(), ..PodRef::default() }
    }

    pub(crate) fn watch(&self) -> NamespaceWatch {
        self.cluster.watch_namespace(&self.name, Timestamp::ZERO)
    }

    /// Applies a pod that runs a shell command, and waits until `wanted`.
    pub(crate) async fn start(&self, image: &str, command: &str, wanted: impl Fn(&Pod) -> bool) -> Pod {
        let mut watch = self.watch();
        self.apply(pod("main", image, command)).await;
        until_pod(&mut watch, |pod| pod.name == "main" && wanted(pod)).await
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // Not through the crate under test, which may be broken.
        let _ = Command::new("kubectl")
            .args(["delete", "namespace", &self.name, "--wait=false", "--ignore-not-found"])
            .output();
    }
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A pod with one container `main` that is killed without a grace period.
pub(crate) fn pod(name: &str, image: &str, command: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 0, "restartPolicy": "Never",
            "containers": [{"name": "main", "image": image, "command": ["sh", "-c", command]}]
        }
    })
}

pub(crate) fn running(pod: &Pod) -> bool {
    pod.ready
}

/// Returns the next item; panics with `what` if none arrives.
pub(crate) async fn next<S: Stream + Unpin>(stream: &mut S, what: &str) -> S::Item {
    tokio::time::timeout(DEADLINE, stream.next())
        .await
        .unwrap_or_else(|_| panic!("nothing came while waiting for {what}"))
        .unwrap_or_else(|| panic!("the stream ended while waiting for {what}"))
}

pub(crate) async fn until_pod(watch: &mut NamespaceWatch, wanted: impl Fn(&Pod) -> bool) -> Pod {
    let mut last = None;
    let search = async {
        loop {
            match watch.next().await.expect("a watch does not end") {
                NamespaceEvent::PodsListed(pods) => {
                    if let Some(pod) = pods.into_iter().find(|pod| wanted(pod)) {
                        return pod;
                    }
                }
                NamespaceEvent::PodChanged(pod) if wanted(&pod) => return pod,
                other => last = Some(other),
            }
        }
    };
    match tokio::time::timeout(DEADLINE, search).await {
        Ok(pod) => pod,
        Err(_) => panic!("no pod became as wanted; last seen: {last:?}"),
    }
}

pub(crate) fn testbed(arguments: &[&str]) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbed/testbed");
    let output = Command::new(program).args(arguments).output().expect("the testbed script is there");
    assert!(output.status.success(), "testbed {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
