//! `KubernetesDiscovery`, `PortForward` and `PodLogStream`: pods that are looked for, reached and heard.

use std::collections::{BTreeMap, BTreeSet};

use lilt_model::ResourceName;
use lilt_model::api::{Object, ObjectKey};
use lilt_model::cluster::{Pod, PodPhase, PodRef};
use lilt_model::kubernetes::Forward;
use serde_json::{Map, Value, json};

use super::{Made, RESOURCE, Run, changed, set_references};
use crate::event::ForwardState;
use crate::plan::Plan;
use crate::project::{forward_status, pod_status, stream_statuses};
use crate::state::State;
use crate::task::{ForwardTarget, TaskId, TaskSpec};

/// Kinds that need the cluster.
pub(super) const KINDS: [&str; 4] = ["KubernetesApply", "KubernetesDiscovery", "PodLogStream", "PortForward"];

/// What stands for a namespace among the things that objects name.
fn namespace_key(namespace: &str) -> ObjectKey {
    ObjectKey::new("Namespace", namespace)
}

/// The namespaces that an object looks into.
fn namespaces(state: &State, key: &ObjectKey, object: &Object) -> BTreeSet<String> {
    let or_default = |namespace: &str| match (namespace, &state.cluster.info) {
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
    let wanted: BTreeSet<u16> = forwards(&made.object).iter().map(|forward| forward.local_port).collect();
    set_references(state, key, namespaces.iter().map(|namespace| namespace_key(namespace)).collect());
    for namespace in namespaces {
        if state.cluster.namespaces.insert(namespace) {
            state.touch_session();
        }
    }
    if let Some(Made { run: Run::Forwards(states), .. }) = state.objects.made.get_mut(key) {
        states.retain(|port, _| wanted.contains(port));
    }
    state.objects.touch(key);
}

/// A pod of a namespace came, changed or went.
pub(crate) fn pod_changed(state: &mut State, namespace: &str) {
    changed(state, &namespace_key(namespace));
}

/// The cluster answers: what names no namespace has the context's now.
pub(crate) fn cluster_connected(state: &mut State) {
    let of_kind = |key: &&ObjectKey| KINDS.contains(&key.kind.as_str());
    let keys: Vec<ObjectKey> = state.objects.made.keys().filter(of_kind).cloned().collect();
    for key in keys {
        super::reconsider(state, &key);
    }
}

pub(crate) fn forward_changed(state: &mut State, name: &str, port: u16, forward: ForwardState) {
    let key = ObjectKey::new("PortForward", name);
    if let Some(Made { run: Run::Forwards(states), .. }) = state.objects.made.get_mut(&key) {
        states.insert(port, forward);
        state.objects.touch(&key);
    }
}

fn forwards(object: &Object) -> Vec<Forward> {
    let forwards = object.get("/spec/forwards").and_then(Value::as_array);
    let port = |forward: &Value, field: &str| {
        forward[field].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(0)
    };
    let text = |forward: &Value, field: &str| forward[field].as_str().unwrap_or_default().to_owned();
    forwards
        .into_iter()
        .flatten()
        .map(|forward| Forward {
            host: text(forward, "host"),
            local_port: port(forward, "localPort"),
            container_port: port(forward, "containerPort"),
            name: text(forward, "name"),
            path: text(forward, "path"),
        })
        .collect()
}

/// The pod that an object names, if it is there.
fn pod<'s>(
    state: &'s State,
    key: &ObjectKey,
    object: &Object,
    field: &str,
) -> Option<&'s std::sync::Arc<Pod>> {
    let namespace = namespaces(state, key, object).into_iter().next()?;
    state.pods.known.get(&PodRef { namespace, name: object.text(field).to_owned() })
}

fn resource(object: &Object) -> ResourceName {
    object.annotation(RESOURCE).map_or_else(ResourceName::tiltfile, ResourceName::new)
}

pub(super) fn plan(state: &State, key: &ObjectKey, object: &Object) -> Plan {
    let mut plan = Plan::new();
    if state.cluster.info.is_none() {
        return plan;
    }
    match key.kind.as_str() {
        "PortForward" => {
            let pod = pod(state, key, object, "/spec/podName");
            let pod = pod.filter(|pod| !pod.deleting && pod.phase == PodPhase::Running);
            for forward in forwards(object).into_iter().filter(|forward| forward.local_port != 0) {
                let (port, local) = (forward.container_port, forward.local_port);
                let target = pod.map(|pod| ForwardTarget { pod: pod.reference(), port });
                let spec = TaskSpec::Forward { forward, target };
                plan.insert(TaskId::ObjectForward(key.name.clone(), resource(object), local), spec);
            }
        }
        "PodLogStream" => {
            if let Some(pod) = pod(state, key, object, "/spec/pod") {
                let since = lilt_model::Timestamp::from_rfc3339(object.text("/spec/sinceTime"));
                let spec = TaskSpec::Stream {
                    pod: std::sync::Arc::clone(pod),
                    only: object.texts("/spec/onlyContainers"),
                    ignored: object.texts("/spec/ignoreContainers"),
                    since,
                };
                plan.insert(TaskId::Stream(key.name.clone(), resource(object)), spec);
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
    states: &BTreeMap<u16, ForwardState>,
    status: &mut Map<String, Value>,
) {
    let trouble = match (&state.cluster.info, &state.cluster.failure) {
        (None, Some(failure)) => Some(failure.to_string()),
        (None, None) => Some("the cluster has not answered yet".to_owned()),
        (Some(_), _) => None,
    };
    match key.kind.as_str() {
        "KubernetesDiscovery" => tell_pods(state, key, object, trouble.is_some(), status),
        "PortForward" => {
            let unnumbered = "localPort is needed: lilt chooses none";
            let told = forwards(object).into_iter().map(|forward| {
                let mut told = forward_status(&forward, states.get(&forward.local_port));
                if forward.local_port == 0 {
                    told["error"] = json!(unnumbered);
                } else if let Some(trouble) = &trouble {
                    told["error"] = json!(trouble);
                }
                told
            });
            status.insert("forwardStatuses".to_owned(), told.collect());
        }
        _ => tell_logs(state, key, object, trouble, status),
    }
}

fn tell_pods(
    state: &State,
    key: &ObjectKey,
    object: &Object,
    is_waiting: bool,
    status: &mut Map<String, Value>,
) {
    let namespaces = namespaces(state, key, object);
    let pods = namespaces.iter().flat_map(|namespace| state.pods.of_namespace(namespace));
    let pods: Vec<Value> = pods.filter(|pod| is_watched(pod, object)).map(|pod| pod_status(pod)).collect();
    status.insert("pods".to_owned(), json!(pods));
    if is_waiting {
        status.insert("waiting".to_owned(), json!({"reason": "ClusterUnavailable"}));
    } else if let Some(since) = state.cluster.connected {
        status.insert("monitorStartTime".to_owned(), json!(since));
        status.insert("running".to_owned(), json!({"startTime": since}));
    }
}

/// By what made it, or by its labels.
fn is_watched(pod: &Pod, object: &Object) -> bool {
    let watches = object.get("/spec/watches").and_then(Value::as_array);
    let mut uids = watches.into_iter().flatten().filter_map(|watch| watch["uid"].as_str());
    let selectors = object.get("/spec/extraSelectors").and_then(Value::as_array);
    uids.any(|uid| {
        !uid.is_empty() && (pod.uid.as_str() == uid || pod.owners.iter().any(|it| it.as_str() == uid))
    }) || selectors.into_iter().flatten().any(|selector| selects(selector, &pod.labels))
}

fn selects(selector: &Value, labels: &BTreeMap<String, String>) -> bool {
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let mut wanted = wanted.map(|(name, value)| labels.get(name).map(String::as_str) == value.as_str());
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    wanted.all(|met| met) && expressions.into_iter().all(|expression| meets(expression, labels))
}

fn meets(expression: &Value, labels: &BTreeMap<String, String>) -> bool {
    let found = labels.get(expression["key"].as_str().unwrap_or_default());
    let values = expression["values"].as_array();
    let is_among = || values.into_iter().flatten().any(|value| value.as_str() == found.map(String::as_str));
    match expression["operator"].as_str() {
        Some("In") => is_among(),
        Some("NotIn") => !is_among(),
        Some("Exists") => found.is_some(),
        Some("DoesNotExist") => found.is_none(),
        _ => false,
    }
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
