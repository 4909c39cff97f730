//! `KubernetesDiscovery`, `PortForward` and `PodLogStream`: which pods they mean, and how everything that looks into the
//! cluster follows namespaces.

use std::collections::BTreeSet;
use std::sync::Arc;

use lilt_api::{Object, ObjectKey, reading};
use lilt_model::ClusterName;
use lilt_model::cluster::{Pod, PodRef};
use serde_json::{Map, Value};

use super::{building, changed, discovery, set_references};
use crate::controllers::{log_stream, port_forward};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::state::State;

/// Kinds that need the cluster.
pub(super) const KINDS: [&str; 4] = ["KubernetesApply", "KubernetesDiscovery", "PodLogStream", "PortForward"];

/// What stands for a namespace among the things that objects name.
pub(super) fn namespace_key(namespace: &str) -> ObjectKey {
    ObjectKey::new("Namespace", namespace)
}

/// The cluster that an object names. One that the session does not have answers nothing.
pub(crate) fn cluster_of(state: &State, object: &Object) -> ClusterName {
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
    let cluster = cluster_of(state, &made.object);
    set_references(state, key, namespaces.iter().map(|namespace| namespace_key(namespace)).collect());
    if state.clusters.has(&cluster) {
        for namespace in namespaces {
            if state.clusters.get_mut(&cluster).namespaces.insert(namespace) {
                state.touch_session();
            }
        }
    }
    port_forward::reconcile(state, &Owner::from(key));
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

/// The pod that an object names, if it is there.
pub(crate) fn named_pod<'s>(
    state: &'s State,
    key: &ObjectKey,
    object: &Object,
    field: &str,
) -> Option<&'s Arc<Pod>> {
    let namespace = namespaces(state, key, object).into_iter().next()?;
    let cluster = cluster_of(state, object);
    state.pods.known.get(&PodRef { cluster, namespace, name: object.text(field).to_owned() })
}

pub(super) fn plan(state: &State, key: &ObjectKey) -> Plan {
    let owner = Owner::from(key);
    match key.kind.as_str() {
        "PortForward" => port_forward::plan(state, &owner),
        "PodLogStream" => log_stream::plan(state, &owner),
        _ => Plan::new(),
    }
}

pub(super) fn tell(state: &State, key: &ObjectKey, object: &Object, status: &mut Map<String, Value>) {
    let trouble = trouble(state, &cluster_of(state, object));
    match key.kind.as_str() {
        "KubernetesDiscovery" => discovery::tell(state, key, object, status),
        "PortForward" => {
            let forwards = reading::forwards(object.get("/spec"));
            let statuses = port_forward::status(state, &Owner::from(key), forwards, trouble.as_deref());
            status.insert("forwardStatuses".to_owned(), statuses);
        }
        _ => log_stream::status(state, key, trouble, status),
    }
}
