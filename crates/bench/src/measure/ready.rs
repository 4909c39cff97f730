//! On the test bed: a pod becomes ready repeatedly. Measures when a second watcher of the cluster sees it, and when
//! the page does.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, WatchEvent, WatchParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use lilt_testbed_env::{Namespace, Project, Testbed, eventually};
use serde_json::{Value, json};

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::page;
use crate::samples::{Samples, milliseconds};

const TIMEOUT: Duration = Duration::from_secs(60);
/// A readiness gate of the pod.
const GATE: &str = "lilt.test/gate";

const YAML: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  readinessGates: [{conditionType: lilt.test/gate}]
  containers: [{name: main, image: busybox, command: [sleep, '987']}]
";

/// An observed readiness, with its time.
type Seen = (bool, Instant);

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let testbed = Testbed::get();
    let namespace = testbed.namespace("bench-ready");
    let project = Project::new(&[("Tiltfile", "k8s_yaml('web.yaml')\n"), ("web.yaml", YAML)]);
    let session = lilt.up(&project, namespace.variables());
    eventually("the pod runs", || {
        let phase = namespace.try_kubectl(&["get", "pod/web", "-o", "jsonpath={.status.phase}"]);
        phase.ok().filter(|phase| phase == "Running")
    });
    let (sender, in_cluster) = mpsc::channel();
    watch_cluster(&namespace, sender);
    let (sender, on_page) = mpsc::channel();
    let mut socket = page::connect(&session);
    std::thread::spawn(move || {
        while let Some(message) = page::read(&mut socket) {
            let heard =
                shown_ready(&message).is_none_or(|ready| sender.send((ready, Instant::now())).is_ok());
            if !heard {
                return;
            }
        }
    });
    let samples = Samples::collect(effort.samples(50), |_| {
        set_gate(&namespace, true);
        let (cluster, page) = (until(&in_cluster, true), until(&on_page, true));
        set_gate(&namespace, false);
        until(&in_cluster, false);
        until(&on_page, false);
        // The page may have been faster.
        milliseconds(page.saturating_duration_since(cluster))
    });
    drop(session);
    vec![
        Figure::new("pod-ready", "pod ready in the cluster → the page shows it", Unit::Milliseconds, samples)
            .at_most(50.0),
    ]
}

/// Returns when the readiness was first observed, ignoring earlier observations.
fn until(seen: &Receiver<Seen>, wanted: bool) -> Instant {
    loop {
        let (ready, at) = seen.recv_timeout(TIMEOUT).expect("it is seen");
        if ready == wanted {
            return at;
        }
    }
}

fn set_gate(namespace: &Namespace, open: bool) {
    let status = if open { "True" } else { "False" };
    let patch = json!({"status": {"conditions": [{"type": GATE, "status": status}]}}).to_string();
    namespace.kubectl(&["patch", "pod/web", "--subresource=status", "--type=strategic", "-p", &patch]);
}

fn shown_ready(message: &Value) -> Option<bool> {
    let mut resources = message["resources"].as_array()?.iter();
    let web = resources.find(|one| one["metadata"]["name"] == "web")?;
    Some(web["status"]["runtimeStatus"] == "ok")
}

/// The thread ends with the program.
fn watch_cluster(namespace: &Namespace, sender: Sender<Seen>) {
    let (kubeconfig, name) = (namespace.kubeconfig().to_owned(), namespace.name().to_owned());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime can be made").block_on(async move {
            let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            let client = kube::Client::try_from(config.expect("the kubeconfig is good")).expect("a client");
            follow(Api::namespaced(client, &name), &sender).await;
        });
    });
}

async fn follow(pods: Api<Pod>, sender: &Sender<Seen>) {
    let mut events = Box::pin(pods.watch(&WatchParams::default(), "0").await.expect("pods can be watched"));
    while let Ok(Some(event)) = events.try_next().await {
        let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event else { continue };
        let conditions = pod.status.and_then(|status| status.conditions).unwrap_or_default();
        let ready = conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True");
        if sender.send((ready, Instant::now())).is_err() {
            return;
        }
    }
}
