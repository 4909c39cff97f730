//! Whether a resource is ready, and what follows from it: who may go on, what `ci` waits for, when to look again.

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

/// A server without a probe that has run for so long is taken for a good one by `ci`.
const STEADY: Duration = Duration::from_secs(1);

/// How a resource stands.
enum Standing {
    /// Nobody waits for it.
    Idle,
    Waiting,
    Ready,
    Failed(String),
}

/// Notes readiness; returns the resources that must be looked at because of it.
pub(super) fn settle(state: &mut State, name: &ResourceName) -> Vec<ResourceName> {
    let owner = Owner::from(name);
    command::restart_if_due(state, &owner);
    follow_rollout(state, name);
    let Some(resource) = state.resources.get(name) else { return Vec::new() };
    let now = runtime(state, resource);
    let ready = is_ready(resource, &now);
    let (standing, look_again) = standing(state, resource, &now, ready);
    let waits_for_producer = matches!(resource.hold, Some(Hold::Producing { .. }));
    let waits_until = resource.kubernetes().filter(|_| waits_for_producer).and_then(|it| it.waits_until);
    let look_again =
        [look_again, waits_until, command::restart_at(state, &owner)].into_iter().flatten().min();
    let words = describe(state, resource);
    let shown = shown_runtime(state, resource);
    let completed = ready && is_finite(resource);
    note_standing(state, name, standing);
    state.set_alarm(Some(name), look_again);
    let at = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return Vec::new() };
    if completed && let Some(kubernetes) = resource.kubernetes_mut() {
        kubernetes.completed = true;
    }
    let first_time = ready && !resource.ready.was_ready();
    let turned = resource.ready.update(ready, at);
    let renewed = ready && std::mem::take(&mut resource.renewed);
    let told = resource.told != words;
    resource.told = words;
    let met = conditions_met(resource, shown.status);
    for (known, met) in resource.conditions.iter_mut().zip(met) {
        if known.is_none_or(|(known, _)| known != met) {
            *known = Some((met, at));
        }
    }
    if first_time || told || turned || renewed {
        return tell_dependents(state, name, first_time, renewed && !first_time);
    }
    Vec::new()
}

fn is_ready(resource: &ResourceState, now: &Runtime) -> bool {
    let succeeded = resource.last().is_some_and(|last| last.failure.is_none());
    !resource.disabled && resource.started_once && resource.update.is_none() && succeeded && now.is_good()
}

fn note_standing(state: &mut State, name: &ResourceName, standing: Standing) {
    let settled = &mut state.settled;
    settled.waiting.remove(name);
    settled.failed.remove(name);
    match standing {
        Standing::Idle | Standing::Ready => {}
        Standing::Waiting => {
            settled.waiting.insert(name.clone());
        }
        Standing::Failed(cause) => {
            settled.failed.insert(name.clone(), cause);
        }
    }
}

/// Those that wait for it see how far it is; with the cascade, those that built on it do so again.
fn tell_dependents(
    state: &mut State,
    name: &ResourceName,
    first_time: bool,
    renewed: bool,
) -> Vec<ResourceName> {
    let dependents: Vec<ResourceName> = state.dependents.get(name).into_iter().flatten().cloned().collect();
    let mut concerned = Vec::new();
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
            concerned.push(dependent);
        }
    }
    concerned
}

/// How it stands, and when that may change without anything happening.
fn standing(
    state: &State,
    resource: &ResourceState,
    now: &Runtime,
    ready: bool,
) -> (Standing, Option<Timestamp>) {
    let expected = resource.spec.auto_init || resource.started_once || resource.triggered.is_some();
    if resource.disabled || !expected {
        return (Standing::Idle, None);
    }
    if resource.update.is_some() || resource.is_pending() {
        return (Standing::Waiting, None);
    }
    if let Some(failure) = resource.last().and_then(|last| last.failure.as_ref()) {
        return (Standing::Failed(failure.to_string()), None);
    }
    if state.options.mode != Mode::Ci {
        return (if ready { Standing::Ready } else { Standing::Waiting }, None);
    }
    if let Some(cause) = trouble(state, resource, now) {
        return in_grace(state, resource, cause);
    }
    if !ready {
        return in_time(state, resource, now);
    }
    match steady_at(state, resource) {
        Some(at) if state.now < at => (Standing::Waiting, Some(at)),
        _ => (Standing::Ready, None),
    }
}

/// What is wrong with it at run time. A job fails once the cluster reports that a pod of it has failed: the first such
/// pod counts, also if another one tries again.
fn trouble(state: &State, resource: &ResourceState, now: &Runtime) -> Option<String> {
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

/// A pod may be in error for a while after the deployment, if the Tiltfile says so.
fn in_grace(state: &State, resource: &ResourceState, cause: String) -> (Standing, Option<Timestamp>) {
    let deployed = resource.last().map(|last| last.finished).filter(|_| resource.kubernetes().is_some());
    let (Some(period), Some(deployed)) = (grace(state), deployed) else {
        return (Standing::Failed(cause), None);
    };
    let end = deployed.plus(period);
    if state.now < end {
        return (Standing::Waiting, Some(end));
    }
    (Standing::Failed(format!("exceeded grace period: {cause}")), None)
}

/// A server that runs must become ready in time. What has not begun to run is left to the timeout of the whole.
fn in_time(state: &State, resource: &ResourceState, now: &Runtime) -> (Standing, Option<Timestamp>) {
    let limit = state.settings.ci.readiness_timeout.unwrap_or(CiSettings::READINESS_TIMEOUT);
    let begun = running_since(state, resource).filter(|_| !limit.is_zero());
    let Some(begun) = begun else { return (Standing::Waiting, None) };
    // One that was ready until now has all the time again.
    let lost = if resource.ready.is_ready() { Some(state.now) } else { resource.ready.lost_at() };
    let end = lost.unwrap_or(begun).max(begun).plus(limit);
    if state.now < end {
        return (Standing::Waiting, Some(end));
    }
    let kind = if resource.kubernetes().is_some() { "runtime" } else { "serve" };
    let name = &resource.spec.name;
    let mut words =
        format!("Readiness timeout after {}: target {name}:{kind} not ready", duration::display(limit));
    if let Some(message) = &now.message {
        words.push_str(&format!(" ({message})"));
    }
    (Standing::Failed(words), None)
}

/// When what runs and is not ready was started. Jobs run for as long as they like.
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

/// One that only just started may end at once.
fn steady_at(state: &State, resource: &ResourceState) -> Option<Timestamp> {
    let run = state.commands.get(&Owner::from(&resource.spec.name)).filter(|run| !run.has_probe())?;
    run.running_since().map(|since| since.plus(STEADY))
}
