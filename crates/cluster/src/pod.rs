//! Translates pods of the Kubernetes API into the model's pods.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use lilt_model::cluster::{Container, ContainerState, Pod, PodCondition, PodPhase, RestartPolicy};
use lilt_model::{ClusterName, ContainerId, Timestamp, Uid};

mod replace_crashed;
mod status;

/// The owners of an object, transitively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnerChain {
    /// Nearest first.
    pub(crate) uids: Vec<Uid>,
    /// When the nearest owner was created; none if that could not be read.
    pub(crate) created: Option<Timestamp>,
}

const TEMPLATE_HASH: &str = "tilt.dev/pod-template-hash";

pub(crate) fn timestamp(time: &Time) -> Timestamp {
    Timestamp(time.0.as_microsecond())
}

pub(crate) fn translate(pod: &core::Pod, owners: OwnerChain) -> Pod {
    let meta = &pod.metadata;
    let conditions = conditions(pod);
    let (status, message) = status::of(pod);
    Pod {
        // The caller fills it in: only it knows the session's name of the cluster.
        cluster: ClusterName::default(),
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        owners: owners.uids,
        nearest_owner: nearest_owner(pod).map(|owner| owner.name.clone()),
        owner_kind: nearest_owner(pod).map(|owner| (owner.api_version.clone(), owner.kind.clone())),
        owner_created: owners.created,
        template_hash: meta.labels.as_ref().and_then(|labels| labels.get(TEMPLATE_HASH)).cloned(),
        labels: meta.labels.clone().unwrap_or_default(),
        created: meta.creation_timestamp.as_ref().map(timestamp).unwrap_or_default(),
        deleting: meta.deletion_timestamp.is_some(),
        phase: phase(pod),
        ready: conditions.iter().any(|condition| condition.kind == "Ready" && condition.met),
        status,
        message,
        conditions,
        containers: containers(pod),
    }
}

pub(crate) fn nearest_owner(pod: &core::Pod) -> Option<&OwnerReference> {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    owners.iter().find(|owner| owner.controller == Some(true)).or(owners.first())
}

fn phase(pod: &core::Pod) -> PodPhase {
    match pod.status.as_ref().and_then(|status| status.phase.as_deref()) {
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some("Pending") | None => PodPhase::Pending,
        Some(_) => PodPhase::Unknown,
    }
}

fn conditions(pod: &core::Pod) -> Vec<PodCondition> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions
        .iter()
        .map(|condition| PodCondition {
            kind: condition.type_.clone(),
            met: condition.status == "True",
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
            since: condition.last_transition_time.as_ref().map(timestamp).unwrap_or_default(),
        })
        .collect()
}

fn containers(pod: &core::Pod) -> Vec<Container> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let status = pod.status.as_ref();
    let init_statuses =
        status.and_then(|status| status.init_container_statuses.as_deref()).unwrap_or_default();
    let statuses = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let init = spec.init_containers.as_deref().unwrap_or_default();
    let init = init.iter().map(|container| translate_container(container, true, init_statuses));
    let others = spec.containers.iter().map(|container| translate_container(container, false, statuses));
    let mut containers: Vec<Container> = init.chain(others).collect();
    // A container's own restart policy wins over the pod's.
    let own = spec.init_containers.iter().flatten().chain(&spec.containers).map(|it| &it.restart_policy);
    for (container, own) in containers.iter_mut().zip(own) {
        container.restart_policy = restart_policy(own.as_ref().or(spec.restart_policy.as_ref()));
    }
    containers
}

fn restart_policy(words: Option<&String>) -> RestartPolicy {
    match words.map(String::as_str) {
        Some("Never") => RestartPolicy::Never,
        Some("OnFailure") => RestartPolicy::OnFailure,
        _ => RestartPolicy::Always,
    }
}

fn translate_container(spec: &core::Container, init: bool, statuses: &[core::ContainerStatus]) -> Container {
    let status = statuses.iter().find(|status| status.name == spec.name);
    let ports = spec.ports.as_deref().unwrap_or_default();
    Container {
        name: spec.name.clone(),
        init,
        id: status
            .and_then(|status| status.container_id.as_deref())
            .filter(|id| !id.is_empty())
            .map(ContainerId::new),
        previous: status.and_then(previous_run),
        previous_exit: status.and_then(previous_exit),
        image: spec.image.clone().unwrap_or_default(),
        agent: runs_under_the_agent(spec),
        ports: ports.iter().filter_map(|port| u16::try_from(port.container_port).ok()).collect(),
        state: status.and_then(|status| status.state.as_ref()).map_or_else(not_yet, translate_state),
        ready: status.is_some_and(|status| status.ready),
        restarts: status.map_or(0, |status| u32::try_from(status.restart_count).unwrap_or(0)),
        restart_policy: RestartPolicy::default(),
    }
}

fn runs_under_the_agent(spec: &core::Container) -> bool {
    let program = spec.command.as_ref().and_then(|command| command.first());
    program.is_some_and(|program| program == lilt_agent::PROGRAM)
}

fn previous_run(status: &core::ContainerStatus) -> Option<ContainerId> {
    let ended = status.last_state.as_ref()?.terminated.as_ref()?;
    ended.container_id.as_deref().filter(|id| !id.is_empty()).map(ContainerId::new)
}

fn previous_exit(status: &core::ContainerStatus) -> Option<(i32, String)> {
    let ended = status.last_state.as_ref()?.terminated.as_ref()?;
    Some((ended.exit_code, ended.reason.clone().unwrap_or_default()))
}

fn not_yet() -> ContainerState {
    ContainerState::Waiting { reason: String::new(), message: String::new() }
}

fn translate_state(state: &core::ContainerState) -> ContainerState {
    if let Some(running) = &state.running {
        return ContainerState::Running {
            since: running.started_at.as_ref().map(timestamp).unwrap_or_default(),
        };
    }
    if let Some(terminated) = &state.terminated {
        return ContainerState::Terminated {
            exit_code: terminated.exit_code,
            reason: terminated.reason.clone().unwrap_or_default(),
            message: terminated.message.clone().unwrap_or_default(),
            started: terminated.started_at.as_ref().map(timestamp),
            finished: terminated.finished_at.as_ref().map(timestamp).unwrap_or_default(),
        };
    }
    state.waiting.as_ref().map_or_else(not_yet, |waiting| ContainerState::Waiting {
        reason: waiting.reason.clone().unwrap_or_default(),
        message: waiting.message.clone().unwrap_or_default(),
    })
}
