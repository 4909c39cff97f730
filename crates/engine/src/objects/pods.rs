//! `KubernetesDiscovery`, `PortForward` and `PodLogStream`: the pods they select, and the namespaces they
//! need watched.

use std::collections::BTreeSet;
use std::sync::Arc;

use lilt_api::{Content, KubernetesDiscoverySpec, ObjectKey, ObjectKind, PortForwardStatus};
use lilt_model::ClusterName;
use lilt_model::cluster::{Pod, PodRef};
use lilt_model::kubernetes::Forward;

use super::references::{Reference, reference_changed};
use super::{discovery, set_references};
use crate::controllers::port_forward;
use crate::owner::Owner;
use crate::state::State;

/// Kinds that need the cluster.
pub(super) const KINDS: [ObjectKind; 4] = [
    ObjectKind::KubernetesApply,
    ObjectKind::KubernetesDiscovery,
    ObjectKind::PodLogStream,
    ObjectKind::PortForward,
];

/// Returns the cluster that an object names. One that the session does not have has no pods.
pub(crate) fn cluster_named(state: &State, name: &str) -> ClusterName {
    match name {
        "" => ClusterName::default(),
        named => state.clusters.named(named).cloned().unwrap_or_else(|| match named {
            "default" => ClusterName::default(),
            unknown => ClusterName::new(unknown),
        }),
    }
}

/// Returns the reason why a cluster cannot be used yet.
pub(crate) fn cluster_trouble(state: &State, cluster: &ClusterName) -> Option<String> {
    match state.clusters.has(cluster) {
        true => state.clusters.get(cluster).trouble(),
        false => Some(format!(
            "this session has no cluster {cluster}: k8s_resource(context=…) of the Tiltfile names those that it has"
        )),
    }
}

/// Returns the namespaces in which a `KubernetesDiscovery` finds pods.
pub(crate) fn discovery_namespaces(state: &State, spec: &KubernetesDiscoverySpec) -> BTreeSet<String> {
    let cluster = cluster_named(state, &spec.cluster);
    let namespaces = spec.watches.iter().map(|watch| namespace_or_default(state, &cluster, &watch.namespace));
    namespaces.flatten().collect()
}

/// Returns `namespace`, or that of the kubeconfig context; none as long as that is not known.
fn namespace_or_default(state: &State, cluster: &ClusterName, namespace: &str) -> Option<String> {
    let namespace = match (namespace, &state.clusters.get(cluster).info) {
        ("", Some(info)) => info.namespace.as_str(),
        (namespace, _) => namespace,
    };
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

/// Applies the content of an object. It is evaluated again when a pod of its namespaces changes.
pub(super) fn follow(state: &mut State, key: &ObjectKey) {
    let Some(record) = state.objects.records.get(key) else { return };
    let (cluster, namespaces) = match &record.content {
        Content::KubernetesDiscovery(discovery) => {
            let namespaces = discovery_namespaces(state, &discovery.spec);
            (cluster_named(state, &discovery.spec.cluster), namespaces)
        }
        Content::PodLogStream(stream) => {
            let cluster = cluster_named(state, &stream.spec.cluster);
            let namespace = namespace_or_default(state, &cluster, &stream.spec.namespace);
            (cluster, namespace.into_iter().collect())
        }
        Content::PortForward(forward) => {
            let cluster = cluster_named(state, &forward.spec.cluster);
            let namespace = namespace_or_default(state, &cluster, &forward.spec.namespace);
            (cluster, namespace.into_iter().collect())
        }
        _ => return,
    };
    set_references(state, key, namespaces.iter().cloned().map(Reference::Namespace).collect());
    if state.clusters.has(&cluster) {
        for namespace in namespaces {
            if state.clusters.get_mut(&cluster).namespaces.insert(namespace) {
                state.touch_session();
            }
        }
    }
    port_forward::reconcile(state, &Owner::from(key));
    state.objects.touch(key);
    if key.kind == ObjectKind::KubernetesDiscovery {
        discovery::manage(state, key);
    }
}

/// Handles the creation, change or deletion of a pod of a namespace.
pub(crate) fn pod_changed(state: &mut State, namespace: &str) {
    reference_changed(state, &Reference::Namespace(namespace.to_owned()));
}

/// Handles the connection to the cluster: objects without a namespace now use the context's.
pub(crate) fn cluster_connected(state: &mut State) {
    let needs_cluster = |key: &&ObjectKey| match key.kind {
        ObjectKind::DockerImage | ObjectKind::CmdImage | ObjectKind::LiveUpdate => true,
        kind => KINDS.contains(&kind),
    };
    let keys: Vec<ObjectKey> = state.objects.records.keys().filter(needs_cluster).cloned().collect();
    for key in keys {
        super::reconcile(state, &key);
    }
}

/// Returns the pod that an object names, if it exists.
pub(crate) fn named_pod<'s>(
    state: &'s State,
    cluster: &str,
    namespace: &str,
    name: &str,
) -> Option<&'s Arc<Pod>> {
    let cluster = cluster_named(state, cluster);
    let namespace = namespace_or_default(state, &cluster, namespace)?;
    state.pods.known.get(&PodRef { cluster, namespace, name: name.to_owned() })
}

/// Returns the status of a `PortForward`.
pub(super) fn forward_status(state: &State, key: &ObjectKey) -> PortForwardStatus {
    let Some(Content::PortForward(forward)) = state.objects.records.get(key).map(|record| &record.content)
    else {
        return PortForwardStatus::default();
    };
    let trouble = cluster_trouble(state, &cluster_named(state, &forward.spec.cluster));
    let forwards = forward.spec.forwards.iter().map(Forward::from).collect();
    let forward_statuses = port_forward::statuses(state, &Owner::from(key), forwards, trouble.as_deref());
    PortForwardStatus { forward_statuses }
}
