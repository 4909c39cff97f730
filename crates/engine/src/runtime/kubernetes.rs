//! The runtime status of deployed objects.

use lilt_api::RuntimeStatus;
use lilt_model::cluster::{Container, ContainerState, Pod, PodPhase};
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use serde_json::Value;

use super::Runtime;
use super::pods::{current_pods, discovered_pods, has_ended, newest_pod};
use super::words::{Words, no_pod_words};
use crate::state::{KubernetesState, State};

/// Returns the runtime status of a deployment; none if nothing was deployed yet.
pub(super) fn deployed(
    state: &State,
    kubernetes: &KubernetesState,
    spec: &KubernetesResource,
) -> Option<Runtime> {
    let deployed = kubernetes.deployed.as_ref()?;
    let makes_pods = deployed.makes_pods
        || spec.expects_pods
        || !deployed.template_hashes.is_empty()
        || spec.objects.iter().any(|object| kind(object) == "Pod");
    let expects_pods = makes_pods || !spec.extra_pod_selectors.is_empty();
    let pods: Vec<&Pod> = match makes_pods {
        true => current_pods(state, kubernetes).collect(),
        // Without pods of its own, its status is that of the pods that its selectors find.
        false => discovered_pods(state, kubernetes).collect(),
    };
    if spec.pod_readiness == PodReadiness::Ignore || (pods.is_empty() && !expects_pods) {
        return Some(Runtime::of(RuntimeStatus::NotApplicable));
    }
    if spec.pod_readiness == PodReadiness::Succeeded {
        return Some(job(state, kubernetes, spec, &pods));
    }
    let Some(newest) = newest_pod(pods.iter().copied()) else {
        return Some(match wanted_pods(spec) {
            Some(0) => Runtime::of(RuntimeStatus::Ok),
            _ => Runtime::because(RuntimeStatus::Pending, no_pod_words(state, &spec.cluster, kubernetes)),
        });
    };
    // A completed pod was replaced, unless it is the newest.
    let counts = |pod: &&&Pod| !has_ended(pod) || pod.name == newest.name;
    if let Some(bad) = pods.iter().filter(counts).find(|pod| is_broken(pod)) {
        return Some(Runtime::because(RuntimeStatus::Error, words(state, bad)));
    }
    let is_good = |pod: &Pod| pod.phase == PodPhase::Succeeded || pod.ready;
    Some(match pods.iter().filter(counts).find(|pod| !is_good(pod)) {
        Some(pod) => Runtime::because(RuntimeStatus::Pending, words(state, pod)),
        None => Runtime::of(RuntimeStatus::Ok),
    })
}

fn words(state: &State, pod: &Pod) -> String {
    let notices = state.pods.notices.get(&pod.reference()).cloned().unwrap_or_default();
    Words { pod, notices: &notices }.to_string()
}

/// Returns the status of a job: good once it has succeeded, even when its pods are deleted later.
fn job(state: &State, kubernetes: &KubernetesState, spec: &KubernetesResource, pods: &[&Pod]) -> Runtime {
    let succeeded = pods.iter().filter(|pod| pod.phase == PodPhase::Succeeded).count();
    if kubernetes.completed || (succeeded > 0 && succeeded >= wanted_successes(spec)) {
        return Runtime::of(RuntimeStatus::Ok);
    }
    // Jobs retry with a new pod: the newest one decides.
    match newest_pod(pods.iter().copied()) {
        None => Runtime::because(RuntimeStatus::Pending, no_pod_words(state, &spec.cluster, kubernetes)),
        Some(pod) if has_failed(pod) => Runtime::because(RuntimeStatus::Error, words(state, pod)),
        Some(pod) if pod.ready || pod.phase == PodPhase::Succeeded => {
            Runtime::because(RuntimeStatus::Pending, "running to completion")
        }
        Some(pod) => Runtime::because(RuntimeStatus::Pending, words(state, pod)),
    }
}

/// Returns the number of pods that must succeed according to the objects.
fn wanted_successes(spec: &KubernetesResource) -> usize {
    let completions = |object: &Value| object.pointer("/spec/completions").and_then(Value::as_u64);
    let jobs = spec.objects.iter().filter(|object| matches!(kind(object), "Job" | "Pod"));
    jobs.map(|object| usize::try_from(completions(object).unwrap_or(1)).unwrap_or(usize::MAX)).sum()
}

/// Returns a description of the first failed pod.
pub(crate) fn failed_pod<'a>(state: &State, pods: impl Iterator<Item = &'a Pod>) -> Option<String> {
    pods.filter(|pod| has_failed(pod)).min_by_key(|pod| pod.created).map(|pod| words(state, pod))
}

/// Returns whether the cluster reports that a pod has failed, or that a container of it cannot be started.
///
/// A container that ended with an error is not enough: until the pod's phase is `Failed`, it may be restarted.
fn has_failed(pod: &Pod) -> bool {
    let status = pod.status.strip_prefix("Init:").unwrap_or(&pod.status);
    pod.phase == PodPhase::Failed || WAITING_IN_VAIN.contains(&status)
}

/// Waiting reasons of containers that will not run soon, if ever.
const WAITING_IN_VAIN: [&str; 8] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// Returns whether a container crashes repeatedly or cannot be created.
pub(crate) fn cannot_run(container: &Container) -> bool {
    let ContainerState::Waiting { reason, .. } = &container.state else { return false };
    WAITING_IN_VAIN.contains(&reason.as_str())
}

pub(crate) fn is_broken(pod: &Pod) -> bool {
    const ENDED: [&str; 5] = ["ContainerCannotRun", "OOMKilled", "Error", "StartError", "Evicted"];
    let status = pod.status.strip_prefix("Init:").unwrap_or(&pod.status);
    // Some runtimes give no reason for the end of a container.
    let ended_badly = ["ExitCode:", "Signal:"].iter().any(|prefix| status.starts_with(prefix));
    let is_broken = WAITING_IN_VAIN.contains(&status) || ENDED.contains(&status);
    pod.phase == PodPhase::Failed || is_broken || ended_badly
}

fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the requested number of pods, if it is specified.
fn wanted_pods(spec: &KubernetesResource) -> Option<u64> {
    let replicas: Vec<u64> = spec
        .objects
        .iter()
        .filter_map(|object| object.pointer("/spec/replicas").and_then(Value::as_u64))
        .collect();
    (!replicas.is_empty()).then(|| replicas.iter().sum())
}
