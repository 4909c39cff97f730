//! Updates end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lilt_model::kubernetes::{DiscoveryStrategy, ObjectRef};
use lilt_model::log::Level;
use lilt_model::resource::{Body, LocalResource};
use lilt_model::{ContainerId, Failure, FailureKind, ImageName, ResourceName, Uid};
use serde_json::Value;

use crate::apply::{drift, images, load, pods};
use crate::controllers::command::{self, CommandSpec, OnExit};
use crate::event::{CommandExit, Deployed, SyncFault, UpdateOutcome, WatchId};
use crate::objects;
use crate::outage;
use crate::owner::Owner;
use crate::prune;
use crate::schedule;
use crate::state::{
    BodyState, ContainerJob, FinishedUpdate, InitialSync, Progress, ResourceState, RunningUpdate, State,
    UpdateCommand, UpdateKind,
};
use crate::task::{CleanupReason, Leftovers};
use crate::telemetry;
use crate::timeline::{self, Outcome, container_missed};

/// Tilt's words: scripts look for them.
pub(super) const CANCELLED: &str = "build canceled";

/// The signal that asks a command to end.
const TERMINATED: i32 = 15;

pub(super) fn ended(state: &mut State, name: &ResourceName, id: u64, outcome: UpdateOutcome) {
    let Some(update) = take(state, name, id) else { return };
    let now = state.now;
    prune::note_update(state, !outcome.images.is_empty());
    let Some(whole) = state.resources.get(name).map(|resource| Arc::clone(&resource.spec)) else { return };
    if matches!(&whole.body, Body::Local(local) if local.update.is_some()) {
        schedule::command_ended(state, name, update.started);
    }
    let Some(resource) = state.resources.get_mut(name) else { return };
    let built: Vec<ImageName> = outcome.images.iter().map(|(name, _)| name.clone()).collect();
    match (&mut resource.body, &whole.body) {
        (BodyState::Local(local), Body::Local(spec)) => {
            local.changes.retain(|_, at| *at > update.snapshot);
            if outcome.failure.is_none() {
                restart_server(state, name, spec);
            }
        }
        (BodyState::Kubernetes(kubernetes), Body::Kubernetes(spec)) => {
            for record in outcome.builds {
                if let Some(image) = kubernetes.images.get_mut(&record.image) {
                    image.last_build = Some(record);
                }
            }
            for (name, reference) in outcome.images.into_iter().chain(images::taken_over(kubernetes, &update))
            {
                let live_update = spec.image(&name).and_then(|image| image.live_update.as_ref());
                if let Some(image) = kubernetes.images.get_mut(&name) {
                    image.record_build(reference, update.snapshot, live_update);
                    image.built_during = Some((update.started, now));
                }
            }
            if outcome.failure.is_some() {
                // What was tried is not tried again by itself.
                for progress in kubernetes.images.values_mut().flat_map(|image| image.containers.values_mut())
                {
                    progress.tried = update.snapshot;
                }
            }
            if let Some(deployed) = outcome.deployed {
                kubernetes.changes.retain(|_, at| *at > update.snapshot);
                for image in spec.images.iter().filter(|image| !image.is_built()) {
                    if let Some(known) = kubernetes.images.get_mut(&image.name) {
                        known.record_deployment(update.snapshot, image.live_update.as_ref());
                        if spec.custom_deploy.is_some() {
                            // A command deploys the files as they are: new containers have them.
                            known.built = update.snapshot;
                            // So have those that it made before it ended, such as a command that waits for its pods.
                            let is_new = |progress: &&mut Progress| {
                                let pod = state.pods.known.get(&progress.pod);
                                pod.is_some_and(|pod| pod.created >= update.started)
                            };
                            for progress in known.containers.values_mut().filter(is_new) {
                                progress.has = progress.has.max(update.snapshot);
                            }
                        }
                    }
                }
                let dropped = match &spec.custom_deploy {
                    None => no_longer_named(kubernetes.applied(), &spec.objects),
                    Some(_) => no_longer_deployed(kubernetes.applied(), &deployed),
                };
                kubernetes.applied = Some(Arc::clone(&whole));
                kubernetes.applied_during = Some((update.started, now));
                record_deployed(state, name, deployed);
                let dropped = Leftovers::objects(spec.cluster.clone(), dropped);
                load::clean_up(state, name, dropped, CleanupReason::Unnamed);
            }
        }
        _ => {}
    }
    outage::note(state, name, &update, outcome.failure.as_ref());
    finish(state, name, update, !built.is_empty(), outcome.failure, outcome.warnings);
    for image in &built {
        objects::image_changed(state, image);
    }
    drift::update_ended(state, name);
}

/// Starts the server of a resource that was updated, or ends the one that it had.
fn restart_server(state: &mut State, name: &ResourceName, spec: &LocalResource) {
    let owner = Owner::from(name);
    let Some(command) = spec.serve.clone() else { return command::stop(state, &owner) };
    let (probe, resource) = (spec.readiness_probe.clone(), Some(name.clone()));
    command::start(state, &owner, CommandSpec { command, probe, on_exit: OnExit::Fail, resource });
}

/// The running update with this number, taken out; none if it is stale.
pub(super) fn take(state: &mut State, name: &ResourceName, id: u64) -> Option<RunningUpdate> {
    let update = state.resources.get_mut(name)?.update.take_if(|update| update.id == id)?;
    state.updating.remove(name);
    end_commands(state, name, id);
    state.touch(name);
    Some(*update)
}

pub(super) fn command_started(
    state: &mut State,
    name: &ResourceName,
    id: u64,
    image: Option<&ImageName>,
    pid: u32,
) {
    let since = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return };
    let is_running = resource.update.as_ref().is_some_and(|update| update.id == id);
    if let Some(command) = command_of(resource, image).filter(|_| is_running) {
        *command = Some(UpdateCommand { update: id, pid, since, ended: None });
        state.touch(name);
    }
}

pub(super) fn command_ended(
    state: &mut State,
    name: &ResourceName,
    id: u64,
    image: Option<&ImageName>,
    exit: CommandExit,
) {
    let now = state.now;
    let Some(resource) = state.resources.get_mut(name) else { return };
    let is_running = resource.update.as_ref().is_some_and(|update| update.id == id);
    let Some(command) = command_of(resource, image).filter(|_| is_running) else { return };
    let ended = Some((now, exit));
    *command = match command.take().filter(|command| command.update == id) {
        Some(known) => Some(UpdateCommand { ended, ..known }),
        // It could not be started.
        None => Some(UpdateCommand { update: id, pid: 0, since: now, ended }),
    };
    state.touch(name);
}

fn command_of<'r>(
    resource: &'r mut ResourceState,
    image: Option<&ImageName>,
) -> Option<&'r mut Option<UpdateCommand>> {
    match (&mut resource.body, image) {
        (BodyState::Local(local), None) => Some(&mut local.command),
        (BodyState::Kubernetes(kubernetes), Some(image)) => {
            Some(&mut kubernetes.images.get_mut(image)?.command)
        }
        _ => None,
    }
}

/// What still runs of an update that is over is asked to end.
fn end_commands(state: &mut State, name: &ResourceName, id: u64) {
    let ended = (state.now, CommandExit::Signal(TERMINATED));
    let Some(resource) = state.resources.get_mut(name) else { return };
    let commands: Vec<&mut UpdateCommand> = match &mut resource.body {
        BodyState::Local(local) => local.command.iter_mut().collect(),
        BodyState::Kubernetes(it) => it.images.values_mut().filter_map(|it| it.command.as_mut()).collect(),
    };
    for command in commands.into_iter().filter(|command| command.update == id) {
        command.ended.get_or_insert_with(|| ended.clone());
    }
}

pub(super) fn finish(
    state: &mut State,
    name: &ResourceName,
    update: RunningUpdate,
    has_built: bool,
    failure: Option<Failure>,
    warnings: Vec<String>,
) {
    let now = state.now;
    let outcome = match &failure {
        None => Outcome::Ok,
        Some(failure) if failure.kind == FailureKind::Cancelled => Outcome::Cancelled,
        Some(_) => Outcome::Failed,
    };
    timeline::record_end(state, name, &update, outcome, failure.as_ref());
    telemetry::record_update(state, name, &update, has_built, failure.is_none());
    if let Some(resource) = state.resources.get_mut(name) {
        resource.superseded = 0;
        resource.renewed |= failure.is_none();
        resource.remember(FinishedUpdate {
            id: update.id,
            cause: update.cause,
            started: update.started,
            finished: now,
            failure,
            warnings,
            live: update.kind == UpdateKind::Live,
        });
    }
}

fn no_longer_named(before: &[Value], now: &[Value]) -> Vec<Value> {
    let named: BTreeSet<ObjectRef> = now.iter().filter_map(ObjectRef::of).collect();
    let gone = |object: &&Value| ObjectRef::of(object).is_some_and(|object| !named.contains(&object));
    before.iter().filter(gone).cloned().collect()
}

/// The same where a command deploys from now on.
fn no_longer_deployed(before: &[Value], deployed: &Deployed) -> Vec<Value> {
    let gone = |object: &&Value| {
        ObjectRef::of(object).is_some_and(|old| !deployed.objects.iter().any(|(new, _)| old.means(new)))
    };
    before.iter().filter(gone).cloned().collect()
}

fn record_deployed(state: &mut State, name: &ResourceName, deployed: Deployed) {
    let Some(spec) = state.resources.get(name).map(|resource| Arc::clone(&resource.spec)) else { return };
    let Body::Kubernetes(spec) = &spec.body else { return };
    let by_owners = spec.discovery_strategy != Some(DiscoveryStrategy::SelectorsOnly);
    let uids = deployed.objects.iter().filter(|_| by_owners).map(|(_, uid)| uid.clone());
    let uids: Vec<Uid> = uids.collect();
    disown(state, name);
    drift::adopt(state, name, &deployed);
    if !spec.extra_pod_selectors.is_empty() {
        state.pods.selecting.insert(name.clone());
    }
    state.pods.owners.extend(uids.iter().map(|uid| (uid.clone(), name.clone())));
    let namespaces = deployed.objects.iter().map(|(object, _)| &object.namespace);
    let namespaces: BTreeSet<&String> = namespaces.filter(|namespace| !namespace.is_empty()).collect();
    for namespace in namespaces {
        if state.clusters.get_mut(&spec.cluster).namespaces.insert(namespace.clone()) {
            state.touch_session();
        }
    }
    if let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) {
        kubernetes.completed = deployed.completed;
        kubernetes.deployed = Some(deployed);
        // Pods of objects that were replaced are claimed anew or left alone.
        kubernetes.pods.clear();
    }
    pods::claim_known(state, name, &uids);
}

/// Forgets which objects are this resource's.
pub(super) fn disown(state: &mut State, name: &ResourceName) {
    drift::disown(state, name);
    let State { resources, pods, .. } = state;
    pods.selecting.remove(name);
    let deployed =
        resources.get(name).and_then(ResourceState::kubernetes).and_then(|it| it.deployed.as_ref());
    for (_, uid) in deployed.into_iter().flat_map(|deployed| &deployed.objects) {
        // Another resource may have taken the object over.
        if pods.owners.get(uid) == Some(name) {
            pods.owners.remove(uid);
        }
    }
}

/// One container of a live update answered.
pub(super) fn synced(
    state: &mut State,
    name: &ResourceName,
    id: u64,
    container: &ContainerId,
    outcome: Result<(), SyncFault>,
) {
    let now = state.now;
    let is_closed = matches!(outcome, Err(SyncFault::Closed(_)));
    let outcome = outcome.map_err(SyncFault::or_transport);
    let Some(resource) = state.resources.get_mut(name) else { return };
    let Some(snapshot) = resource.update.as_ref().filter(|update| update.id == id).map(|it| it.snapshot)
    else {
        return;
    };
    let Some(run) = resource.kubernetes_mut().and_then(|it| it.live_update.as_mut()) else { return };
    let Some(job) = run.jobs.remove(container) else { return };
    let watch = resource.watches.get(&WatchId::Image(name.clone(), job.image.clone()));
    let saved = if job.everything { Some(now) } else { watch.and_then(|it| it.events.last_of(&job.paths)) };
    let Some(kubernetes) = resource.kubernetes_mut() else { return };
    let Some(run) = &mut kubernetes.live_update else { return };
    match &outcome {
        Ok(()) | Err(SyncFault::Gone) => {}
        Err(SyncFault::Step(failure)) => run.failure = Some(failure.clone()),
        Err(SyncFault::Transport(failure) | SyncFault::Closed(failure)) => {
            run.failure = Some(failure.clone());
            kubernetes.fall_back = true;
        }
    }
    if let Some(image) = kubernetes.images.get_mut(&job.image) {
        image.stale |= matches!(outcome, Err(SyncFault::Transport(_)));
        image.closed |= is_closed;
        if let Some(progress) = image.containers.get_mut(container) {
            progress.tried = snapshot;
            if progress.agent && matches!(outcome, Ok(()) | Err(SyncFault::Step(_))) {
                image.lasting = image.lasting.max(snapshot);
            }
            if outcome.is_ok() {
                progress.has = snapshot;
                progress.synced = saved.max(progress.synced);
            }
            if job.everything {
                progress.initial_sync = if outcome.is_ok() { InitialSync::Done } else { InitialSync::Tried };
            }
            progress.error = match &outcome {
                Err(SyncFault::Step(failure)) => Some(failure.to_string()),
                _ => None,
            };
        }
    }
    if outcome == Err(SyncFault::Gone) {
        container_missed(state, name, job.place);
    }
    state.touch(name);
    finish_live_update(state, name);
}

/// Containers that vanished will never answer.
pub(super) fn drop_lost_jobs(state: &mut State, name: &ResourceName) {
    let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else {
        return;
    };
    let Some(run) = &mut kubernetes.live_update else { return };
    let images = &kubernetes.images;
    let is_there = |id: &ContainerId, job: &ContainerJob| {
        images.get(&job.image).is_some_and(|image| image.containers.contains_key(id))
    };
    let (left, lost) = std::mem::take(&mut run.jobs).into_iter().partition(|(id, job)| is_there(id, job));
    run.jobs = left;
    let lost: BTreeMap<ContainerId, ContainerJob> = lost;
    for job in lost.into_values() {
        container_missed(state, name, job.place);
    }
    finish_live_update(state, name);
}

pub(super) fn sync_broke(state: &mut State, name: &ResourceName, container: &ContainerId, failure: Failure) {
    let update = state.resources.get(name).and_then(|resource| resource.update.as_ref());
    if let Some(id) = update.filter(|update| update.kind == UpdateKind::Live).map(|update| update.id) {
        let kubernetes = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut);
        let images = kubernetes.into_iter().flat_map(|kubernetes| kubernetes.images.values_mut());
        for progress in images.filter_map(|image| image.containers.get_mut(container)) {
            progress.given_up = id;
        }
        synced(state, name, id, container, Err(SyncFault::Transport(failure)));
    }
}

fn finish_live_update(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get_mut(name) else { return };
    let id = resource.update.as_ref().map(|update| update.id);
    let Some(kubernetes) = resource.kubernetes_mut() else { return };
    let is_followed_by_build = kubernetes.fall_back;
    if let Some(run) = kubernetes.live_update.take_if(|run| run.jobs.is_empty())
        && let Some(update) = id.and_then(|id| take(state, name, id))
    {
        let kubernetes = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut);
        for image in kubernetes.into_iter().flat_map(|kubernetes| kubernetes.images.values_mut()) {
            image.forget_transient(update.snapshot);
        }
        // Once, after what the containers report.
        if let Some(failure) = run.failure.as_ref().filter(|_| !is_followed_by_build) {
            state.note_update(name, update.id, Level::Error, format!("ERROR: Build Failed: {failure}"));
        }
        finish(state, name, update, false, run.failure, Vec::new());
    }
}

pub(super) fn broke(state: &mut State, name: &ResourceName, failure: Failure) {
    if let Some(id) = state.resources.get(name).and_then(|it| it.update.as_ref()).map(|it| it.id) {
        ended(state, name, id, UpdateOutcome::failed(failure));
    }
}
