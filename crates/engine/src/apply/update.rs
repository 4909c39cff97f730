//! Handles the end of updates.

use std::collections::BTreeSet;
use std::sync::Arc;

use lilt_model::kubernetes::{DiscoveryStrategy, ObjectRef};
use lilt_model::resource::{Body, LocalResource};
use lilt_model::{Failure, FailureKind, ImageName, ResourceName, Uid};
use serde_json::Value;

use crate::apply::{drift, images, load, pods};
use crate::controllers::command::{self, CommandSpec, OnExit};
use crate::controllers::live_update::SyncContainer;
use crate::event::{CommandExit, Deployed, UpdateOutcome};
use crate::objects;
use crate::outage;
use crate::owner::Owner;
use crate::prune;
use crate::schedule;
use crate::state::{BodyState, FinishedUpdate, ResourceState, RunningUpdate, State, UpdateCommand};
use crate::task::{CleanupReason, Leftovers};
use crate::telemetry;
use crate::timeline::{self, Outcome};

/// The text of Tilt, which scripts match.
pub(super) const CANCELLED: &str = "build canceled";

/// SIGTERM.
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
                // A failed attempt is not repeated automatically.
                let images = kubernetes.images.values_mut();
                for container in images.flat_map(|image| image.containers.values_mut()) {
                    container.record_tried(update.snapshot);
                }
            }
            if let Some(deployed) = outcome.deployed {
                kubernetes.changes.retain(|_, at| *at > update.snapshot);
                for image in spec.images.iter().filter(|image| !image.is_built()) {
                    if let Some(known) = kubernetes.images.get_mut(&image.name) {
                        known.record_deployment(update.snapshot, image.live_update.as_ref());
                        if spec.custom_deploy.is_some() {
                            // A deploy command uses the files as they are, so new containers contain them.
                            known.built = update.snapshot;
                            // So do containers created before it ended, for example if the command waits for
                            // its pods.
                            let is_new = |container: &&mut SyncContainer| {
                                let pod = state.pods.known.get(container.pod());
                                pod.is_some_and(|pod| pod.created >= update.started)
                            };
                            for container in known.containers.values_mut().filter(is_new) {
                                container.record_has(update.snapshot);
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

/// Starts the serve command of an updated resource, or stops the one that it had.
fn restart_server(state: &mut State, name: &ResourceName, spec: &LocalResource) {
    let owner = Owner::from(name);
    let Some(command) = spec.serve.clone() else { return command::stop(state, &owner) };
    let (probe, resource) = (spec.readiness_probe.clone(), Some(name.clone()));
    command::start(state, &owner, CommandSpec { command, probe, on_exit: OnExit::Fail, resource });
}

/// Removes and returns the running update with this number; none if the number is stale.
pub(crate) fn take(state: &mut State, name: &ResourceName, id: u64) -> Option<RunningUpdate> {
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

/// Records the end of commands that still ran when an update was cancelled.
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

pub(crate) fn finish(
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
            live: update.kind.is_live(),
        });
    }
}

fn no_longer_named(before: &[Value], now: &[Value]) -> Vec<Value> {
    let named: BTreeSet<ObjectRef> = now.iter().filter_map(ObjectRef::of).collect();
    let gone = |object: &&Value| ObjectRef::of(object).is_some_and(|object| !named.contains(&object));
    before.iter().filter(gone).cloned().collect()
}

/// Returns the objects of the previous deployment that the new one no longer contains.
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
    forget_deployed(state, name);
    drift::record_applied(state, name, &deployed);
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
        // Pods of replaced objects are assigned again below, or not at all.
        kubernetes.pods.clear();
    }
    pods::claim_known(state, name, &uids);
}

/// Unregisters the deployed objects of a resource.
pub(super) fn forget_deployed(state: &mut State, name: &ResourceName) {
    drift::forget_applied(state, name);
    let State { resources, pods, .. } = state;
    pods.selecting.remove(name);
    let deployed =
        resources.get(name).and_then(ResourceState::kubernetes).and_then(|it| it.deployed.as_ref());
    for (_, uid) in deployed.into_iter().flat_map(|deployed| &deployed.objects) {
        // Another resource may own the object by now.
        if pods.owners.get(uid) == Some(name) {
            pods.owners.remove(uid);
        }
    }
}

pub(super) fn broke(state: &mut State, name: &ResourceName, failure: Failure) {
    if let Some(id) = state.resources.get(name).and_then(|it| it.update.as_ref()).map(|it| it.id) {
        ended(state, name, id, UpdateOutcome::failed(failure));
    }
}
