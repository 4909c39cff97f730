//! Chooses the updates to start and records them, or records why not.
//!
//! Evaluates touched resources only: the others keep their place in the queue and their hold. Idempotent.

mod images;
mod job;
mod producers;
mod readiness;
mod supersede;
mod want;

use std::collections::BTreeMap;

use lilt_model::ResourceName;
use lilt_model::resource::Body;

use crate::apply::request_base;
use crate::cause::Cause;
use crate::controllers::live_update;
use crate::hold::Hold;
use crate::outage::is_retry;
use crate::prune;
use crate::state::{ResourceState, RunningUpdate, State, UpdateKind};

use crate::timeline::{note_hold, record_start};
pub(crate) use images::{delivered, is_same, sharers};
pub(crate) use job::{in_place, is_starting, live_updates_above};
pub(crate) use producers::command_ended;
use readiness::update_readiness;
pub(crate) use supersede::{files_changed, give_up_outdated};
use want::{Want, wanted};

pub fn schedule(state: &mut State) {
    let touched = state.touched_now().cloned().collect();
    evaluate(state, touched);
    start_queued(state);
    live_update::begin_touched_objects(state);
    prune::begin_if_due(state);
}

/// Evaluates `open` and, transitively, everything it unblocks.
fn evaluate(state: &mut State, mut open: Vec<ResourceName>) {
    while let Some(name) = open.pop() {
        state.count_operation();
        if evaluate_resource(state, &name) == Consequence::RequestsBase {
            open.push(ResourceName::new(ResourceName::UNCATEGORIZED));
        }
        open.extend(update_readiness(state, &name));
        open.extend(images::waiting_for(state, &name));
        open.extend(producers::first_builds_after(state, &name));
        if name.is_uncategorized() {
            // Each of them evaluates whether it waits, or still waits.
            open.extend(std::mem::take(&mut state.behind_uncategorized));
            open.extend(deployments_in_queue(state));
        }
    }
}

fn deployments_in_queue(state: &State) -> Vec<ResourceName> {
    let is_deployed = |name: &&ResourceName| {
        !name.is_uncategorized()
            && state.resources.get(*name).is_some_and(|resource| resource.kubernetes().is_some())
    };
    state.queue.names().filter(is_deployed).cloned().collect()
}

/// The resources to evaluate next, besides dependents.
#[derive(PartialEq, Eq)]
enum Consequence {
    None,
    /// `uncategorized` must be deployed first, because objects of it are missing.
    RequestsBase,
}

/// Adds a resource to the queue or removes it, or starts an update that needs no slot.
fn evaluate_resource(state: &mut State, name: &ResourceName) -> Consequence {
    state.behind_uncategorized.remove(name);
    let Some(resource) = state.resources.get(name) else { return Consequence::None };
    let mut want = wanted(state, resource);
    let mut consequence = Consequence::None;
    if matches!(want, Want::Base) {
        request_base(state);
        (want, consequence) = (Want::Hold(Hold::Uncategorized), Consequence::RequestsBase);
    }
    apply_want(state, name, want);
    consequence
}

fn apply_want(state: &mut State, name: &ResourceName, want: Want) {
    let Some(resource) = state.resources.get(name) else { return };
    let alone = resource.runs_alone();
    let now = state.now;
    let (queued, unwatched) = match &want {
        Want::Queue(rank) => (Some(*rank), None),
        Want::Files(rank) => (None, Some(*rank)),
        _ => (None, None),
    };
    let loading = state.is_loading();
    let Some(resource) = state.resources.get_mut(name) else { return };
    if resource.queued != queued {
        if let Some(old) = resource.queued.take() {
            state.queue.remove(old, name);
        }
        if let Some(rank) = queued {
            state.queue.insert(rank, name.clone(), alone);
        }
        resource.queued = queued;
    }
    if resource.unwatched != unwatched {
        if let Some(old) = resource.unwatched.take() {
            state.unwatched.remove(&(old, name.clone()));
        }
        if let Some(rank) = unwatched {
            state.unwatched.insert((rank, name.clone()));
        }
        resource.unwatched = unwatched;
    }
    let looped = matches!(resource.hold, Some(Hold::Loop { .. }));
    resource.hold = match want {
        Want::Nothing | Want::Base => None,
        Want::Hold(hold) => Some(hold),
        Want::Files(_) => Some(Hold::Files),
        Want::Queue(_) if loading => Some(Hold::Tiltfile),
        Want::Queue(_) => Some(Hold::Slot { alone }),
        Want::LiveUpdate(cause, snapshot) => {
            start_live_update(state, name, cause, snapshot);
            return;
        }
    };
    if resource.hold == Some(Hold::Uncategorized) {
        state.behind_uncategorized.insert(name.clone());
    }
    let begins_to_loop = matches!(resource.hold, Some(Hold::Loop { .. })) && !looped;
    if !resource.is_pending() {
        resource.pending_since = None;
    } else if resource.pending_since.is_none() {
        resource.pending_since = Some(now);
    }
    if begins_to_loop {
        note_hold(state, name);
    }
}

fn start_queued(state: &mut State) {
    // A load may change what is about to start.
    if state.is_loading() || state.queue.is_empty() {
        return;
    }
    let limit = usize::try_from(state.settings.max_parallel_updates.max(1)).unwrap_or(usize::MAX);
    while state.updating.len() < limit && !state.updating.values().any(|alone| *alone) {
        let Some((rank, name)) = state.queue.first(state.updating.len()).cloned() else { return };
        // An earlier resource that only waits for its watches, a matter of milliseconds, keeps its turn.
        if state.unwatched.first().is_some_and(|(earlier, _)| *earlier < rank) {
            return;
        }
        state.count_operation();
        start(state, &name);
        let mut changed = update_readiness(state, &name);
        changed.extend(images::in_queue_with(state, &name));
        changed.extend(producers::first_builds_after(state, &name));
        if name.is_uncategorized() {
            changed.extend(deployments_in_queue(state));
        }
        evaluate(state, changed);
    }
}

fn start(state: &mut State, name: &ResourceName) {
    let id = state.next_sequence();
    let Some(resource) = state.resources.get(name) else { return };
    let cause = cause_of(state, resource);
    let job = job::job(state, resource, &cause, id);
    let cluster = state.cluster_of(name);
    let default_namespace = state.clusters.get(&cluster).info.as_ref().map(|info| info.namespace.clone());
    let now = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return };
    if let Some(rank) = resource.queued.take() {
        state.queue.remove(rank, name);
    }
    let by_files_alone = matches!(cause, Cause::Files(_)) && resource.triggered.is_none();
    resource.looping.note_start(by_files_alone);
    let corrects = matches!(cause, Cause::Drift(_));
    resource.update = Some(Box::new(RunningUpdate {
        id,
        cause,
        waited_since: resource.pending_since,
        started: now,
        snapshot: id,
        kind: UpdateKind::Job(job),
        stages: Vec::new(),
        built: BTreeMap::new(),
        before: resource.before(),
    }));
    resource.attempted = id;
    resource.started_once = true;
    resource.switched_on = false;
    let was_triggered = resource.triggered.take().is_some();
    resource.reconfigured = None;
    resource.renewed_dependencies.clear();
    resource.hold = None;
    resource.pending_since = None;
    if let Some(kubernetes) = resource.kubernetes_mut() {
        kubernetes.fall_back = false;
        let corrections = &mut kubernetes.drifting.corrections;
        *corrections = if corrects { *corrections + 1 } else { 0 };
    }
    state.updating.insert(name.clone(), resource.runs_alone());
    if let Body::Kubernetes(spec) = &resource.spec.body {
        // Pods are watched before they exist, so that none is missed.
        let namespaces = spec.objects.iter().filter_map(|object| {
            let named = object.pointer("/metadata/namespace").and_then(serde_json::Value::as_str);
            named.map(str::to_owned).or_else(|| default_namespace.clone())
        });
        let known = &mut state.clusters.get_mut(&cluster).namespaces;
        let before = known.len();
        known.extend(namespaces);
        if known.len() > before {
            state.touch_session();
        }
    }
    if was_triggered {
        // The session lists the triggered resources.
        state.touch_session();
    }
    record_start(state, name);
    state.touch(name);
}

fn start_live_update(state: &mut State, name: &ResourceName, cause: Cause, snapshot: u64) {
    let id = state.next_sequence();
    let now = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return };
    let Some(kubernetes) = resource.kubernetes_mut() else { return };
    let run = live_update::begin(kubernetes, id, &cause, now, snapshot);
    resource.update = Some(Box::new(RunningUpdate {
        id,
        cause,
        waited_since: resource.pending_since,
        started: now,
        snapshot,
        kind: UpdateKind::Live(run),
        stages: Vec::new(),
        built: BTreeMap::new(),
        before: resource.before(),
    }));
    resource.attempted = resource.attempted.max(snapshot);
    let was_triggered = resource.triggered.take().is_some();
    resource.hold = None;
    resource.pending_since = None;
    if was_triggered {
        state.touch_session();
    }
    record_start(state, name);
    state.touch(name);
}

fn cause_of(state: &State, resource: &ResourceState) -> Cause {
    let files = || job::new_changes(resource).into_iter().map(|path| state.shown(path)).collect::<Vec<_>>();
    if resource.forces_full_update() || is_retry(resource, &Cause::Triggered) {
        Cause::Triggered
    } else if resource.switched_on {
        Cause::Enabled
    } else if !resource.started_once {
        Cause::Initial
    } else if resource.has_new_changes() {
        Cause::Files(files())
    } else if let Some((_, files)) = &resource.reconfigured {
        Cause::Configuration(files.clone())
    } else if !resource.renewed_dependencies.is_empty() {
        Cause::Dependencies(resource.renewed_dependencies.iter().cloned().collect())
    } else if let Some(pending_retry) = &resource.pending_retry {
        pending_retry.cause.clone()
    } else if resource.kubernetes().is_some_and(|kubernetes| kubernetes.fall_back) {
        Cause::LiveUpdateFailed
    } else if let Some(words) = resource.kubernetes().and_then(|kubernetes| kubernetes.drifting.words()) {
        Cause::Drift(words)
    } else {
        Cause::Replaced
    }
}
