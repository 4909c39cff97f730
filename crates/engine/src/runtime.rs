//! Whether what runs is healthy.

use lilt_model::api::RuntimeStatus;
use lilt_model::cluster::{Pod, PodPhase};
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use lilt_model::resource::Body;
use serde_json::Value;

use crate::event::ServeExit;
use crate::state::{BodyState, KubernetesState, LocalState, Probed, ResourceState, ServeState, State};

/// A status and, where it is not good, why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Runtime {
    pub(crate) status: RuntimeStatus,
    pub(crate) message: Option<String>,
}

impl Runtime {
    fn of(status: RuntimeStatus) -> Self {
        Self { status, message: None }
    }

    fn because(status: RuntimeStatus, message: impl Into<String>) -> Self {
        Self { status, message: Some(message.into()) }
    }

    pub(crate) fn is_good(&self) -> bool {
        matches!(self.status, RuntimeStatus::Ok | RuntimeStatus::NotApplicable)
    }
}

pub(crate) fn runtime(state: &State, resource: &ResourceState) -> Runtime {
    if resource.disabled {
        return Runtime::of(RuntimeStatus::None);
    }
    match (&resource.body, &resource.spec.body) {
        (BodyState::Local(local), Body::Local(spec)) if spec.serve.is_some() => serve(local, resource),
        (BodyState::Kubernetes(kubernetes), Body::Kubernetes(spec)) => {
            deployed(state, kubernetes, spec, resource)
        }
        _ => Runtime::of(RuntimeStatus::NotApplicable),
    }
}

fn not_begun(resource: &ResourceState) -> Runtime {
    let comes_by_itself = resource.spec.auto_init || resource.started_once || resource.triggered.is_some();
    Runtime::of(if comes_by_itself { RuntimeStatus::Pending } else { RuntimeStatus::None })
}

fn serve(local: &LocalState, resource: &ResourceState) -> Runtime {
    let Some(serve) = &local.serve else { return not_begun(resource) };
    match &serve.state {
        ServeState::Starting => Runtime::of(RuntimeStatus::Pending),
        ServeState::Running { probed, .. } => match (&serve.probe, probed) {
            (None, _) | (_, Some(Probed { ready: true, .. })) => Runtime::of(RuntimeStatus::Ok),
            (Some(_), Some(Probed { cause: Some(cause), .. })) => {
                Runtime::because(RuntimeStatus::Pending, format!("not ready: {cause}"))
            }
            (Some(_), _) => {
                Runtime::because(RuntimeStatus::Pending, "not ready: its probe has not succeeded yet")
            }
        },
        ServeState::Ended { exit, .. } => Runtime::because(RuntimeStatus::Error, exit_words(exit)),
    }
}

fn exit_words(exit: &ServeExit) -> String {
    match exit {
        ServeExit::Code(code) => format!("server exited with code {code}"),
        ServeExit::Signal(signal) => format!("server was ended by signal {signal}"),
        ServeExit::Failed(failure) => format!("server could not be started: {}", failure.message),
    }
}

fn deployed(
    state: &State,
    kubernetes: &KubernetesState,
    spec: &KubernetesResource,
    resource: &ResourceState,
) -> Runtime {
    let Some(deployed) = &kubernetes.deployed else { return not_begun(resource) };
    let pods: Vec<&Pod> = current_pods(state, kubernetes).collect();
    let expects_pods =
        !deployed.template_hashes.is_empty() || spec.objects.iter().any(|object| kind(object) == "Pod");
    if spec.pod_readiness == PodReadiness::Ignore || (pods.is_empty() && !expects_pods) {
        return Runtime::of(RuntimeStatus::NotApplicable);
    }
    if pods.is_empty() {
        return match wanted_pods(spec) {
            Some(0) => Runtime::of(RuntimeStatus::Ok),
            _ => Runtime::because(RuntimeStatus::Pending, "no pod yet"),
        };
    }
    if let Some(bad) = pods.iter().find(|pod| is_broken(pod)) {
        return Runtime::because(RuntimeStatus::Error, pod_words(bad));
    }
    let finite = spec.pod_readiness == PodReadiness::Succeeded;
    let good = |pod: &&&Pod| pod.phase == PodPhase::Succeeded || (pod.ready && !finite);
    match pods.iter().find(|pod| !good(pod)) {
        Some(pod) if finite && pod.ready => Runtime::because(RuntimeStatus::Pending, "running to completion"),
        Some(pod) => Runtime::because(RuntimeStatus::Pending, pod_words(pod)),
        None => Runtime::of(RuntimeStatus::Ok),
    }
}

/// The pods that the newest deployment made and that are to stay.
pub(crate) fn current_pods<'a>(
    state: &'a State,
    kubernetes: &'a KubernetesState,
) -> impl Iterator<Item = &'a Pod> {
    let hashes = kubernetes.deployed.as_ref().map_or(&[][..], |deployed| &deployed.template_hashes);
    kubernetes
        .pods
        .iter()
        .filter_map(|pod| state.pods.known.get(pod))
        .map(|pod| &**pod)
        .filter(|pod| !pod.deleting)
        // Bare pods and those that an operator made have no hash of ours.
        .filter(move |pod| pod.template_hash.as_ref().is_none_or(|hash| hashes.contains(hash)))
}

fn is_broken(pod: &Pod) -> bool {
    const BROKEN: [&str; 12] = [
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "OOMKilled",
        "Error",
        "StartError",
        "Evicted",
    ];
    let status = pod.status.strip_prefix("Init:").unwrap_or(&pod.status);
    pod.phase == PodPhase::Failed || BROKEN.contains(&status)
}

fn pod_words(pod: &Pod) -> String {
    match &pod.message {
        Some(message) => format!("pod {}: {}: {message}", pod.name, pod.status),
        None => format!("pod {}: {}", pod.name, pod.status),
    }
}

fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// How many pods the user asked for, if that is said.
fn wanted_pods(spec: &KubernetesResource) -> Option<u64> {
    let replicas: Vec<u64> = spec
        .objects
        .iter()
        .filter_map(|object| object.pointer("/spec/replicas").and_then(Value::as_u64))
        .collect();
    (!replicas.is_empty()).then(|| replicas.iter().sum())
}
