//! `KubernetesDiscovery`: pods that are looked for, with the objects that hear and reach those that are found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lilt_api::{Object, ObjectKey, owner_reference, reading};
use lilt_model::cluster::{Pod, PodRef};
use serde_json::{Map, Value, json};

use super::pods::{cluster_of, namespaces};
use super::{ANNOTATION_RESOURCE, ObjectRecord, Origin, delete, log_resource, owners, put};
use crate::controllers::port_forward::target_among;
use crate::project::pod_status;
use crate::state::State;

/// The pods that an object looks for and that are there.
pub(super) fn found<'s>(state: &'s State, key: &ObjectKey, object: &Object) -> Vec<&'s Arc<Pod>> {
    let namespaces = namespaces(state, key, object);
    let cluster = cluster_of(state, object);
    let pods = namespaces.iter().flat_map(|namespace| state.pods.of_namespace(&cluster, namespace));
    pods.filter(|pod| is_watched(pod, object)).collect()
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

pub(super) fn tell(state: &State, key: &ObjectKey, object: &Object, status: &mut Map<String, Value>) {
    let pods: Vec<Value> = found(state, key, object).into_iter().map(|pod| pod_status(pod)).collect();
    status.insert("pods".to_owned(), json!(pods));
    let cluster = state.clusters.get(&cluster_of(state, object));
    if cluster.info.is_none() {
        status.insert("waiting".to_owned(), json!({"reason": "ClusterUnavailable"}));
    } else if let Some(since) = cluster.connected {
        status.insert("monitorStartTime".to_owned(), json!(since));
        status.insert("running".to_owned(), json!({"startTime": since}));
    }
}

/// Makes the log stream of every pod that is found and the forwards to the best of them, and ends those of others.
pub(super) fn manage(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, uid, .. }) = state.objects.made.get(key) else { return };
    let (object, uid) = (object.clone(), uid.clone());
    let pods: Vec<Arc<Pod>> = found(state, key, &object).into_iter().cloned().collect();
    let mut wanted: BTreeMap<ObjectKey, Value> = BTreeMap::new();
    for pod in &pods {
        let name = format!("{}-{}-{}", key.name, pod.namespace, pod.name);
        wanted.insert(ObjectKey::new("PodLogStream", name), log_stream(pod, &object));
    }
    wanted.extend(port_forwards(key, &object, &pods));
    let own: BTreeSet<ObjectKey> = owners::owned(state, &uid).into_iter().collect();
    for gone in own.iter().filter(|it| is_managed(it) && !wanted.contains_key(it)) {
        delete(state, gone, false);
    }
    for (made, spec) in wanted {
        let known = state.objects.made.get(&made).map(|known| known.object.clone());
        // One that somebody else made is theirs, and a stream may be changed by hand.
        let is_kept = |known: &Object| {
            !own.contains(&made) || made.kind == "PodLogStream" || known.get("/spec") == Some(&spec)
        };
        if known.as_ref().is_some_and(is_kept) {
            continue;
        }
        let mut fresh = known.unwrap_or_else(|| Object::named(&made.name));
        fresh.annotate_unless_said(ANNOTATION_RESOURCE, log_resource(&object).as_str());
        fresh.metadata.insert("ownerReferences".to_owned(), json!([owner_reference(key, &uid)]));
        fresh.content.insert("spec".to_owned(), spec);
        let sequence = state.next_sequence();
        put(state, made, fresh, format!("discovery-{sequence}"), Origin::Object);
    }
}

fn is_managed(key: &ObjectKey) -> bool {
    matches!(key.kind.as_str(), "PodLogStream" | "PortForward")
}

fn cluster(object: &Object) -> &str {
    match object.text("/spec/cluster") {
        "" => "default",
        named => named,
    }
}

fn log_stream(pod: &Pod, discovery: &Object) -> Value {
    let mut spec = json!({"pod": pod.name, "namespace": pod.namespace, "cluster": cluster(discovery)});
    for field in ["sinceTime", "ignoreContainers", "onlyContainers"] {
        let said = discovery.get(&format!("/spec/podLogStreamTemplateSpec/{field}"));
        if let Some(value) = said.filter(|value| !value.is_null()) {
            spec[field] = value.clone();
        }
    }
    spec
}

/// Returns the `PortForward` objects: one for each pod that is forwarded to.
fn port_forwards(key: &ObjectKey, discovery: &Object, pods: &[Arc<Pod>]) -> BTreeMap<ObjectKey, Value> {
    let template = discovery.get("/spec/portForwardTemplateSpec");
    let written = template.and_then(|template| template["forwards"].as_array()).into_iter().flatten();
    let mut forwarded: BTreeMap<PodRef, Vec<Value>> = BTreeMap::new();
    for (written, forward) in written.zip(reading::forwards(template)) {
        if let Some(target) = target_among(pods.iter().map(|pod| &**pod), &forward) {
            let mut resolved = written.clone();
            resolved["containerPort"] = json!(target.port);
            forwarded.entry(target.pod).or_default().push(resolved);
        }
    }
    let object = |(pod, forwards): (PodRef, Vec<Value>)| {
        let (name, cluster) = (format!("{}-{}", key.name, pod.name), cluster(discovery));
        let spec = json!({
            "podName": pod.name, "namespace": pod.namespace, "cluster": cluster, "forwards": forwards,
        });
        (ObjectKey::new("PortForward", name), spec)
    };
    forwarded.into_iter().map(object).collect()
}
