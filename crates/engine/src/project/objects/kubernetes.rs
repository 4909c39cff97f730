//! The objects that show Kubernetes resources: what is applied, the pods that result, their logs and forwards.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lilt_api::{
    Condition, KubernetesApply, KubernetesApplySpec, KubernetesApplyStatus, KubernetesDiscovery,
    KubernetesDiscoverySpec, KubernetesDiscoveryStateRunning, KubernetesDiscoveryStateWaiting,
    KubernetesDiscoveryStatus, KubernetesWatchRef, LabelSelector, PodLogStream, PodLogStreamSpec,
    PodLogStreamStatus, PodLogStreamTemplateSpec, PortForward, PortForwardSpec, PortForwardStatus,
    PortForwardTemplateSpec, Time,
};
use lilt_model::SpanId;
use lilt_model::cluster::{Pod, PodRef};
use lilt_model::kubernetes::{Forward, KubernetesResource};
use lilt_model::settings::ServerSideApply;
use serde_json::json;

use super::{Named, disable_source, disable_status, managed, owned, owned_with_span};
use crate::controllers::log_stream::{ContainerFilter, container_statuses};
use crate::controllers::port_forward::{forward_target, statuses};
use crate::owner::Owner;
use crate::runtime::discovered_pods;
use crate::state::{KubernetesState, ResourceState, State};

pub(super) fn objects(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
    objects: &mut Vec<Named>,
) {
    let name = &resource.spec.name;
    let pods: Vec<&Pod> = discovered_pods(state, kubernetes).collect();
    let apply = KubernetesApply {
        spec: apply_spec(state, resource, spec, kubernetes),
        status: apply_status(resource, spec, kubernetes),
    };
    objects.push(managed(name.as_str(), name, "buildcontrol", &apply));
    objects.push(owned(name.as_str(), name, &discovery(state, spec, kubernetes, &pods)));
    for pod in &pods {
        let stream = format!("{name}-{}-{}", pod.namespace, pod.name);
        let span = SpanId::of_pod(name, &pod.name);
        objects.push(owned_with_span(&stream, name, &log_stream(state, pod), span.as_str()));
    }
    // One for each pod that is forwarded to: all of them mostly lead to the same.
    let mut forwarded: BTreeMap<PodRef, Vec<Forward>> = BTreeMap::new();
    for forward in &spec.forwards {
        if let Some(target) = forward_target(state, kubernetes, forward) {
            let resolved = Forward { container_port: target.port, ..forward.clone() };
            forwarded.entry(target.pod).or_default().push(resolved);
        }
    }
    for (pod, forwards) in forwarded {
        let own = format!("{name}-{}", pod.name);
        objects.push(owned(&own, name, &port_forward(state, &Owner::from(name), pod, forwards)));
    }
}

fn apply_spec(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
) -> KubernetesApplySpec {
    let name = &resource.spec.name;
    KubernetesApplySpec {
        disable_source: Some(disable_source(name)),
        server_side_apply: state.settings.server_side_apply == ServerSideApply::Always,
        ..KubernetesApplySpec::new(name, spec, kubernetes.yaml.to_string(), state.started)
    }
}

fn apply_status(
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
) -> KubernetesApplyStatus {
    let failure = resource.last().and_then(|last| last.failure.as_ref()).map(ToString::to_string);
    let applied = kubernetes.applied_during;
    let completed = || Condition {
        kind: "JobComplete".to_owned(),
        status: "True".to_owned(),
        last_transition_time: applied.map(|(_, end)| Time(end)),
        ..Condition::default()
    };
    let status = KubernetesApplyStatus {
        error: failure.unwrap_or_default(),
        last_apply_start_time: applied.map(|(begin, _)| begin),
        last_apply_time: applied.map(|(_, end)| end),
        disable_status: Some(disable_status(resource)),
        ..KubernetesApplyStatus::default()
    };
    let Some(deployed) = &kubernetes.deployed else { return status };
    KubernetesApplyStatus {
        result_yaml: deployed.result.clone(),
        applied_input_hash: input_hash(spec, kubernetes),
        conditions: kubernetes.completed.then(completed).into_iter().collect(),
        ..status
    }
}

pub(crate) fn text_hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns a hash of all inputs of the apply.
fn input_hash(spec: &KubernetesResource, kubernetes: &KubernetesState) -> String {
    let references = spec.image_deps.iter().filter_map(|name| kubernetes.images.get(name)?.reference.clone());
    let inputs: Vec<String> =
        std::iter::once(json!(kubernetes.applied()).to_string()).chain(references).collect();
    text_hash(&inputs.join("\n"))
}

fn discovery(
    state: &State,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
    pods: &[&Pod],
) -> KubernetesDiscovery {
    let deployed = kubernetes.deployed.iter().flat_map(|deployed| &deployed.objects);
    let watches = deployed.map(|(object, uid)| KubernetesWatchRef {
        uid: uid.to_string(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    });
    let is_connected = state.clusters.get(&spec.cluster).info.is_some();
    let since = Some(state.started).filter(|_| is_connected);
    let waiting = || KubernetesDiscoveryStateWaiting { reason: "ClusterUnavailable".to_owned() };
    KubernetesDiscovery {
        spec: KubernetesDiscoverySpec {
            watches: watches.collect(),
            extra_selectors: spec.extra_pod_selectors.iter().map(LabelSelector::from).collect(),
            port_forward_template_spec: PortForwardTemplateSpec::unless_empty(&spec.forwards),
            pod_log_stream_template_spec: Some(PodLogStreamTemplateSpec::without_sidecars()),
            cluster: spec.cluster.object_name(),
        },
        status: KubernetesDiscoveryStatus {
            monitor_start_time: since,
            pods: pods.iter().map(|pod| lilt_api::Pod::from(*pod)).collect(),
            running: since.map(|since| KubernetesDiscoveryStateRunning { start_time: Some(since) }),
            waiting: (!is_connected).then(waiting),
        },
    }
}

fn log_stream(state: &State, pod: &Pod) -> PodLogStream {
    let template = PodLogStreamTemplateSpec::without_sidecars();
    PodLogStream {
        spec: PodLogStreamSpec {
            cluster: pod.cluster.object_name(),
            pod: pod.name.clone(),
            namespace: pod.namespace.clone(),
            since_time: Some(Time(state.started)),
            only_containers: template.only_containers,
            ignore_containers: template.ignore_containers,
        },
        status: PodLogStreamStatus {
            container_statuses: container_statuses(pod, &ContainerFilter::default()),
            error: String::new(),
        },
    }
}

fn port_forward(state: &State, owner: &Owner, pod: PodRef, forwards: Vec<Forward>) -> PortForward {
    PortForward {
        spec: PortForwardSpec {
            pod_name: pod.name,
            namespace: pod.namespace,
            forwards: forwards.iter().map(lilt_api::Forward::from).collect(),
            cluster: pod.cluster.object_name(),
        },
        status: PortForwardStatus { forward_statuses: statuses(state, owner, forwards, None) },
    }
}
