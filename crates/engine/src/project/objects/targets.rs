//! The targets of resources in the session's status, in Tilt's terms.

use lilt_api::{
    RuntimeStatus, Target, TargetState, TargetStateActive, TargetStateDisabled, TargetStateTerminated,
    TargetStateWaiting,
};
use lilt_model::cluster::{ContainerState, Pod, PodPhase};
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use lilt_model::resource::Body;
use lilt_model::{ResourceName, Timestamp};

use crate::controllers::command::CommandPhase;
use crate::owner::Owner;
use crate::runtime::{Runtime, current_pods, newest_pod, runtime};
use crate::state::{BodyState, KubernetesState, Mode, ResourceState, State};

/// The targets of one resource.
pub fn project_targets(state: &State, name: &ResourceName) -> Vec<Target> {
    let Some(resource) = state.resources.get(name) else { return Vec::new() };
    update_target(name, resource).into_iter().chain(runtime_target(state, name, resource)).collect()
}

fn target(name: String, kind: &str, resource: &ResourceName, state: TargetState) -> Target {
    Target { name, kind: kind.to_owned(), resources: vec![resource.to_string()], state }
}

pub(super) fn tiltfile_target(state: &State) -> Target {
    let tiltfile = &state.tiltfile;
    let target_state = match (&tiltfile.loading, tiltfile.history.back()) {
        // Its files changed, and it is held.
        _ if tiltfile.hold.is_some() => waiting_for("config-changed"),
        (Some(load), _) => active(load.started, false, None),
        (None, Some(last)) => {
            terminated(last.started, last.finished, last.failure.as_ref().map(ToString::to_string))
        }
        (None, None) => waiting_for("initial-build"),
    };
    target("tiltfile:update".to_owned(), "job", &ResourceName::tiltfile(), target_state)
}

fn active(started: Timestamp, ready: bool, since: Option<Timestamp>) -> TargetState {
    let active = TargetStateActive { start_time: Some(started), ready, last_ready_time: since };
    TargetState { active: Some(active), ..TargetState::default() }
}

fn terminated(started: Timestamp, finished: Timestamp, error: Option<String>) -> TargetState {
    let terminated = TargetStateTerminated {
        start_time: Some(started),
        finish_time: Some(finished),
        error: error.unwrap_or_default(),
        grace_status: String::new(),
    };
    TargetState { terminated: Some(terminated), ..TargetState::default() }
}

fn waiting_for(reason: &str) -> TargetState {
    let waiting = TargetStateWaiting { wait_reason: reason.to_owned() };
    TargetState { waiting: Some(waiting), ..TargetState::default() }
}

fn disabled() -> TargetState {
    TargetState { disabled: Some(TargetStateDisabled {}), ..TargetState::default() }
}

fn waiting(resource: &ResourceState) -> TargetState {
    waiting_for(resource.hold.as_ref().and_then(crate::Hold::reason).unwrap_or("unknown"))
}

fn update_target(name: &ResourceName, resource: &ResourceState) -> Option<Target> {
    if matches!(&resource.spec.body, Body::Local(local) if local.update.is_none()) {
        return None;
    }
    let state = if resource.disabled {
        disabled()
    } else if let Some(update) = &resource.update {
        active(update.started, false, None)
    } else if resource.pending_since.is_some() {
        waiting(resource)
    } else if let Some(last) = resource.history.back() {
        terminated(last.started, last.finished, last.failure.as_ref().map(ToString::to_string))
    } else {
        TargetState::default()
    };
    Some(target(format!("{name}:update"), "job", name, state))
}

fn runtime_target(state: &State, name: &ResourceName, resource: &ResourceState) -> Option<Target> {
    let now = runtime(state, resource);
    let (suffix, kind, target_state) = match (&resource.spec.body, &resource.body) {
        (Body::Local(spec), BodyState::Local(_)) => {
            spec.serve.as_ref()?;
            ("serve", "server", serve_state(state, resource, now))
        }
        (Body::Kubernetes(spec), BodyState::Kubernetes(kubernetes)) => {
            let kind = if spec.pod_readiness == PodReadiness::Succeeded { "job" } else { "server" };
            let known = pods_state(state, resource, spec, kubernetes, now)?;
            let unreachable = state.clusters.get(&spec.cluster).failure.is_some();
            ("runtime", kind, if unreachable { waiting_for("waiting-for-cluster") } else { known })
        }
        // It has no runtime yet: its updates fail.
        _ => ("runtime", "server", waiting(resource)),
    };
    let target_state = if resource.disabled { disabled() } else { target_state };
    Some(target(format!("{name}:{suffix}"), kind, name, target_state))
}

fn serve_state(state: &State, resource: &ResourceState, now: Runtime) -> TargetState {
    let Some(run) = state.commands.get(&Owner::from(&resource.spec.name)) else {
        return if is_begun(resource) { waiting(resource) } else { TargetState::default() };
    };
    match run.phase() {
        CommandPhase::Starting => waiting(resource),
        CommandPhase::Running { since, .. } => {
            active(*since, now.status == RuntimeStatus::Ok, resource.ready.last_ready())
        }
        CommandPhase::Ended { at, ran, .. } => {
            let since = ran.as_ref().map_or(*at, |ran| ran.since);
            terminated(since, *at, Some(now.message.unwrap_or_default()))
        }
    }
}

/// Returns whether it starts automatically or has started.
fn is_begun(resource: &ResourceState) -> bool {
    resource.spec.auto_init || resource.started_once || resource.triggered.is_some()
}

/// None: no pods are expected, and none exist.
fn pods_state(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
    now: Runtime,
) -> Option<TargetState> {
    let pod = newest_pod(current_pods(state, kubernetes));
    if spec.pod_readiness == PodReadiness::Ignore && kubernetes.deployed.is_some() && pod.is_none() {
        return None;
    }
    let created = kubernetes.applied_during.map_or(state.started, |(_, end)| end);
    Some(match now.status {
        RuntimeStatus::Ok | RuntimeStatus::NotApplicable => match pod {
            Some(pod) if pod.phase == PodPhase::Succeeded => {
                let end = resource.ready.last_ready().unwrap_or(created);
                terminated(created, end, None)
            }
            None if kubernetes.completed => {
                terminated(created, resource.ready.last_ready().unwrap_or(created), None)
            }
            _ => active(created, true, resource.ready.last_ready()),
        },
        RuntimeStatus::Error => {
            let words = pod.and_then(pod_error).or(now.message).unwrap_or_else(|| "unknown error".to_owned());
            let since = resource.ready.lost_at().unwrap_or(created).max(created);
            let mut target_state = terminated(created, since, Some(words));
            if let Some(terminated) = &mut target_state.terminated {
                terminated.grace_status = grace_status(state, created).unwrap_or_default().to_owned();
            }
            target_state
        }
        RuntimeStatus::Pending => match pod {
            Some(pod) if pod.phase == PodPhase::Running => {
                active(created, false, resource.ready.last_ready())
            }
            Some(pod) if !pod.status.is_empty() => waiting_for(&pod.status),
            Some(_) => waiting_for("unknown"),
            None => waiting_for("waiting-for-pod"),
        },
        RuntimeStatus::None | RuntimeStatus::Unknown => TargetState::default(),
    })
}

/// Returns whether the grace period of a broken resource is over; none where there is no grace period.
fn grace_status(state: &State, deployed: Timestamp) -> Option<&'static str> {
    let period = state.settings.ci.k8s_grace_period.filter(|period| !period.is_zero())?;
    let is_ci = state.options.mode == Mode::Ci;
    let status = if state.now < deployed.plus(period) { "Tolerated" } else { "Exceeded" };
    is_ci.then_some(status)
}

/// Returns the error of a pod in Tilt's wording.
fn pod_error(pod: &Pod) -> Option<String> {
    if pod.phase == PodPhase::Failed {
        return Some(pod.message.clone().unwrap_or_else(|| format!("Pod {:?} failed", pod.name)));
    }
    let is_bad = |state: &ContainerState| match state {
        ContainerState::Terminated { exit_code, .. } => *exit_code != 0,
        ContainerState::Waiting { .. } => true,
        ContainerState::Running { .. } => false,
    };
    let container = pod.containers.iter().find(|container| !container.ready && is_bad(&container.state))?;
    let (pod_name, name, status) = (&pod.name, &container.name, &pod.status);
    Some(format!("Pod {pod_name} in error state due to container {name}: {status}"))
}
