//! `PortForward` and `PodLogStream`: pods that are reached and heard; and how everything that looks into the cluster follows
//! namespaces.

use std::collections::{BTreeMap, BTreeSet};

use lilt_api::{Object, ObjectKey, reading};
use lilt_model::cluster::{Pod, PodPhase, PodRef};
use lilt_model::kubernetes::Forward;
use lilt_model::{ClusterName, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Made, Run, building, changed, discovery, resource_of, set_references};
use crate::event::ForwardState;
use crate::plan::Plan;
use crate::project::{forward_status, stream_statuses};
use crate::state::State;
use crate::task::{ForwardTarget, Task};

/// Kinds that need the cluster.
pub(super) const KINDS: [&str; 4] = ["KubernetesApply", "KubernetesDiscovery", "PodLogStream", "PortForward"];

/// What stands for a namespace among the things that objects name.
pub(super) fn namespace_key(namespace: &str) -> ObjectKey {
    ObjectKey::new("Namespace", namespace)
}

/// The cluster that an object names. One that the session does not have answers nothing.
pub(super) fn cluster_of(state: &State, object: &Object) -> ClusterName {
    match object.text("/spec/cluster") {
        "" => ClusterName::default(),
        named => state.clusters.named(named).cloned().unwrap_or_else(|| match named {
            "default" => ClusterName::default(),
            unknown => ClusterName::new(unknown),
        }),
    }
}

/// Why nothing can be done in a cluster yet.
pub(super) fn trouble(state: &State, cluster: &ClusterName) -> Option<String> {
    match state.clusters.has(cluster) {
        true => state.clusters.get(cluster).trouble(),
        false => Some(format!(
            "this session has no cluster {cluster}: k8s_resource(context=…) of the Tiltfile names those that it has"
        )),
    }
}

/// The namespaces that an object looks into.
pub(super) fn namespaces(state: &State, key: &ObjectKey, object: &Object) -> BTreeSet<String> {
    let cluster = state.clusters.get(&cluster_of(state, object));
    let or_default = |namespace: &str| match (namespace, &cluster.info) {
        ("", Some(info)) => info.namespace.clone(),
        (namespace, _) => namespace.to_owned(),
    };
    let named: Vec<String> = match key.kind.as_str() {
        "KubernetesDiscovery" => {
            let watches = object.get("/spec/watches").and_then(Value::as_array);
            let namespace = |watch: &Value| or_default(watch["namespace"].as_str().unwrap_or_default());
            watches.into_iter().flatten().map(namespace).collect()
        }
        _ => vec![or_default(object.text("/spec/namespace"))],
    };
    named.into_iter().filter(|namespace| !namespace.is_empty()).collect()
}

/// Follows what its object says; it is looked at again when a pod of its namespaces changes.
pub(super) fn follow(state: &mut State, key: &ObjectKey) {
    let Some(made) = state.objects.made.get(key) else { return };
    let namespaces = namespaces(state, key, &made.object);
    let forwards = forwards(&made.object);
    let cluster = cluster_of(state, &made.object);
    set_references(state, key, namespaces.iter().map(|namespace| namespace_key(namespace)).collect());
    if state.clusters.has(&cluster) {
        for namespace in namespaces {
            if state.clusters.get_mut(&cluster).namespaces.insert(namespace) {
                state.touch_session();
            }
        }
    }
    if let Some(Made { run: Run::Forwards(known), .. }) = state.objects.made.get_mut(key) {
        known.retain(|index, known| forwards.get(usize::from(*index)) == Some(&known.forward));
    }
    state.objects.touch(key);
    if key.kind == "KubernetesDiscovery" {
        discovery::manage(state, key);
    }
}

/// A pod of a namespace came, changed or went.
pub(crate) fn pod_changed(state: &mut State, namespace: &str) {
    changed(state, &namespace_key(namespace));
}

/// The cluster answers: what names no namespace has the context's now.
pub(crate) fn cluster_connected(state: &mut State) {
    let of_kind = |key: &&ObjectKey| {
        let kind = key.kind.as_str();
        KINDS.contains(&kind) || building::KINDS.contains(&kind) || kind == "LiveUpdate"
    };
    let keys: Vec<ObjectKey> = state.objects.made.keys().filter(of_kind).cloned().collect();
    for key in keys {
        super::reconsider(state, &key);
    }
}

/// What became of one forward of an object, by its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ForwardRun {
    /// As it is asked for.
    forward: Forward,
    /// The port that it has on this machine.
    local_port: u16,
    state: ForwardState,
    /// Since when it is so.
    since: Timestamp,
}

pub(crate) fn forward_changed(state: &mut State, name: &str, place: u16, local_port: u16, now: ForwardState) {
    let key = ObjectKey::new("PortForward", name);
    let since = state.now;
    let Some(Made { object, run: Run::Forwards(known), .. }) = state.objects.made.get_mut(&key) else {
        return;
    };
    let Some(forward) = forwards(object).into_iter().nth(usize::from(place)) else { return };
    known.insert(place, ForwardRun { forward, local_port, state: now, since });
    state.objects.touch(&key);
}

fn forwards(object: &Object) -> Vec<Forward> {
    reading::forwards(object.get("/spec"))
}

/// The pod that an object names, if it is there.
fn pod<'s>(
    state: &'s State,
    key: &ObjectKey,
    object: &Object,
    field: &str,
) -> Option<&'s std::sync::Arc<Pod>> {
    let namespace = namespaces(state, key, object).into_iter().next()?;
    let cluster = cluster_of(state, object);
    state.pods.known.get(&PodRef { cluster, namespace, name: object.text(field).to_owned() })
}

pub(super) fn plan(state: &State, key: &ObjectKey, object: &Object) -> Plan {
    let mut plan = Plan::new();
    if state.clusters.get(&cluster_of(state, object)).info.is_none() {
        return plan;
    }
    match key.kind.as_str() {
        "PortForward" => {
            let pod = pod(state, key, object, "/spec/podName");
            let pod = pod.filter(|pod| !pod.deleting && pod.phase == PodPhase::Running);
            for (place, forward) in (0..).zip(forwards(object)) {
                let port = forward.container_port;
                let target = pod.map(|pod| ForwardTarget { pod: pod.reference(), port });
                let (name, resource) = (key.name.clone(), resource_of(object));
                let cluster = cluster_of(state, object);
                plan.insert(Task::ObjectForward { name, resource, place, cluster, forward, target });
            }
        }
        "PodLogStream" => {
            if let Some(pod) = pod(state, key, object, "/spec/pod") {
                let since = Timestamp::from_rfc3339(object.text("/spec/sinceTime"));
                plan.insert(Task::Stream {
                    name: key.name.clone(),
                    resource: resource_of(object),
                    pod: std::sync::Arc::clone(pod),
                    only: object.texts("/spec/onlyContainers"),
                    ignored: object.texts("/spec/ignoreContainers"),
                    since,
                });
            }
        }
        _ => {}
    }
    plan
}

pub(super) fn tell(
    state: &State,
    key: &ObjectKey,
    object: &Object,
    runs: &BTreeMap<u16, ForwardRun>,
    status: &mut Map<String, Value>,
) {
    let trouble = trouble(state, &cluster_of(state, object));
    match key.kind.as_str() {
        "KubernetesDiscovery" => discovery::tell(state, key, object, status),
        "PortForward" => {
            let told = (0..).zip(forwards(object)).map(|(place, forward)| {
                let mut told = forward_content(&forward, runs.get(&place));
                if let Some(trouble) = &trouble {
                    told["error"] = json!(trouble);
                }
                told
            });
            status.insert("forwardStatuses".to_owned(), told.collect());
        }
        _ => tell_logs(state, key, object, trouble, status),
    }
}

/// With the port that was found where none was asked for.
fn forward_content(asked: &Forward, run: Option<&ForwardRun>) -> Value {
    let local_port = run.map_or(asked.local_port, |run| run.local_port);
    let mut told = forward_status(&Forward { local_port, ..asked.clone() }, run.map(|run| &run.state));
    if let Some(run) = run.filter(|run| run.state == ForwardState::Listening) {
        told["startedAt"] = json!(run.since);
    }
    told
}

fn tell_logs(
    state: &State,
    key: &ObjectKey,
    object: &Object,
    trouble: Option<String>,
    status: &mut Map<String, Value>,
) {
    let (only, ignored) = (object.texts("/spec/onlyContainers"), object.texts("/spec/ignoreContainers"));
    let is_shown = |name: &str| is_heard(name, &only, &ignored);
    match (trouble, pod(state, key, object, "/spec/pod")) {
        (None, Some(pod)) => {
            status.insert("containerStatuses".to_owned(), json!(stream_statuses(pod, is_shown)));
        }
        (trouble, _) => {
            let words = trouble.unwrap_or_else(|| format!("pod not found: {}", object.text("/spec/pod")));
            status.insert("error".to_owned(), json!(words));
        }
    }
}

/// Whether the log of a container is wanted.
pub fn is_heard(container: &str, only: &[String], ignored: &[String]) -> bool {
    (only.is_empty() || only.iter().any(|name| name == container))
        && !ignored.iter().any(|name| name == container)
}
