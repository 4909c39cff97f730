//! Chooses the job of a Kubernetes resource's next update: copy files into running containers, or build and
//! deploy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lilt_model::cluster::{Container, Delivery, Pod, PodRef};
use lilt_model::image::{ImageTarget, LiveUpdate};
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::resource::Body;
use lilt_model::{Failure, ImageName};

use crate::cause::Cause;
use crate::controllers::live_update::{NeededSync, needed_sync};
use crate::runtime::{cannot_run, current_pods, has_ended, is_broken};
use crate::state::{BodyState, ImageState, KubernetesState, ResourceState, State, runs};
use crate::task::{DeployJob, LocalJob, UpdateJob};

use super::images::{delivered, image_jobs};
use super::producers::follows_command;

pub(super) enum Choice {
    Deploy,
    /// The changes can be copied into a container that is not running yet.
    Wait,
    LiveUpdate(Cause, u64),
}

pub(super) fn choose(state: &State, resource: &ResourceState) -> Choice {
    let (BodyState::Kubernetes(kubernetes), Body::Kubernetes(spec)) = (&resource.body, &resource.spec.body)
    else {
        return Choice::Deploy;
    };
    // A manual trigger without pending changes forces a full deployment.
    let must_deploy = resource.forces_full_update()
        || !resource.started_once
        || resource.reconfigured.is_some()
        || kubernetes.fall_back
        || resource.pending_retry.is_some()
        || kubernetes.deployed.is_none()
        || !kubernetes.drifting.found.is_empty()
        || !kubernetes.changes.is_empty()
        || spec.images.iter().any(|image| needs_build(spec, image, kubernetes.images.get(&image.name)));
    if must_deploy {
        return Choice::Deploy;
    }
    // A manual or automatic update covers all changes, others only what was covered before.
    let takes_new = resource.triggered.is_some() || resource.is_automatic();
    let snapshot = if takes_new { state.sequence } else { resource.attempted };
    if nobody_takes_changes(state, resource, spec, kubernetes) {
        return Choice::Deploy;
    }
    if let Some(needed) = needed_sync(kubernetes, snapshot) {
        return Choice::LiveUpdate(live_cause(state, resource, needed), snapshot);
    }
    if resource.triggered.is_none() && is_starting(state, spec, kubernetes) {
        Choice::Wait
    } else {
        Choice::Deploy
    }
}

/// Returns whether some changes cannot be copied into containers, so that a build or at least a deployment is
/// needed.
pub(super) fn needs_build(
    spec: &KubernetesResource,
    image: &ImageTarget,
    state: Option<&ImageState>,
) -> bool {
    let Some(state) = state else { return true };
    if state.stale || (state.reference.is_none() && image.is_built()) {
        return true;
    }
    if !state.changes.keys().all(|path| in_place_above(spec, image, path)) {
        return true;
    }
    match &image.live_update {
        _ if is_base(spec, image) => false,
        None => !state.changes.is_empty(),
        Some(live_update) => {
            // Without an agent, only a new pod restarts the process. A pod with the same image as before
            // lacks the changes: they are copied, and the step reports that it cannot restart.
            let cannot_restart = image.is_built()
                && live_update.restart_process.is_some()
                && !state.changes.is_empty()
                && state.containers.values().any(|container| !container.has_agent());
            cannot_restart || !state.changes.keys().all(|path| in_place(live_update, path))
        }
    }
}

/// Returns whether an image is only a base image, which no container runs.
fn is_base(spec: &KubernetesResource, image: &ImageTarget) -> bool {
    !spec.image_deps.contains(&image.name) && built_on(spec, image).next().is_some()
}

/// Returns whether a changed file of an image can be copied into the containers of all images built on it, if
/// there are any.
fn in_place_above(spec: &KubernetesResource, base: &ImageTarget, path: &Path) -> bool {
    let is_copied = |other: &ImageTarget| other.live_update.as_ref().is_some_and(|it| in_place(it, path));
    built_on(spec, base)
        .all(|other| (is_base(spec, other) || is_copied(other)) && in_place_above(spec, other, path))
}

/// Returns the images with live updates that are built on this one. They may copy its files, even if
/// containers also run it directly.
pub(crate) fn live_updates_above<'a>(
    spec: &'a KubernetesResource,
    base: &ImageTarget,
) -> Vec<&'a ImageTarget> {
    let mut found = Vec::new();
    for other in built_on(spec, base) {
        found.extend(other.live_update.as_ref().map(|_| other));
        found.extend(live_updates_above(spec, other));
    }
    found
}

fn built_on<'a>(
    spec: &'a KubernetesResource,
    base: &ImageTarget,
) -> impl Iterator<Item = &'a ImageTarget> + use<'a> {
    let name = base.name.clone();
    spec.images.iter().filter(move |other| other.depends_on.contains(&name))
}

/// Returns whether a live update can copy this file.
pub(crate) fn in_place(live_update: &LiveUpdate, path: &Path) -> bool {
    !live_update.stop_paths.iter().any(|stop| path.starts_with(stop))
        && live_update.syncs.iter().any(|sync| path.starts_with(&sync.local))
}

fn live_cause(state: &State, resource: &ResourceState, needed: NeededSync) -> Cause {
    let files: Vec<String> = new_changes(resource).into_iter().map(|path| state.shown(path)).collect();
    match needed {
        _ if !files.is_empty() => Cause::Files(files),
        NeededSync::Everything => Cause::Started,
        NeededSync::Changes => Cause::Replaced,
    }
}

/// Returns whether changed files belong to an image whose containers have all completed while other
/// containers of their pods run. The changes are for the next containers, as with completed pods.
fn nobody_takes_changes(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
) -> bool {
    let changed = spec.images.iter().filter(|image| image.live_update.is_some() && image.is_built());
    changed.filter_map(|image| Some((image, kubernetes.images.get(&image.name)?))).any(|(image, known)| {
        let is_of = |it: &&Container| !it.init && runs(known.reference.as_ref(), image, it);
        let containers = || current_pods(state, kubernetes).flat_map(|pod| &pod.containers).filter(is_of);
        known.newest_change() > resource.attempted
            && containers().next().is_some()
            && containers().all(Container::has_ended_for_good)
    })
}

/// Returns whether a container that receives changes is starting or restarting. Excludes containers that
/// crash repeatedly or cannot be created.
pub(crate) fn is_starting(state: &State, spec: &KubernetesResource, kubernetes: &KubernetesState) -> bool {
    let takes_changes = |container: &Container| {
        let mut images = spec.images.iter().filter(|image| image.live_update.is_some());
        images.any(|image| {
            let known = kubernetes.images.get(&image.name);
            known.is_some_and(|known| runs(known.reference.as_ref(), image, container))
        })
    };
    let will_run = |pod: &Pod| {
        let mut needed = pod.containers.iter().filter(|it| it.init || takes_changes(it));
        !has_ended(pod) && !needed.any(cannot_run)
    };
    let mut pods = current_pods(state, kubernetes).peekable();
    pods.peek().is_none() || pods.any(will_run)
}

/// Returns the crashing pods that are recreated once deleted. Excludes pods of jobs, which are not, and of
/// operators, whose behavior is unknown.
fn crashing(state: &State, kubernetes: &KubernetesState) -> Vec<PodRef> {
    const MADE_ANEW: [&str; 4] = ["ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"];
    let is_made_anew = |pod: &Pod| {
        let kind = pod.owner_kind.as_ref().map(|(_, kind)| kind.as_str());
        pod.template_hash.is_some() && kind.is_some_and(|kind| MADE_ANEW.contains(&kind))
    };
    let pods = current_pods(state, kubernetes).filter(|pod| is_made_anew(pod));
    pods.filter(|pod| pod.restarts() > 0 || is_broken(pod)).map(Pod::reference).collect()
}

fn closed(kubernetes: &KubernetesState) -> Vec<ImageName> {
    kubernetes.images.iter().filter(|(_, image)| image.closed).map(|(name, _)| name.clone()).collect()
}

/// Returns the changed files that no update has covered.
pub(super) fn new_changes(resource: &ResourceState) -> BTreeSet<&PathBuf> {
    let attempted = resource.attempted;
    let (own, images) = match &resource.body {
        BodyState::Local(local) => (&local.changes, None),
        BodyState::Kubernetes(kubernetes) => {
            (&kubernetes.changes, Some(kubernetes.images.values().map(|image| &image.changes)))
        }
    };
    let changes = std::iter::once(own).chain(images.into_iter().flatten());
    changes
        .flat_map(|changes| changes.iter())
        .filter(|(_, at)| **at > attempted)
        .map(|(path, _)| &**path)
        .collect()
}

/// Returns the job of an update that covers all changes up to `snapshot`.
pub(super) fn job(state: &State, resource: &ResourceState, cause: &Cause, snapshot: u64) -> Arc<UpdateJob> {
    let cluster = state.cluster_of(&resource.spec.name);
    let info = state.clusters.get(&cluster).info.clone().unwrap_or_default();
    let destination = state.destination(&cluster);
    Arc::new(match (&resource.spec.body, &resource.body) {
        (Body::Kubernetes(spec), BodyState::Kubernetes(kubernetes)) => {
            UpdateJob::Deploy(Box::new(DeployJob {
                kubernetes: spec.clone(),
                images: image_jobs(spec, kubernetes, &destination, snapshot, *cause == Cause::Triggered),
                delivered: delivered(state, spec),
                delivery: Delivery::choose(&info, state.settings.default_registry.as_ref()),
                registry: destination.registry,
                platform: destination.platform,
                namespace: info.namespace,
                rerun: *cause == Cause::Triggered,
                first: *cause == Cause::Initial,
                follows_command: *cause == Cause::Initial && follows_command(state, resource),
                crashing: crashing(state, kubernetes),
                closed: closed(kubernetes),
                merge: state.settings.server_side_apply,
                unattended: state.is_unattended(),
            }))
        }
        (Body::Local(spec), _) => UpdateJob::Local(LocalJob { command: spec.update.clone() }),
        (Body::Compose(_), _) => UpdateJob::Refused(Failure::user("Docker Compose is not supported yet")),
        (Body::Kubernetes(_), BodyState::Local(_)) => UpdateJob::Local(LocalJob { command: None }),
    })
}
