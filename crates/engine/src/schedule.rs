//! Chooses the updates to start and records them, or records why not.
//!
//! Looks at touched resources only: what is not touched keeps its place in the queue and its hold. Doing it twice
//! changes nothing.

mod job;

use lilt_model::ResourceName;
use lilt_model::image::ImageTarget;
use lilt_model::resource::Body;

use crate::cause::Cause;
use crate::hold::Hold;
use crate::runtime::runtime;
use crate::state::{BodyState, LiveUpdateRun, Rank, ResourceState, RunningUpdate, State, UpdateKind};

pub(crate) use job::in_place;
use job::{Choice, choose};

pub fn schedule(state: &mut State) {
    let mut touched: Vec<ResourceName> = state.touched_now().cloned().collect();
    // Settling one may wake those that depend on it.
    while let Some(name) = touched.pop() {
        touched.extend(settle(state, &name));
        reconsider(state, &name);
    }
    start_queued(state);
}

/// What a resource wants.
enum Want {
    Nothing,
    Hold(Hold),
    Queue(Rank),
    /// As soon as its files are watched.
    Files(Rank),
    LiveUpdate(LiveUpdateRun, Cause, u64),
}

/// Notes readiness; returns the resources that waited for it.
fn settle(state: &mut State, name: &ResourceName) -> Vec<ResourceName> {
    let Some(resource) = state.resources.get(name) else { return Vec::new() };
    let now = runtime(state, resource);
    let failure = resource.last().and_then(|last| last.failure.as_ref());
    let updated = resource.started_once && resource.update.is_none() && failure.is_none();
    let ready = updated && resource.last().is_some() && now.is_good();
    let expected = !resource.disabled && (resource.spec.auto_init || resource.started_once);
    let settled = &mut state.settled;
    settled.waiting.remove(name);
    settled.failed.remove(name);
    match failure.filter(|_| resource.update.is_none()) {
        Some(failure) => {
            settled.failed.insert(name.clone(), failure.to_string());
        }
        None if now.status == lilt_model::api::RuntimeStatus::Error => {
            settled.failed.insert(name.clone(), now.message.unwrap_or_default());
        }
        None if expected && !ready => {
            settled.waiting.insert(name.clone());
        }
        None => {}
    }
    let first_time = ready && !resource.ready_once;
    if let Some(resource) = state.resources.get_mut(name).filter(|_| first_time) {
        resource.ready_once = true;
        return wake_dependents(state, name);
    }
    Vec::new()
}

fn wake_dependents(state: &mut State, name: &ResourceName) -> Vec<ResourceName> {
    let dependents: Vec<ResourceName> = state.dependents.get(name).into_iter().flatten().cloned().collect();
    for dependent in &dependents {
        if let Some(resource) = state.resources.get_mut(dependent) {
            resource.unmet.remove(name);
        }
        state.touch(dependent);
    }
    dependents
}

/// Puts a resource into the queue, or out of it, or starts what needs no slot.
fn reconsider(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get(name) else { return };
    let want = wanted(state, resource);
    let alone = resource.runs_alone();
    let now = state.now;
    let (queued, unwatched) = match &want {
        Want::Queue(rank) => (Some(*rank), None),
        Want::Files(rank) => (None, Some(*rank)),
        _ => (None, None),
    };
    let loading = state.tiltfile.loading.is_some();
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
    resource.hold = match want {
        Want::Nothing => None,
        Want::Hold(hold) => Some(hold),
        Want::Files(_) => Some(Hold::Files),
        Want::Queue(_) if loading => Some(Hold::Tiltfile),
        Want::Queue(_) => Some(Hold::Slot),
        Want::LiveUpdate(run, cause, snapshot) => {
            start_live_update(state, name, run, cause, snapshot);
            return;
        }
    };
    let pending = queued.is_some() || matches!(&resource.hold, Some(hold) if is_pending(hold));
    if !pending {
        resource.pending_since = None;
    } else if resource.pending_since.is_none() {
        resource.pending_since = Some(now);
    }
}

fn is_pending(hold: &Hold) -> bool {
    !matches!(hold, Hold::Trigger { changed: false })
}

fn wanted(state: &State, resource: &ResourceState) -> Want {
    if resource.update.is_some() || resource.disabled {
        return Want::Nothing;
    }
    let rank = match rank(resource) {
        Ok(Some(rank)) => rank,
        Ok(None) => return Want::Nothing,
        Err(hold) => return Want::Hold(hold),
    };
    if state.cleaning.contains_key(&resource.spec.name) {
        return Want::Hold(Hold::Cleanup);
    }
    if resource.watches.values().any(|watch| !watch.ready) {
        return Want::Files(rank);
    }
    if !resource.started_once && !resource.unmet.is_empty() {
        return Want::Hold(Hold::Dependencies { on: resource.unmet.iter().cloned().collect() });
    }
    if resource.kubernetes().is_none() {
        return Want::Queue(rank);
    }
    if state.cluster.info.is_none() {
        return Want::Hold(Hold::Cluster { failure: state.cluster.failure.clone() });
    }
    match choose(state, resource) {
        Choice::Deploy => Want::Queue(rank),
        Choice::Wait => Want::Hold(Hold::Container),
        Choice::LiveUpdate(run, cause, snapshot) => Want::LiveUpdate(run, cause, snapshot),
    }
}

/// How urgent its next update is; none if it needs none; an error if it waits for a trigger.
fn rank(resource: &ResourceState) -> Result<Option<Rank>, Hold> {
    if let Some(sequence) = resource.triggered {
        return Ok(Some(Rank::Triggered(sequence)));
    }
    if !resource.started_once && resource.spec.auto_init {
        return Ok(Some(Rank::Initial(first_round(resource), resource.order)));
    }
    let changed = resource.has_new_changes() || resource.reconfigured.is_some();
    if changed && resource.is_automatic() {
        return Ok(Some(Rank::Changed(resource.newest_change())));
    }
    if is_behind(resource) {
        return Ok(Some(Rank::Changed(resource.attempted)));
    }
    if changed || !resource.started_once {
        return Err(Hold::Trigger { changed });
    }
    Ok(None)
}

/// The containers lack something that an earlier update brought.
fn is_behind(resource: &ResourceState) -> bool {
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&resource.spec.body, resource.kubernetes()) else {
        return false;
    };
    let behind = |image: &ImageTarget| {
        let state = kubernetes.images.get(&image.name);
        state
            .is_some_and(|state| !job::needs_build(image, Some(state)) && state.is_behind(resource.attempted))
    };
    kubernetes.fall_back || spec.images.iter().any(behind)
}

fn first_round(resource: &ResourceState) -> u8 {
    match &resource.spec.body {
        Body::Local(_) | Body::Compose(_) => 0,
        Body::Kubernetes(_) if resource.spec.name.as_str() == "uncategorized" => 1,
        Body::Kubernetes(kubernetes) if kubernetes.images.is_empty() => 2,
        Body::Kubernetes(_) => 3,
    }
}

fn start_queued(state: &mut State) {
    // A load may change what is about to start.
    if state.tiltfile.loading.is_some() || state.queue.is_empty() {
        return;
    }
    let limit = usize::try_from(state.settings.max_parallel_updates.max(1)).unwrap_or(usize::MAX);
    while state.updating.len() < limit && !state.updating.values().any(|alone| *alone) {
        let Some((rank, name)) = state.queue.first(state.updating.len()).cloned() else { return };
        // One that comes before it and is only waiting for its watches, a matter of milliseconds, keeps its turn.
        if state.unwatched.first().is_some_and(|(earlier, _)| *earlier < rank) {
            return;
        }
        start(state, &name);
    }
}

fn start(state: &mut State, name: &ResourceName) {
    let id = state.next_sequence();
    let Some(resource) = state.resources.get(name) else { return };
    let cause = cause_of(state, resource);
    let job = job::job(state, resource, &cause, id);
    let default_namespace = state.cluster.info.as_ref().map(|info| info.namespace.clone());
    let now = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return };
    if let Some(rank) = resource.queued.take() {
        state.queue.remove(rank, name);
    }
    resource.update =
        Some(RunningUpdate { id, cause, started: now, snapshot: id, kind: UpdateKind::Job(job) });
    resource.attempted = id;
    resource.started_once = true;
    resource.switched_on = false;
    resource.triggered = None;
    resource.reconfigured = None;
    resource.hold = None;
    resource.pending_since = None;
    if let Some(kubernetes) = resource.kubernetes_mut() {
        kubernetes.fall_back = false;
    }
    state.updating.insert(name.clone(), resource.runs_alone());
    if let Body::Kubernetes(spec) = &resource.spec.body {
        // Its pods are followed from before they exist, so that none is missed.
        let namespaces = spec.objects.iter().filter_map(|object| {
            let named = object.pointer("/metadata/namespace").and_then(serde_json::Value::as_str);
            named.map(str::to_owned).or_else(|| default_namespace.clone())
        });
        let before = state.cluster.namespaces.len();
        state.cluster.namespaces.extend(namespaces);
        if state.cluster.namespaces.len() > before {
            state.touch_session();
        }
    }
    state.touch(name);
    settle(state, name);
}

fn start_live_update(
    state: &mut State,
    name: &ResourceName,
    run: LiveUpdateRun,
    cause: Cause,
    snapshot: u64,
) {
    let id = state.next_sequence();
    let now = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return };
    resource.update = Some(RunningUpdate { id, cause, started: now, snapshot, kind: UpdateKind::Live });
    resource.attempted = resource.attempted.max(snapshot);
    resource.triggered = None;
    resource.hold = None;
    resource.pending_since = None;
    if let BodyState::Kubernetes(kubernetes) = &mut resource.body {
        kubernetes.live_update = Some(run);
    }
    state.touch(name);
    settle(state, name);
}

fn cause_of(state: &State, resource: &ResourceState) -> Cause {
    let files = || job::new_changes(resource).map(|path| state.shown(path)).collect::<Vec<_>>();
    if resource.triggered.is_some() {
        Cause::Triggered
    } else if resource.switched_on {
        Cause::Enabled
    } else if !resource.started_once {
        Cause::Initial
    } else if resource.has_new_changes() {
        Cause::Files(files())
    } else if let Some((_, files)) = &resource.reconfigured {
        Cause::Configuration(files.clone())
    } else if resource.kubernetes().is_some_and(|kubernetes| kubernetes.fall_back) {
        Cause::LiveUpdateFailed
    } else {
        Cause::Replaced
    }
}
