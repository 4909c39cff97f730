//! Evaluates the readiness of resources, and what depends on it: which dependents may start, what `ci` waits
//! for, and when to evaluate the resource again.

use std::time::Duration;

use lilt_api::RuntimeStatus;
use lilt_model::cluster::PodPhase;
use lilt_model::kubernetes::PodReadiness;
use lilt_model::resource::Body;
use lilt_model::settings::CiSettings;
use lilt_model::{ResourceName, Timestamp, duration};

use crate::controllers::command;
use crate::describe::describe;
use crate::hold::Hold;
use crate::owner::Owner;
use crate::project::{conditions_met, shown_runtime};
use crate::runtime::{Runtime, current_pods, failed_pod, newest_pod, runtime};
use crate::state::{BodyState, Mode, ResourceState, State};
use crate::timeline::follow_rollout;

/// `ci` counts a server without a probe as ready once it has run for this long.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// The status of a resource for the verdict of `ci`.
enum CiStatus {
    /// `ci` does not wait for it.
    Idle,
    Waiting,
    Ready,
    Failed(String),
}

/// Updates the readiness of a resource. Returns the resources to evaluate because of it.
pub(super) fn update_readiness(state: &mut State, name: &ResourceName) -> Vec<ResourceName> {
    let owner = Owner::from(name);
    command::restart_if_due(state, &owner);
    follow_rollout(state, name);
    let Some(resource) = state.resources.get(name) else { return Vec::new() };
    let now = runtime(state, resource);
    let ready = is_ready(resource, &now);
    let (ci_status, next_evaluation) = ci_status(state, resource, &now, ready);
    let waits_for_producer = matches!(resource.hold, Some(Hold::Producing { .. }));
    let waits_until = resource.kubernetes().filter(|_| waits_for_producer).and_then(|it| it.waits_until);
    let next_evaluation =
        [next_evaluation, waits_until, command::restart_at(state, &owner)].into_iter().flatten().min();
    let words = describe(state, resource);
    let shown = shown_runtime(state, resource);
    let completed = ready && is_finite(resource);
    record_ci_status(state, name, ci_status);
    state.set_alarm(Some(name), next_evaluation);
    let at = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return Vec::new() };
    if completed && let Some(kubernetes) = resource.kubernetes_mut() {
        kubernetes.completed = true;
    }
    let first_time = ready && !resource.ready.was_ready();
    let turned = resource.ready.update(ready, at);
    let renewed = ready && std::mem::take(&mut resource.renewed);
    let description_changed = resource.published_state != words;
    resource.published_state = words;
    let met = conditions_met(resource, shown.status);
    for (known, met) in resource.conditions.iter_mut().zip(met) {
        if known.is_none_or(|(known, _)| known != met) {
            *known = Some((met, at));
        }
    }
    if first_time || description_changed || turned || renewed {
        return notify_dependents(state, name, first_time, renewed && !first_time);
    }
    Vec::new()
}

fn is_ready(resource: &ResourceState, now: &Runtime) -> bool {
    let succeeded = resource.last().is_some_and(|last| last.failure.is_none());
    !resource.disabled && resource.started_once && resource.update.is_none() && succeeded && now.is_good()
}

fn record_ci_status(state: &mut State, name: &ResourceName, ci_status: CiStatus) {
    let settled = &mut state.settled;
    settled.waiting.remove(name);
    settled.failed.remove(name);
    match ci_status {
        CiStatus::Idle | CiStatus::Ready => {}
        CiStatus::Waiting => {
            settled.waiting.insert(name.clone());
        }
        CiStatus::Failed(cause) => {
            settled.failed.insert(name.clone(), cause);
        }
    }
}

/// Returns the dependents to evaluate: those that show its progress while they wait and, with the cascade,
/// those that must update because it was updated.
fn notify_dependents(
    state: &mut State,
    name: &ResourceName,
    first_time: bool,
    renewed: bool,
) -> Vec<ResourceName> {
    let dependents: Vec<ResourceName> = state.dependents.get(name).into_iter().flatten().cloned().collect();
    let mut notified = Vec::new();
    for dependent in dependents {
        let Some(resource) = state.resources.get_mut(&dependent).filter(|it| !it.disabled) else { continue };
        if first_time {
            resource.unmet.remove(name);
        }
        let cascade = resource.spec.cascade;
        if cascade && renewed && resource.started_once {
            resource.renewed_dependencies.insert(name.clone());
        }
        if first_time || cascade || !resource.started_once {
            state.touch(&dependent);
            notified.push(dependent);
        }
    }
    notified
}

/// Returns the status for `ci`, and the time at which it may change without an event.
fn ci_status(
    state: &State,
    resource: &ResourceState,
    now: &Runtime,
    ready: bool,
) -> (CiStatus, Option<Timestamp>) {
    let expected = resource.spec.auto_init || resource.started_once || resource.triggered.is_some();
    if resource.disabled || !expected {
        return (CiStatus::Idle, None);
    }
    if resource.update.is_some() || resource.is_pending() {
        return (CiStatus::Waiting, None);
    }
    if let Some(failure) = resource.last().and_then(|last| last.failure.as_ref()) {
        return (CiStatus::Failed(failure.to_string()), None);
    }
    if state.options.mode != Mode::Ci {
        return (if ready { CiStatus::Ready } else { CiStatus::Waiting }, None);
    }
    if let Some(cause) = runtime_failure(state, resource, now) {
        return status_within_grace(state, resource, cause);
    }
    if !ready {
        return status_before_readiness_timeout(state, resource, now);
    }
    match stable_at(state, resource) {
        Some(at) if state.now < at => (CiStatus::Waiting, Some(at)),
        _ => (CiStatus::Ready, None),
    }
}

/// Returns the error of a resource at run time, if there is one. A job fails once the cluster reports that
/// one of its pods has failed: the first such pod counts, even if another pod retries.
fn runtime_failure(state: &State, resource: &ResourceState, now: &Runtime) -> Option<String> {
    if now.status == RuntimeStatus::Error {
        return Some(now.message.clone().unwrap_or_default());
    }
    let kubernetes =
        resource.kubernetes().filter(|kubernetes| is_finite(resource) && !kubernetes.completed)?;
    if now.is_good() && grace(state).is_some() {
        return None;
    }
    failed_pod(state, current_pods(state, kubernetes))
}

fn grace(state: &State) -> Option<Duration> {
    state.settings.ci.k8s_grace_period.filter(|period| !period.is_zero())
}

/// Tolerates an error for the grace period after the deployment that the Tiltfile sets.
fn status_within_grace(
    state: &State,
    resource: &ResourceState,
    cause: String,
) -> (CiStatus, Option<Timestamp>) {
    let deployed = resource.last().map(|last| last.finished).filter(|_| resource.kubernetes().is_some());
    let (Some(period), Some(deployed)) = (grace(state), deployed) else {
        return (CiStatus::Failed(cause), None);
    };
    let end = deployed.plus(period);
    if state.now < end {
        return (CiStatus::Waiting, Some(end));
    }
    (CiStatus::Failed(format!("exceeded grace period: {cause}")), None)
}

/// Fails a running server that does not become ready within the readiness timeout. What does not run yet is
/// subject to the timeout of `ci` only.
fn status_before_readiness_timeout(
    state: &State,
    resource: &ResourceState,
    now: &Runtime,
) -> (CiStatus, Option<Timestamp>) {
    let limit = state.settings.ci.readiness_timeout.unwrap_or(CiSettings::READINESS_TIMEOUT);
    let begun = running_since(state, resource).filter(|_| !limit.is_zero());
    let Some(begun) = begun else { return (CiStatus::Waiting, None) };
    // The timeout restarts when a resource loses its readiness.
    let lost = if resource.ready.is_ready() { Some(state.now) } else { resource.ready.lost_at() };
    let end = lost.unwrap_or(begun).max(begun).plus(limit);
    if state.now < end {
        return (CiStatus::Waiting, Some(end));
    }
    let kind = if resource.kubernetes().is_some() { "runtime" } else { "serve" };
    let name = &resource.spec.name;
    let mut words =
        format!("Readiness timeout after {}: target {name}:{kind} not ready", duration::display(limit));
    if let Some(message) = &now.message {
        words.push_str(&format!(" ({message})"));
    }
    (CiStatus::Failed(words), None)
}

/// Returns the start time of a server that runs. Jobs have no time limit.
fn running_since(state: &State, resource: &ResourceState) -> Option<Timestamp> {
    match &resource.body {
        BodyState::Local(_) => state.commands.get(&Owner::from(&resource.spec.name))?.running_since(),
        BodyState::Kubernetes(_) if is_finite(resource) => None,
        BodyState::Kubernetes(kubernetes) => {
            let pod = newest_pod(current_pods(state, kubernetes))?;
            resource.last().map(|last| last.finished).filter(|_| pod.phase == PodPhase::Running)
        }
    }
}

fn is_finite(resource: &ResourceState) -> bool {
    matches!(&resource.spec.body, Body::Kubernetes(spec) if spec.pod_readiness == PodReadiness::Succeeded)
}

/// Returns when a server without a probe counts as ready: one that has just started may still exit at once.
fn stable_at(state: &State, resource: &ResourceState) -> Option<Timestamp> {
    let run = state.commands.get(&Owner::from(&resource.spec.name)).filter(|run| !run.has_probe())?;
    run.running_since().map(|since| since.plus(STABLE_AFTER))
}
