//! The Tiltfile: when it is loaded, and what a new project changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lilt_model::files::{Contents, FileSet};
use lilt_model::image::ImageTarget;
use lilt_model::kubernetes::{KubernetesResource, ObjectRef};
use lilt_model::log::Level;
use lilt_model::project::Project;
use lilt_model::resource::{Body, Resource};
use lilt_model::{Failure, ResourceName};
use serde_json::Value;

use crate::apply::{alarm, switch, update};
use crate::cause::Cause;
use crate::event::WatchId;
use crate::objects;
use crate::state::{Cleanup, FinishedUpdate, ImageState, Load, ResourceState, State, Watch};
use crate::task::CleanupReason;
use crate::timeline;

/// Starts a load. One that runs is given up: it reads what is outdated.
pub(super) fn request(state: &mut State) {
    let cause = if state.tiltfile.args_changed {
        Cause::Arguments(state.tiltfile.args.clone())
    } else if state.tiltfile.triggered {
        Cause::Triggered
    } else if state.tiltfile.changes.is_empty() {
        Cause::Initial
    } else {
        Cause::Files(changed_files(state))
    };
    state.tiltfile.hold = None;
    let id = state.next_sequence();
    let load = Load { id, cause, started: state.now };
    timeline::record_load(state, &load, None);
    state.tiltfile.loading = Some(load);
    state.touch(&ResourceName::tiltfile());
    state.touch_session();
}

/// The same because files changed, unless loading is what changes them.
pub(super) fn request_for_changes(state: &mut State) {
    let tiltfile = ResourceName::tiltfile();
    if state.tiltfile.looping.is_runaway() {
        if state.tiltfile.hold.is_none() {
            let hold = state.tiltfile.looping.hold(|path| state.shown(path));
            state.tiltfile.hold = Some(hold.clone());
            state.note(&tiltfile, Level::Warn, format!("WARNING: {}", hold.words()));
            state.touch(&tiltfile);
        }
        return;
    }
    state.tiltfile.looping.note_start(true);
    request(state);
}

fn changed_files(state: &State) -> Vec<String> {
    state.tiltfile.changes.keys().map(|path| state.shown(path)).collect()
}

pub(super) fn ended(
    state: &mut State,
    id: u64,
    files: FileSet,
    contents: Contents,
    outcome: Result<Box<Project>, Failure>,
) {
    let Some(load) = state.tiltfile.loading.take_if(|load| load.id == id) else { return };
    let changed = changed_files(state);
    if state.tiltfile.files != files {
        state.tiltfile.files = files;
        state.tiltfile.watch_version = id;
        state.tiltfile.contents = contents;
    }
    state.tiltfile.changes.retain(|_, at| *at > id);
    state.tiltfile.triggered = false;
    let warnings = outcome.as_ref().map(|project| project.warnings.clone()).unwrap_or_default();
    let failure = outcome.as_ref().err().cloned();
    state.tiltfile.warnings.clone_from(&warnings);
    state.tiltfile.failure.clone_from(&failure);
    timeline::record_load(state, &load, Some(&failure));
    state.tiltfile.remember(FinishedUpdate {
        id,
        cause: load.cause,
        started: load.started,
        finished: state.now,
        failure,
        warnings,
    });
    state.touch(&ResourceName::tiltfile());
    state.touch_session();
    if let Ok(project) = outcome {
        state.tiltfile.loaded = true;
        adopt(state, *project, &changed);
    }
    // They waited for this load.
    let waiting: Vec<ResourceName> = state.queue.names().cloned().collect();
    for name in waiting {
        state.touch(&name);
    }
}

pub(super) fn broke(state: &mut State, failure: Failure) {
    if let Some(load) = &state.tiltfile.loading {
        let (id, files) = (load.id, state.tiltfile.files.clone());
        ended(state, id, files, Contents::default(), Err(failure));
    }
}

/// Makes the project the truth: new resources begin, missing ones end, changed ones are updated, the rest go on.
fn adopt(state: &mut State, mut project: Project, changed: &[String]) {
    let api_objects = std::mem::take(&mut project.api_objects);
    let args_changed = std::mem::take(&mut state.tiltfile.args_changed);
    let enabled: Option<BTreeSet<ResourceName>> =
        project.enabled.map(|enabled| enabled.into_iter().collect());
    state.settings = project.settings;
    state.secrets = project.secrets;
    let named: BTreeSet<&ResourceName> = project.resources.iter().map(|resource| &resource.name).collect();
    let gone: Vec<ResourceName> =
        state.resources.keys().filter(|name| !named.contains(name)).cloned().collect();
    for name in &gone {
        remove(state, name);
    }
    let mut still_named = BTreeSet::new();
    for (index, resource) in project.resources.into_iter().enumerate() {
        if let Body::Kubernetes(kubernetes) = &resource.body {
            still_named.extend(kubernetes.objects.iter().filter_map(ObjectRef::of));
        }
        let order = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let name = resource.name.clone();
        // What people switched by hand stays as it is until the arguments become others, as in Tilt.
        let known = state.resources.get(&name).map(|known| !known.disabled).filter(|_| !args_changed);
        let enable = known.unwrap_or_else(|| enabled.as_ref().is_none_or(|all| all.contains(&name)));
        define(state, resource, order, changed);
        switch::set(state, &name, enable);
    }
    // An object that moved to another resource is not deleted with its former one.
    for cleanup in state.cleanups.values_mut().filter(|cleanup| cleanup.reason == CleanupReason::Unnamed) {
        let named = |object: &Value| ObjectRef::of(object).is_some_and(|it| still_named.contains(&it));
        cleanup.objects.retain(|object| !named(object));
    }
    let empty = state.cleanups.iter().filter(|(_, cleanup)| cleanup.objects.is_empty());
    for cleanup in empty.map(|(id, _)| *id).collect::<Vec<_>>() {
        cleaned_up(state, cleanup);
    }
    link_dependencies(state);
    switch::note_cluster(state);
    objects::adopt(state, &ResourceName::tiltfile(), &api_objects);
    alarm::limit_ci(state);
}

fn define(state: &mut State, resource: Resource, order: u32, changed: &[String]) {
    let name = resource.name.clone();
    let sequence = state.next_sequence();
    let same_kind = state.resources.get(&name).is_some_and(|known| {
        std::mem::discriminant(&known.spec.body) == std::mem::discriminant(&resource.body)
    });
    if !same_kind {
        remove(state, &name);
    }
    state.touch(&name);
    let by_hand = state.trigger_modes.get(&name).copied();
    let Some(known) = state.resources.get_mut(&name) else {
        let mut fresh = ResourceState::new(Arc::new(resource), order);
        fresh.trigger_mode = by_hand.unwrap_or(fresh.trigger_mode);
        define_images(&mut fresh, None);
        define_watches(&mut fresh, sequence);
        state.resources.insert(name.clone(), fresh);
        objects::resource_switched(state, &name);
        return;
    };
    known.order = order;
    known.trigger_mode = by_hand.unwrap_or(resource.trigger_mode);
    if *known.spec == resource {
        return;
    }
    let old = std::mem::replace(&mut known.spec, Arc::new(resource));
    if asks_for_update(&old.body, &known.spec.body) {
        known.reconfigured = Some((sequence, changed.to_vec()));
    }
    let old_kubernetes = match &old.body {
        Body::Kubernetes(kubernetes) => Some(kubernetes),
        Body::Local(_) | Body::Compose(_) => None,
    };
    define_images(known, old_kubernetes);
    if known.disabled {
        known.reconfigured = None;
    } else {
        define_watches(known, sequence);
    }
}

/// Whether what runs no longer is what the Tiltfile says.
fn asks_for_update(old: &Body, new: &Body) -> bool {
    match (old, new) {
        (Body::Local(old), Body::Local(new)) => old.update != new.update || old.serve != new.serve,
        (Body::Kubernetes(old), Body::Kubernetes(new)) => {
            let recipe = |image: &ImageTarget| (image.name.clone(), image.build.clone());
            old.objects != new.objects || !old.images.iter().map(recipe).eq(new.images.iter().map(recipe))
        }
        (Body::Compose(old), Body::Compose(new)) => old != new,
        _ => true,
    }
}

/// Keeps what is known of images whose recipe is unchanged.
pub(super) fn define_images(resource: &mut ResourceState, old: Option<&KubernetesResource>) {
    let spec = Arc::clone(&resource.spec);
    let (Body::Kubernetes(new), Some(state)) = (&spec.body, resource.kubernetes_mut()) else { return };
    let mut known = std::mem::take(&mut state.images);
    let mut kept: BTreeMap<_, ImageState> = BTreeMap::new();
    for image in &new.images {
        let mut image_state = known.remove(&image.name).unwrap_or_default();
        let same = old.and_then(|old| old.image(&image.name)).is_some_and(|old| old.build == image.build);
        image_state.stale |= !same && image_state.reference.is_some();
        kept.insert(image.name.clone(), image_state);
    }
    state.images = kept;
    let ports: BTreeSet<u16> = new.forwards.iter().map(|forward| forward.local_port).collect();
    state.forwards.retain(|port, _| ports.contains(port));
}

/// Keeps watches whose files are the same.
pub(super) fn define_watches(resource: &mut ResourceState, version: u64) {
    let name = &resource.spec.name;
    let wanted: Vec<(WatchId, FileSet)> = match &resource.spec.body {
        Body::Local(local) => vec![(WatchId::Local(name.clone()), local.files.clone())],
        Body::Compose(_) => Vec::new(),
        Body::Kubernetes(kubernetes) => {
            let watch =
                |image: &ImageTarget| (WatchId::Image(name.clone(), image.name.clone()), image.files.clone());
            kubernetes.images.iter().map(watch).collect()
        }
    };
    let mut known = std::mem::take(&mut resource.watches);
    for (id, files) in wanted.into_iter().filter(|(_, files)| !files.is_empty()) {
        let kept = known.remove(&id).filter(|watch| watch.files == files);
        resource.watches.insert(id, kept.unwrap_or(Watch::new(files, version)));
    }
}

fn remove(state: &mut State, name: &ResourceName) {
    update::disown(state, name);
    let Some(resource) = state.resources.remove(name) else { return };
    if let Some(rank) = resource.queued {
        state.queue.remove(rank, name);
    }
    if let Some(rank) = resource.unwatched {
        state.unwatched.remove(&(rank, name.clone()));
    }
    if let Some(at) = resource.alarm {
        state.alarms.remove(&(at, Some(name.clone())));
        state.touch_session();
    }
    state.behind_uncategorized.remove(name);
    state.updating.remove(name);
    state.settled.waiting.remove(name);
    state.settled.failed.remove(name);
    state.touch(name);
    objects::resource_switched(state, name);
    clean_up(state, name, may_be_applied(&resource), CleanupReason::Unnamed);
}

/// The objects that a resource may have in the cluster.
pub(super) fn may_be_applied(resource: &ResourceState) -> Vec<Value> {
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&resource.spec.body, resource.kubernetes()) else {
        return Vec::new();
    };
    let mut objects = kubernetes.applied.clone();
    // An update that is cut off may have applied them already.
    if resource.update.is_some() {
        let new = spec.objects.iter().filter(|object| !kubernetes.applied.contains(object));
        objects.extend(new.cloned().collect::<Vec<_>>());
    }
    objects
}

/// Deletes objects of a resource that are no longer wanted.
pub(super) fn clean_up(state: &mut State, name: &ResourceName, objects: Vec<Value>, reason: CleanupReason) {
    if objects.is_empty() {
        return;
    }
    let cleanup = state.next_sequence();
    state.cleanups.insert(cleanup, Cleanup { resource: name.clone(), objects, reason });
    *state.cleaning.entry(name.clone()).or_default() += 1;
    state.touch_session();
}

/// A deletion ended, or is no longer needed.
pub(super) fn cleaned_up(state: &mut State, cleanup: u64) {
    let Some(Cleanup { resource, .. }) = state.cleanups.remove(&cleanup) else { return };
    if let Some(count) = state.cleaning.get_mut(&resource) {
        *count -= 1;
        if *count == 0 {
            state.cleaning.remove(&resource);
            state.touch(&resource);
        }
    }
    state.touch_session();
}

fn link_dependencies(state: &mut State) {
    let mut dependents: BTreeMap<ResourceName, BTreeSet<ResourceName>> = BTreeMap::new();
    let ready: BTreeSet<ResourceName> = state
        .resources
        .iter()
        .filter(|(_, resource)| resource.ready_once)
        .map(|(name, _)| name.clone())
        .collect();
    for (name, resource) in &mut state.resources {
        resource.unmet.clear();
        for dependency in &resource.spec.resource_deps {
            dependents.entry(dependency.clone()).or_default().insert(name.clone());
            if !ready.contains(dependency) {
                resource.unmet.insert(dependency.clone());
            }
        }
    }
    state.dependents = dependents;
}
