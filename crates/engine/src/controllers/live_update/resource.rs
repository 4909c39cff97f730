//! Live updates of resources: each is an update of its own, which ends when all containers have answered.
//!
//! Whether a resource is updated in place or built and deployed is decided by the scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;

use lilt_model::cluster::{Container, ContainerState, Pod};
use lilt_model::files::{ChangedPath, FileSet, IgnoreRule};
use lilt_model::image::ImageTarget;
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::log::Level;
use lilt_model::resource::Body;
use lilt_model::{ContainerId, Failure, ImageName, ResourceName, Timestamp};
use serde::Serialize;

use super::plan::SyncPlan;
use super::state::{ContainerJob, SyncContainer};
use crate::apply::{finish_update, take_update};
use crate::cause::Cause;
use crate::event::{SyncFault, WatchId};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::state::{ImageState, KubernetesState, ResourceState, State, UpdateKind, runs};
use crate::timeline::record_missed_container;

/// A live update that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LiveUpdateRun {
    /// The containers that have not answered yet, with their names for people.
    pending: BTreeMap<ContainerId, String>,
    failure: Option<Failure>,
}

impl LiveUpdateRun {
    /// Returns how many containers have not answered yet.
    pub(crate) fn pending_count(&self) -> usize {
        self.pending.len()
    }
}

/// What containers of a resource need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeededSync {
    /// Changed files.
    Changes,
    /// All synced files, at least one of them.
    Everything,
}

fn changes(image: &ImageState) -> impl Iterator<Item = (&ChangedPath, u64)> {
    image.changes.iter().map(|(path, number)| (path, *number))
}

/// Returns the job of each container that lacks some of the changes up to `snapshot`.
fn jobs(
    kubernetes: &KubernetesState,
    snapshot: u64,
) -> impl Iterator<Item = (&ImageName, &ContainerId, &SyncContainer, ContainerJob)> {
    kubernetes.images.iter().flat_map(move |(name, image)| {
        image.containers.iter().filter_map(move |(id, container)| {
            Some((name, id, container, container.job_for(changes(image), snapshot)?))
        })
    })
}

/// Returns what containers need to have all changes up to `snapshot`; none if they have them.
pub(crate) fn needed_sync(kubernetes: &KubernetesState, snapshot: u64) -> Option<NeededSync> {
    let everything = jobs(kubernetes, snapshot).map(|(_, _, _, job)| job.everything);
    everything.reduce(|one, other| one || other).map(|everything| match everything {
        true => NeededSync::Everything,
        false => NeededSync::Changes,
    })
}

/// Gives every container what it lacks of the changes up to `snapshot`.
pub(crate) fn begin(
    kubernetes: &mut KubernetesState,
    run: u64,
    cause: &Cause,
    started: Timestamp,
    snapshot: u64,
) -> LiveUpdateRun {
    let mut jobs: Vec<(ImageName, ContainerId, String, ContainerJob)> = jobs(kubernetes, snapshot)
        .map(|(image, id, container, job)| (image.clone(), id.clone(), container.display_name(), job))
        .collect();
    jobs.sort_by(|one, other| one.1.cmp(&other.1));
    let mut pending = BTreeMap::new();
    for (image, id, name, job) in jobs {
        // One of them reports for all.
        let cause = pending.is_empty().then(|| cause.clone());
        let containers = kubernetes.images.get_mut(&image).map(|image| &mut image.containers.0);
        if let Some(container) = containers.and_then(|containers| containers.get_mut(&id)) {
            container.job = Some(ContainerJob { run, cause, started, ..job });
            pending.insert(id, name);
        }
    }
    LiveUpdateRun { pending, failure: None }
}

/// The tasks of one resource.
pub(super) fn plan(state: &State, owner: &Owner, name: &ResourceName) -> Plan {
    let mut plan = Plan::new();
    let Some(resource) = state.resources.get(name) else { return plan };
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&resource.spec.body, resource.kubernetes()) else {
        return plan;
    };
    for image in &spec.images {
        let Some(known) = kubernetes.images.get(&image.name).filter(|known| !known.containers.is_empty())
        else {
            continue;
        };
        let Some(live_update) = &image.live_update else { continue };
        let sync = SyncPlan {
            live_update: live_update.clone(),
            without_agent: spec.without_agent,
            ignored: ignored(spec, image),
            resource: name.clone(),
            unattended: state.is_unattended(),
        };
        plan.extend(known.containers.iter().map(|(id, container)| sync.task(owner, id, container)));
    }
    plan
}

/// No files, but what is ignored of the image's files and of those of all that it is built on: a sync may begin in any of
/// these.
fn ignored(spec: &KubernetesResource, image: &ImageTarget) -> FileSet {
    let mut ignores: Vec<IgnoreRule> = Vec::new();
    for rule in spec.with_bases(image).into_iter().flat_map(|image| &image.files.ignores) {
        if !ignores.contains(rule) {
            ignores.push(rule.clone());
        }
    }
    FileSet::new(Vec::new(), ignores)
}

pub(super) fn synced(
    state: &mut State,
    name: &ResourceName,
    id: u64,
    container: &ContainerId,
    outcome: Result<(), SyncFault>,
) {
    let now = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return };
    let Some(update) = resource.update.as_mut().filter(|update| update.id == id) else { return };
    let snapshot = update.snapshot;
    let UpdateKind::Live(run) = &mut update.kind else { return };
    let Some(container_name) = run.pending.remove(container) else { return };
    run.failure = match &outcome {
        Ok(()) | Err(SyncFault::Gone) => run.failure.take(),
        Err(SyncFault::Step(failure) | SyncFault::Transport(failure) | SyncFault::Closed(failure)) => {
            Some(failure.clone())
        }
    };
    let watches = std::mem::take(&mut resource.watches);
    if let Some(kubernetes) = resource.kubernetes_mut() {
        let needs_build = matches!(outcome, Err(SyncFault::Transport(_) | SyncFault::Closed(_)));
        kubernetes.fall_back |= needs_build;
        for (image_name, image) in &mut kubernetes.images {
            let Some(container) = image.containers.0.get_mut(container) else { continue };
            let watch = watches.get(&WatchId::Image(name.clone(), image_name.clone()));
            let saved = |job: &ContainerJob| watch.and_then(|watch| watch.events().last_of(&job.paths));
            if container.finish(id, &outcome, saved, now).is_none() {
                continue;
            }
            image.stale |= needs_build;
            image.closed |= matches!(outcome, Err(SyncFault::Closed(_)));
            if container.agent && matches!(outcome, Ok(()) | Err(SyncFault::Step(_))) {
                image.lasting = image.lasting.max(snapshot);
            }
        }
    }
    resource.watches = watches;
    if outcome == Err(SyncFault::Gone) {
        record_missed_container(state, name, container_name);
    }
    state.touch(name);
    finish_if_answered(state, name);
}

/// Ends the jobs of containers that are gone: nobody will answer.
pub(crate) fn drop_missing_jobs(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get_mut(name) else { return };
    let Some(mut update) = resource.update.take() else { return };
    let mut missing = Vec::new();
    if let UpdateKind::Live(run) = &mut update.kind {
        let images = resource.kubernetes().into_iter().flat_map(|kubernetes| kubernetes.images.values());
        let images: Vec<&ImageState> = images.collect();
        run.pending.retain(|id, name| {
            let has_job = |image: &&ImageState| image.containers.0.get(id).is_some_and(|it| it.job.is_some());
            let is_there = images.iter().any(has_job);
            if !is_there {
                missing.push(std::mem::take(name));
            }
            is_there
        });
    }
    resource.update = Some(update);
    for container in missing {
        record_missed_container(state, name, container);
    }
    finish_if_answered(state, name);
}

fn finish_if_answered(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get_mut(name) else { return };
    let Some(update) = &mut resource.update else { return };
    let UpdateKind::Live(run) = &mut update.kind else { return };
    if !run.pending.is_empty() {
        return;
    }
    let (id, failure) = (update.id, run.failure.take());
    let Some(update) = take_update(state, name, id) else { return };
    let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else {
        return;
    };
    kubernetes.images.values_mut().for_each(|image| image.forget_transient(update.snapshot));
    let is_followed_by_build = kubernetes.fall_back;
    // Once, after what the containers report.
    if let Some(failure) = failure.as_ref().filter(|_| !is_followed_by_build) {
        state.note_update(name, update.id, Level::Error, format!("ERROR: Build Failed: {failure}"));
    }
    finish_update(state, name, update, false, failure, Vec::new());
}

/// Gives up what containers are being given by an update that was cancelled.
pub(crate) fn cancel(kubernetes: &mut KubernetesState, kind: &UpdateKind, snapshot: u64) {
    for container in kubernetes.images.values_mut().flat_map(|image| image.containers.values_mut()) {
        container.record_tried(container.has_or_tried().max(snapshot));
        container.give_up();
    }
    // Where copying was cut off, nobody knows what the container has.
    if kind.is_live() {
        kubernetes.images.values_mut().for_each(|image| image.stale = true);
    }
}

/// The runner of a container panicked. Returns the update that it was a part of.
pub(super) fn note_broken(state: &mut State, name: &ResourceName, container: &ContainerId) -> Option<u64> {
    let resource = state.resources.get_mut(name)?;
    let id = resource.update.as_ref().filter(|update| update.kind.is_live())?.id;
    let images = resource.kubernetes_mut()?.images.values_mut();
    for container in images.filter_map(|image| image.containers.0.get_mut(container)) {
        container.given_up = id;
    }
    Some(id)
}

/// Follows which containers of an image run in these pods.
pub(crate) fn follow_containers(image: &mut ImageState, target: &ImageTarget, pods: &[Arc<Pod>]) {
    let mut known = std::mem::take(&mut image.containers.0);
    let is_of = |container: &Container| runs(image.reference.as_ref(), target, container);
    let initial_sync = target.live_update.as_ref().is_some_and(|live_update| live_update.initial_sync);
    let restarts =
        target.live_update.as_ref().is_some_and(|live_update| live_update.restart_process.is_some());
    let has_agent = |pod: &Arc<Pod>| pod.containers.iter().any(|it| it.agent && is_of(it));
    image.has_stopped_containers = false;
    let left_out = restarts && pods.iter().any(|pod| !pod.deleting && has_agent(pod));
    for pod in pods.iter().filter(|pod| !pod.deleting) {
        // A controller may run its own image in pods that it creates: no update and no deployment of ours restarts those.
        if left_out && pod.template_hash.is_none() && !has_agent(pod) {
            continue;
        }
        for container in pod.containers.iter().filter(|container| !container.init) {
            let running = matches!(container.state, ContainerState::Running { .. });
            let id = container.id.clone().filter(|_| running && is_of(container));
            image.has_stopped_containers |=
                id.is_none() && is_of(container) && !container.has_ended_for_good();
            if let Some(id) = id {
                let new = || {
                    let (pod, agent) = (pod.reference(), container.agent);
                    SyncContainer::new(pod, &container.name, agent, image.built, initial_sync)
                };
                let container = known.remove(&id).unwrap_or_else(new);
                image.containers.0.insert(id, container);
            }
        }
    }
}
