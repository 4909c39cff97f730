//! `KubernetesDiscovery`: finds pods, and owns the log streams and port forwards of those that were found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lilt_api::{
    Content, Forward, KubernetesDiscoverySpec, KubernetesDiscoveryStateRunning,
    KubernetesDiscoveryStateWaiting, KubernetesDiscoveryStatus, LabelSelector, LabelSelectorRequirement,
    Object, ObjectKey, ObjectKind, PodLogStreamSpec, PortForwardSpec,
};
use lilt_model::cluster::{Pod, PodRef};
use lilt_model::kubernetes as model;

use super::pods::{cluster_named, discovery_namespaces};
use super::{ANNOTATION_RESOURCE, ObjectRecord, Origin, delete, log_resource, owners, put};
use crate::controllers::port_forward::target_among;
use crate::state::State;

/// Returns the existing pods that a discovery selects.
pub(crate) fn found<'s>(state: &'s State, spec: &KubernetesDiscoverySpec) -> Vec<&'s Arc<Pod>> {
    let namespaces = discovery_namespaces(state, spec);
    let cluster = cluster_named(state, &spec.cluster);
    let pods = namespaces.iter().flat_map(|namespace| state.pods.of_namespace(&cluster, namespace));
    pods.filter(|pod| is_watched(pod, spec)).collect()
}

/// Returns whether a pod is selected by its owners or by its labels.
fn is_watched(pod: &Pod, spec: &KubernetesDiscoverySpec) -> bool {
    let mut uids = spec.watches.iter().map(|watch| watch.uid.as_str()).filter(|uid| !uid.is_empty());
    uids.any(|uid| pod.uid.as_str() == uid || pod.owners.iter().any(|owner| owner.as_str() == uid))
        || spec.extra_selectors.iter().any(|selector| selects(selector, &pod.labels))
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let mut wanted = selector.match_labels.iter();
    wanted.all(|(name, value)| labels.get(name) == Some(value))
        && selector.match_expressions.iter().all(|requirement| meets(requirement, labels))
}

fn meets(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let found = labels.get(&requirement.key);
    let is_among = || found.is_some_and(|value| requirement.values.contains(value));
    match requirement.operator.as_str() {
        "In" => is_among(),
        "NotIn" => !is_among(),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}

pub(super) fn status(state: &State, key: &ObjectKey) -> KubernetesDiscoveryStatus {
    let Some(Content::KubernetesDiscovery(discovery)) =
        state.objects.records.get(key).map(|record| &record.content)
    else {
        return KubernetesDiscoveryStatus::default();
    };
    let pods = found(state, &discovery.spec).into_iter().map(|pod| lilt_api::Pod::from(&**pod)).collect();
    let cluster = state.clusters.get(&cluster_named(state, &discovery.spec.cluster));
    let since = cluster.connected.filter(|_| cluster.info.is_some());
    let waiting = || KubernetesDiscoveryStateWaiting { reason: "ClusterUnavailable".to_owned() };
    KubernetesDiscoveryStatus {
        monitor_start_time: since,
        pods,
        running: since.map(|since| KubernetesDiscoveryStateRunning { start_time: Some(since) }),
        waiting: cluster.info.is_none().then(waiting),
    }
}

/// The specification of an object that belongs to a `KubernetesDiscovery`.
enum ManagedSpec {
    LogStream(PodLogStreamSpec),
    Forward(PortForwardSpec),
}

/// Creates the log streams of the found pods and the forwards to the best of them, and deletes those of other
/// pods.
pub(super) fn manage(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, content: Content::KubernetesDiscovery(discovery), uid, .. }) =
        state.objects.records.get(key)
    else {
        return;
    };
    let (object, spec, uid) = (object.clone(), discovery.spec.clone(), uid.clone());
    let pods: Vec<Arc<Pod>> = found(state, &spec).into_iter().cloned().collect();
    let mut wanted: BTreeMap<ObjectKey, ManagedSpec> = BTreeMap::new();
    for pod in &pods {
        let name = format!("{}-{}-{}", key.name, pod.namespace, pod.name);
        let stream = ManagedSpec::LogStream(log_stream(pod, &spec));
        wanted.insert(ObjectKey::new(ObjectKind::PodLogStream, name), stream);
    }
    let forwards = port_forwards(key, &spec, &pods);
    wanted.extend(forwards.into_iter().map(|(key, spec)| (key, ManagedSpec::Forward(spec))));
    let own: BTreeSet<ObjectKey> = owners::owned(state, &uid).into_iter().collect();
    for gone in own.iter().filter(|it| is_managed(it) && !wanted.contains_key(it)) {
        delete(state, gone, false);
    }
    for (managed_key, spec) in wanted {
        let known = state.objects.records.get(&managed_key);
        // Objects of other owners are not changed, and users may change a stream.
        let is_kept = |known: &ObjectRecord| {
            let is_same = match (&known.content, &spec) {
                (Content::PortForward(known), ManagedSpec::Forward(spec)) => known.spec == *spec,
                _ => true,
            };
            is_same || !own.contains(&managed_key)
        };
        if known.is_some_and(is_kept) {
            continue;
        }
        let mut fresh = known.map_or_else(|| Object::named(&managed_key.name), |known| known.object.clone());
        fresh.annotate_if_absent(ANNOTATION_RESOURCE, log_resource(&object).as_str());
        fresh.set_owner(key, &uid);
        match &spec {
            ManagedSpec::LogStream(spec) => fresh.set_spec(spec),
            ManagedSpec::Forward(spec) => fresh.set_spec(spec),
        }
        let sequence = state.next_sequence();
        put(state, managed_key, fresh, format!("discovery-{sequence}"), Origin::Object);
    }
}

fn is_managed(key: &ObjectKey) -> bool {
    matches!(key.kind, ObjectKind::PodLogStream | ObjectKind::PortForward)
}

fn cluster_name(discovery: &KubernetesDiscoverySpec) -> String {
    match discovery.cluster.as_str() {
        "" => "default".to_owned(),
        named => named.to_owned(),
    }
}

fn log_stream(pod: &Pod, discovery: &KubernetesDiscoverySpec) -> PodLogStreamSpec {
    let template = discovery.pod_log_stream_template_spec.clone().unwrap_or_default();
    PodLogStreamSpec {
        cluster: cluster_name(discovery),
        pod: pod.name.clone(),
        namespace: pod.namespace.clone(),
        since_time: template.since_time,
        only_containers: template.only_containers,
        ignore_containers: template.ignore_containers,
    }
}

/// Returns the `PortForward` objects: one for each pod that is forwarded to.
fn port_forwards(
    key: &ObjectKey,
    discovery: &KubernetesDiscoverySpec,
    pods: &[Arc<Pod>],
) -> BTreeMap<ObjectKey, PortForwardSpec> {
    let template = discovery.port_forward_template_spec.as_ref();
    let mut forwarded: BTreeMap<PodRef, Vec<Forward>> = BTreeMap::new();
    for forward in template.into_iter().flat_map(|template| &template.forwards) {
        if let Some(target) = target_among(pods.iter().map(|pod| &**pod), &model::Forward::from(forward)) {
            let resolved = Forward { container_port: target.port.into(), ..forward.clone() };
            forwarded.entry(target.pod).or_default().push(resolved);
        }
    }
    let object = |(pod, forwards): (PodRef, Vec<Forward>)| {
        let name = format!("{}-{}", key.name, pod.name);
        let cluster = cluster_name(discovery);
        let spec = PortForwardSpec { pod_name: pod.name, namespace: pod.namespace, forwards, cluster };
        (ObjectKey::new(ObjectKind::PortForward, name), spec)
    };
    forwarded.into_iter().map(object).collect()
}
