//! The Tiltfile: when it is loaded, and what a new project changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lilt_model::files::{Contents, FileSet};
use lilt_model::image::ImageTarget;
use lilt_model::kubernetes::{KubernetesResource, ObjectRef};
use lilt_model::project::Project;
use lilt_model::resource::{Body, Resource};
use lilt_model::{Failure, ResourceName};
use serde_json::Value;

use crate::apply::update;
use crate::cause::Cause;
use crate::event::WatchId;
use crate::state::{FinishedUpdate, ImageState, Load, ResourceState, State, Watch};

/// Starts a load. One that runs is given up: it reads what is outdated.
pub(super) fn request(state: &mut State) {
    let cause = if state.tiltfile.triggered {
        Cause::Triggered
    } else if state.tiltfile.changes.is_empty() {
        Cause::Initial
    } else {
        Cause::Files(changed_files(state))
    };
    let id = state.next_sequence();
    state.tiltfile.loading = Some(Load { id, cause, started: state.now });
    state.touch(&ResourceName::tiltfile());
    state.touch_session();
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
fn adopt(state: &mut State, project: Project, changed: &[String]) {
    state.settings = project.settings;
    let named: BTreeSet<&ResourceName> = project.resources.iter().map(|resource| &resource.name).collect();
    let gone: Vec<ResourceName> =
        state.resources.keys().filter(|name| !named.contains(name)).cloned().collect();
    for name in &gone {
        remove(state, name);
    }
    state.cluster.wanted =
        project.resources.iter().any(|resource| matches!(resource.body, Body::Kubernetes(_)));
    let mut still_named = BTreeSet::new();
    for (index, resource) in project.resources.into_iter().enumerate() {
        if let Body::Kubernetes(kubernetes) = &resource.body {
            still_named.extend(kubernetes.objects.iter().filter_map(ObjectRef::of));
        }
        let order = u32::try_from(index + 1).unwrap_or(u32::MAX);
        define(state, resource, order, changed);
    }
    // An object that moved to another resource is not deleted with its former one.
    for (_, objects) in state.cleanups.values_mut() {
        objects.retain(|object| ObjectRef::of(object).is_none_or(|object| !still_named.contains(&object)));
    }
    state.cleanups.retain(|_, (_, objects)| !objects.is_empty());
    link_dependencies(state);
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
    let Some(known) = state.resources.get_mut(&name) else {
        let mut fresh = ResourceState::new(Arc::new(resource), order);
        define_images(&mut fresh, None);
        define_watches(&mut fresh, sequence);
        state.resources.insert(name, fresh);
        return;
    };
    known.order = order;
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
    define_watches(known, sequence);
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
fn define_images(resource: &mut ResourceState, old: Option<&KubernetesResource>) {
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
fn define_watches(resource: &mut ResourceState, version: u64) {
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
        resource.watches.insert(id, kept.unwrap_or(Watch { files, version, ready: false }));
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
    state.updating.remove(name);
    state.settled.waiting.remove(name);
    state.settled.failed.remove(name);
    state.touch(name);
    let Some(kubernetes) = resource.kubernetes() else { return };
    let mut objects = kubernetes.applied.clone();
    // An update that is cut off may have applied them already.
    if resource.update.is_some()
        && let Body::Kubernetes(spec) = &resource.spec.body
    {
        objects.extend(spec.objects.iter().cloned());
    }
    clean_up(state, name, objects);
}

/// Deletes objects of a resource that nothing names any more.
pub(super) fn clean_up(state: &mut State, name: &ResourceName, objects: Vec<Value>) {
    if objects.is_empty() {
        return;
    }
    let cleanup = state.next_sequence();
    state.cleanups.insert(cleanup, (name.clone(), objects));
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
