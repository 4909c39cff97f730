//! The objects that tell of Kubernetes resources: what is applied, which pods came of it, their logs and forwards.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lilt_api::fields::Fields;
use lilt_api::specs;
use lilt_model::SpanId;
use lilt_model::cluster::{Pod, PodRef};
use lilt_model::kubernetes::{Forward, KubernetesResource};
use lilt_model::settings::ServerSideApply;
use serde_json::{Value, json};

use super::pods::pod_status;
use super::{Named, disable_source, disable_status, managed, owned, owned_with_span};
use crate::controllers::log_stream::{ContainerFilter, container_statuses};
use crate::controllers::port_forward::{self, forward_target};
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
    let applied = json!({
        "spec": apply_spec(state, resource, spec, kubernetes).put("disableSource", disable_source(name)).value(),
        "status": apply_status(resource, spec, kubernetes).put("disableStatus", disable_status(resource)).value(),
    });
    objects.push(managed("KubernetesApply", name.as_str(), name, "buildcontrol", applied));
    let content = discovery(state, spec, kubernetes, &pods);
    objects.push(owned("KubernetesDiscovery", name.as_str(), name, content));
    for pod in &pods {
        let stream = format!("{name}-{}-{}", pod.namespace, pod.name);
        let span = SpanId::of_pod(name, &pod.name);
        objects.push(owned_with_span("PodLogStream", &stream, name, log_stream(state, pod), span.as_str()));
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
        let content = port_forward_content(state, &Owner::from(name), &pod, forwards);
        objects.push(owned("PortForward", &format!("{name}-{}", pod.name), name, content));
    }
}

fn apply_spec(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
) -> Fields {
    let server_side = state.settings.server_side_apply == ServerSideApply::Always;
    specs::kubernetes_apply(&resource.spec.name, spec, kubernetes.yaml.to_string(), state.started)
        .put_unless_empty("serverSideApply", server_side)
}

fn apply_status(resource: &ResourceState, spec: &KubernetesResource, kubernetes: &KubernetesState) -> Fields {
    let failure = resource.last().and_then(|last| last.failure.as_ref()).map(ToString::to_string);
    let mut fields = Fields::new().put_unless_empty("error", failure.unwrap_or_default());
    if let Some((begin, end)) = kubernetes.applied_during {
        fields = fields.put("lastApplyStartTime", json!(begin)).put("lastApplyTime", json!(end));
    }
    let Some(deployed) = &kubernetes.deployed else { return fields };
    fields = fields
        .put("resultYAML", deployed.result.as_str())
        .put("appliedInputHash", input_hash(spec, kubernetes));
    if kubernetes.completed {
        let since = kubernetes.applied_during.map(|(_, end)| end.whole_seconds());
        fields = fields.put("conditions", json!([{
            "type": "JobComplete", "status": "True", "lastTransitionTime": since, "reason": "", "message": "",
        }]));
    }
    fields
}

pub(crate) fn text_hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Another one if anything that goes into the apply is another.
fn input_hash(spec: &KubernetesResource, kubernetes: &KubernetesState) -> String {
    let references = spec.image_deps.iter().filter_map(|name| kubernetes.images.get(name)?.reference.clone());
    let inputs: Vec<String> =
        std::iter::once(json!(kubernetes.applied()).to_string()).chain(references).collect();
    text_hash(&inputs.join("\n"))
}

fn discovery(state: &State, spec: &KubernetesResource, kubernetes: &KubernetesState, pods: &[&Pod]) -> Value {
    let watches: Vec<Value> = kubernetes
        .deployed
        .iter()
        .flat_map(|deployed| &deployed.objects)
        .map(|(object, uid)| json!({"uid": uid, "namespace": object.namespace, "name": object.name}))
        .collect();
    let selectors = spec.extra_pod_selectors.iter().map(|labels| json!({"matchLabels": labels}));
    let written = Fields::new()
        .put("watches", watches)
        .put_unless_empty("extraSelectors", selectors.collect::<Vec<_>>())
        .put_unless_empty("portForwardTemplateSpec", specs::forwards(&spec.forwards))
        .put("podLogStreamTemplateSpec", json!({"ignoreContainers": specs::QUIET_CONTAINERS}))
        .put("cluster", spec.cluster.object_name());
    let told: Vec<Value> = pods.iter().map(|pod| pod_status(pod)).collect();
    let mut status = json!({"pods": told});
    match &state.clusters.get(&spec.cluster).info {
        Some(_) => {
            status["monitorStartTime"] = json!(state.started);
            status["running"] = json!({"startTime": state.started});
        }
        None => status["waiting"] = json!({"reason": "ClusterUnavailable"}),
    }
    json!({"spec": written.value(), "status": status})
}

fn log_stream(state: &State, pod: &Pod) -> Value {
    let spec = json!({
        "pod": pod.name, "namespace": pod.namespace, "cluster": pod.cluster.object_name(),
        "sinceTime": state.started.whole_seconds(), "ignoreContainers": specs::QUIET_CONTAINERS,
    });
    json!({"spec": spec, "status": {"containerStatuses": container_statuses(pod, &ContainerFilter::default())}})
}

fn port_forward_content(state: &State, owner: &Owner, pod: &PodRef, forwards: Vec<Forward>) -> Value {
    let mut written = specs::forwards(&forwards).value();
    written["podName"] = json!(pod.name);
    written["namespace"] = json!(pod.namespace);
    written["cluster"] = json!(pod.cluster.object_name());
    let statuses = port_forward::status(state, owner, forwards, None);
    json!({"spec": written, "status": {"forwardStatuses": statuses}})
}
