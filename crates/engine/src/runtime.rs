//! Whether what runs is healthy.

use lilt_model::api::RuntimeStatus;
use lilt_model::cluster::{Container, ContainerState, Pod, PodPhase};
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
        ServeExit::Code(code) => format!("server exited with code {code}{}", code_words(*code)),
        ServeExit::Signal(signal) => format!("server was ended by signal {signal}{}", signal_words(*signal)),
        ServeExit::Failed(failure) => format!("server could not be started: {}", failure.message),
    }
}

fn code_words(code: i32) -> String {
    match code {
        126 => " (its program cannot be executed)".into(),
        127 => " (its program was not found)".into(),
        // As shells tell it.
        129..=159 => format!(" (signal {}{})", code - 128, signal_words(code - 128)),
        _ => String::new(),
    }
}

fn signal_words(signal: i32) -> &'static str {
    match signal {
        1 => ", SIGHUP",
        2 => ", SIGINT",
        4 => ", SIGILL",
        6 => ", SIGABRT: it gave up by itself",
        7 => ", SIGBUS",
        8 => ", SIGFPE",
        9 => ", SIGKILL: killed from outside, maybe for want of memory",
        11 => ", SIGSEGV: it crashed",
        13 => ", SIGPIPE",
        15 => ", SIGTERM",
        _ => "",
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
    let expects_pods = deployed.makes_pods
        || !deployed.template_hashes.is_empty()
        || !spec.extra_pod_selectors.is_empty()
        || spec.objects.iter().any(|object| kind(object) == "Pod");
    if spec.pod_readiness == PodReadiness::Ignore || (pods.is_empty() && !expects_pods) {
        return Runtime::of(RuntimeStatus::NotApplicable);
    }
    if spec.pod_readiness == PodReadiness::Succeeded {
        return job(kubernetes, spec, &pods);
    }
    let Some(newest) = newest_pod(pods.iter().copied()) else {
        return match wanted_pods(spec) {
            Some(0) => Runtime::of(RuntimeStatus::Ok),
            _ => Runtime::because(RuntimeStatus::Pending, "no pod yet"),
        };
    };
    // One that has ended was replaced, unless nothing came after it.
    let has_ended = |pod: &Pod| matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded);
    let counts = |pod: &&&Pod| !has_ended(pod) || pod.name == newest.name;
    if let Some(bad) = pods.iter().filter(counts).find(|pod| is_broken(pod)) {
        return Runtime::because(RuntimeStatus::Error, pod_words(bad));
    }
    let is_good = |pod: &Pod| pod.phase == PodPhase::Succeeded || pod.ready;
    match pods.iter().filter(counts).find(|pod| !is_good(pod)) {
        Some(pod) => Runtime::because(RuntimeStatus::Pending, pod_words(pod)),
        None => Runtime::of(RuntimeStatus::Ok),
    }
}

/// Good when it has succeeded, and for good: its pods may go.
fn job(kubernetes: &KubernetesState, spec: &KubernetesResource, pods: &[&Pod]) -> Runtime {
    let succeeded = pods.iter().filter(|pod| pod.phase == PodPhase::Succeeded).count();
    if kubernetes.completed || (succeeded > 0 && succeeded >= wanted_successes(spec)) {
        return Runtime::of(RuntimeStatus::Ok);
    }
    // Jobs try again with a new pod: the newest one tells how it stands.
    match newest_pod(pods.iter().copied()) {
        None => Runtime::because(RuntimeStatus::Pending, "no pod yet"),
        Some(pod) if is_broken(pod) => Runtime::because(RuntimeStatus::Error, pod_words(pod)),
        Some(pod) if pod.ready || pod.phase == PodPhase::Succeeded => {
            Runtime::because(RuntimeStatus::Pending, "running to completion")
        }
        Some(pod) => Runtime::because(RuntimeStatus::Pending, pod_words(pod)),
    }
}

/// How many pods must succeed, as far as the objects say.
fn wanted_successes(spec: &KubernetesResource) -> usize {
    let completions = |object: &Value| object.pointer("/spec/completions").and_then(Value::as_u64);
    let jobs = spec.objects.iter().filter(|object| matches!(kind(object), "Job" | "Pod"));
    jobs.map(|object| usize::try_from(completions(object).unwrap_or(1)).unwrap_or(usize::MAX)).sum()
}

/// A pod that has failed, in words.
pub(crate) fn failed_pod<'a>(pods: impl Iterator<Item = &'a Pod>) -> Option<String> {
    pods.filter(|pod| is_broken(pod)).min_by_key(|pod| pod.created).map(pod_words)
}

pub(crate) fn newest_pod<'a>(pods: impl Iterator<Item = &'a Pod>) -> Option<&'a Pod> {
    pods.max_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)))
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

/// What is wrong with a pod, or what it waits for: the cluster's word, and how its container ended.
fn pod_words(pod: &Pod) -> String {
    let mut words = format!("pod {}: {}", pod.name, pod.status);
    let ended = pod.containers.iter().find_map(container_end);
    if let Some(message) = &pod.message {
        words.push_str(&format!(": {message}"));
    }
    if let Some(ended) = ended {
        words.push_str(&format!(" ({ended})"));
    }
    words
}

fn container_end(container: &Container) -> Option<String> {
    let (code, reason) = match (&container.state, &container.previous_exit) {
        (ContainerState::Terminated { exit_code, reason, .. }, _) => (*exit_code, reason.as_str()),
        (ContainerState::Waiting { .. }, Some((code, reason))) => (*code, reason.as_str()),
        _ => return None,
    };
    if code == 0 && container.restarts == 0 {
        return None;
    }
    let why = match reason {
        "OOMKilled" => ", OOMKilled: it used more memory than its limit".to_owned(),
        _ => code_words(code),
    };
    let times = match container.restarts {
        0 => String::new(),
        1 => ", restarted once".into(),
        count => format!(", restarted {count} times"),
    };
    Some(format!("container {} exited with code {code}{why}{times}", container.name))
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
