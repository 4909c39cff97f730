//! Loads of Tiltfiles, and the changes of a new project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use lilt_model::files::{Contents, FileSet};
use lilt_model::image::ImageTarget;
use lilt_model::kubernetes::{KubernetesResource, ObjectRef};
use lilt_model::log::Level;
use lilt_model::project::Project;
use lilt_model::resource::{Body, Resource, TriggerMode};
use lilt_model::secret::{Redactor, Secret};
use lilt_model::{Failure, ImageName, ResourceName, yaml};
use serde_json::Value;

use crate::apply::{alarm, drift, switch, update};
use crate::cause::Cause;
use crate::controllers::file_watch::FileWatch;
use crate::controllers::{command, live_update, port_forward};
use crate::event::WatchId;
use crate::hold::Hold;
use crate::objects;
use crate::outage;
use crate::owner::Owner;
use crate::schedule::give_up_outdated;
use crate::state::{Cleanup, FinishedUpdate, ImageState, Load, ResourceState, State, TiltfileState};
use crate::task::{CleanupReason, Leftovers};
use crate::telemetry;
use crate::timeline;

/// Starts a load. A running load is cancelled, because it reads outdated files.
pub(crate) fn request(state: &mut State, name: &ResourceName) {
    let id = state.next_sequence();
    let now = state.now;
    let changed = changed_files(state, name);
    let Some(tiltfile) = state.tiltfile_named_mut(name) else { return };
    let cause = if tiltfile.args_changed {
        Cause::Arguments(tiltfile.args.clone())
    } else if tiltfile.triggered {
        Cause::Triggered
    } else if changed.is_empty() {
        Cause::Initial
    } else {
        Cause::Files(changed)
    };
    tiltfile.hold = None;
    // Its files are watched while it runs, so that a load that does not end can be fixed.
    if tiltfile.watch.files().is_empty() {
        tiltfile.watch.add_entries(vec![tiltfile.path.clone()]);
    }
    let load = Load { id, cause, started: now, activity: None };
    tiltfile.loading = Some(load.clone());
    timeline::record_load(state, name, &load, None);
    touch(state, name);
}

fn touch(state: &mut State, name: &ResourceName) {
    state.touch(name);
    state.touch_session();
    objects::touch_tiltfile(state, name);
}

/// Starts a load because files changed, unless loads themselves change them.
pub(crate) fn request_for_changes(state: &mut State, name: &ResourceName) {
    let Some(tiltfile) = state.tiltfile_named(name).filter(|it| it.triggers.follows_files) else { return };
    if is_manual(state, name) {
        if let Some(tiltfile) = state.tiltfile_named_mut(name) {
            tiltfile.hold = Some(Hold::Trigger { changed: true, files: tiltfile.changes.len() });
        }
        state.touch(name);
        return;
    }
    if tiltfile.looping.is_runaway() {
        if tiltfile.hold.is_none() {
            let hold = tiltfile.looping.hold(|path| state.shown(path));
            state.note(name, Level::Warn, format!("WARNING: {}", hold.words()));
            if let Some(tiltfile) = state.tiltfile_named_mut(name) {
                tiltfile.hold = Some(hold);
            }
            state.touch(name);
        }
        return;
    }
    if let Some(tiltfile) = state.tiltfile_named_mut(name) {
        tiltfile.looping.note_start(true);
    }
    request(state, name);
}

/// Returns whether changes of its files wait for a manual trigger.
fn is_manual(state: &State, name: &ResourceName) -> bool {
    state.trigger_modes.get(name) == Some(&TriggerMode::Manual)
}

/// Handles a changed trigger mode: in automatic mode, pending changes are loaded.
pub(super) fn follow_mode(state: &mut State, name: &ResourceName) {
    let waits = |tiltfile: &TiltfileState| matches!(tiltfile.hold, Some(Hold::Trigger { .. }));
    if !is_manual(state, name)
        && let Some(tiltfile) = state.tiltfile_named_mut(name).filter(|tiltfile| waits(tiltfile))
    {
        tiltfile.hold = None;
        request_for_changes(state, name);
    }
    touch(state, name);
}

fn changed_files(state: &State, name: &ResourceName) -> Vec<String> {
    let changes = state.tiltfile_named(name).into_iter().flat_map(|tiltfile| tiltfile.changes.keys());
    changes.map(|path| state.shown(path)).collect()
}

/// Shows the activity of a load that takes long, and watches the files that it runs: a fix restarts the load.
pub(super) fn is_slow(state: &mut State, id: u64, activity: String, files: Vec<PathBuf>) {
    let loading = |tiltfile: &TiltfileState| tiltfile.loading.as_ref().is_some_and(|load| load.id == id);
    let Some((name, _)) = state.all_tiltfiles().find(|(_, tiltfile)| loading(tiltfile)) else { return };
    let Some(tiltfile) = state.tiltfile_named_mut(&name) else { return };
    if let Some(load) = &mut tiltfile.loading {
        load.activity = Some(activity);
    }
    tiltfile.watch.add_entries(files);
    touch(state, &name);
}

pub(super) fn ended(
    state: &mut State,
    id: u64,
    files: FileSet,
    contents: Contents,
    outcome: Result<Box<Project>, Failure>,
) {
    let loading = |tiltfile: &TiltfileState| tiltfile.loading.as_ref().is_some_and(|load| load.id == id);
    let Some((name, _)) = state.all_tiltfiles().find(|(_, tiltfile)| loading(tiltfile)) else { return };
    let changed = changed_files(state, &name);
    let outcome = outcome.and_then(|project| match conflict(state, &name, &project) {
        None => Ok(project),
        Some(failure) => Err(failure),
    });
    let now = state.now;
    let warnings = outcome.as_ref().map(|project| project.warnings.clone()).unwrap_or_default();
    let failure = outcome.as_ref().err().cloned();
    let Some(tiltfile) = state.tiltfile_named_mut(&name) else { return };
    let Some(load) = tiltfile.loading.take() else { return };
    tiltfile.watch.replace_files(files, contents, id);
    tiltfile.changes.retain(|_, at| *at > id);
    tiltfile.triggered = false;
    tiltfile.warnings.clone_from(&warnings);
    tiltfile.failure.clone_from(&failure);
    tiltfile.loaded |= failure.is_none();
    let (cause, started) = (load.cause.clone(), load.started);
    let finished =
        FinishedUpdate { id, cause, started, finished: now, failure: failure.clone(), warnings, live: false };
    tiltfile.remember(finished);
    timeline::record_load(state, &name, &load, Some(&failure));
    touch(state, &name);
    if let Ok(project) = outcome {
        apply_project(state, &name, *project, &changed);
    }
    // They waited for this load.
    let waiting: Vec<ResourceName> = state.queue.names().cloned().collect();
    for name in waiting {
        state.touch(&name);
    }
}

/// Returns the failure of a project that declares a name of another Tiltfile: names are unique in a session.
fn conflict(state: &State, tiltfile: &ResourceName, project: &Project) -> Option<Failure> {
    project.resources.iter().find_map(|resource| {
        let name = &resource.name;
        if state.tiltfile_named(name).is_some() {
            return Some(Failure::user(format!(
                "the resource {name} has the name of a Tiltfile of the session"
            )));
        }
        let other = &state.resources.get(name)?.tiltfile;
        let words = format!("Resource {:?} defined in two tiltfiles: {tiltfile}, {other}", name.as_str());
        (other != tiltfile).then(|| Failure::user(words))
    })
}

pub(crate) fn broke(state: &mut State, name: &ResourceName, failure: Failure) {
    let Some(tiltfile) = state.tiltfile_named(name) else { return };
    if let Some(load) = &tiltfile.loading {
        let (id, files) = (load.id, tiltfile.watch.files().clone());
        ended(state, id, files, Contents::default(), Err(failure));
    }
}

/// Removes a Tiltfile and everything it declared.
pub(crate) fn forget(state: &mut State, name: &ResourceName) {
    if state.tiltfiles.remove(name).is_none() {
        return;
    }
    let declared = state.resources.iter().filter(|(_, resource)| resource.tiltfile == *name);
    let declared: Vec<ResourceName> = declared.map(|(name, _)| name.clone()).collect();
    for resource in &declared {
        remove(state, resource);
    }
    link_dependencies(state);
    link_images(state);
    switch::note_cluster(state);
    objects::apply_tiltfile_objects(state, name, &[]);
    hide_secrets(state);
    state.touch(name);
    state.touch_session();
}

fn hide_secrets(state: &mut State) {
    let secrets = state.all_tiltfiles().flat_map(|(_, tiltfile)| tiltfile.secrets.clone());
    let secrets: Vec<Secret> = secrets.collect();
    if secrets != state.secrets {
        state.redactor = Redactor::new(&secrets);
        state.secrets = secrets;
    }
}

/// Applies a loaded project: adds new resources, removes missing ones, updates changed ones and keeps the
/// rest.
fn apply_project(state: &mut State, tiltfile: &ResourceName, mut project: Project, changed: &[String]) {
    let api_objects = std::mem::take(&mut project.api_objects);
    let Some(loaded) = state.tiltfile_named_mut(tiltfile) else { return };
    let args_changed = std::mem::take(&mut loaded.args_changed);
    loaded.secrets = std::mem::take(&mut project.secrets);
    let labels = loaded.labels.clone();
    hide_secrets(state);
    let enabled: Option<BTreeSet<ResourceName>> =
        project.enabled.map(|enabled| enabled.into_iter().collect());
    if tiltfile.is_tiltfile() {
        let before = std::mem::replace(&mut state.settings, project.settings);
        telemetry::configured(state);
        if state.settings.drift != before.drift {
            drift::policy_changed(state);
        }
    }
    let named: BTreeSet<&ResourceName> = project.resources.iter().map(|resource| &resource.name).collect();
    let own = state.resources.iter().filter(|(_, resource)| resource.tiltfile == *tiltfile);
    let gone: Vec<ResourceName> =
        own.map(|(name, _)| name).filter(|name| !named.contains(name)).cloned().collect();
    for name in &gone {
        remove(state, name);
    }
    let before = first_order(state, tiltfile);
    let mut still_named = BTreeSet::new();
    for (index, mut resource) in project.resources.into_iter().enumerate() {
        resource.labels.extend(
            labels.iter().filter(|label| !resource.labels.contains(label)).cloned().collect::<Vec<_>>(),
        );
        if let Body::Kubernetes(kubernetes) = &resource.body {
            let named = kubernetes.objects.iter().filter_map(ObjectRef::of);
            still_named.extend(named.map(|object| (kubernetes.cluster.clone(), object)));
        }
        let order = u32::try_from(index + 1).unwrap_or(u32::MAX).saturating_add(before);
        let name = resource.name.clone();
        // What users enabled or disabled stays so until the arguments change, as in Tilt.
        let known = state.resources.get(&name).map(|known| !known.disabled).filter(|_| !args_changed);
        let enable = known.unwrap_or_else(|| enabled.as_ref().is_none_or(|all| all.contains(&name)));
        define(state, tiltfile, resource, order, changed);
        switch::set(state, &name, enable);
    }
    // An object that moved to another resource is not deleted with the former one.
    for cleanup in state.cleanups.values_mut().filter(|cleanup| cleanup.reason == CleanupReason::Unnamed) {
        let Leftovers { cluster, objects, .. } = &mut cleanup.leftovers;
        let named = |object| still_named.contains(&(cluster.clone(), object));
        objects.retain(|object| !ObjectRef::of(object).is_some_and(named));
    }
    let empty = state.cleanups.iter().filter(|(_, cleanup)| cleanup.leftovers.is_empty());
    for cleanup in empty.map(|(id, _)| *id).collect::<Vec<_>>() {
        cleaned_up(state, cleanup);
    }
    link_dependencies(state);
    link_images(state);
    switch::note_cluster(state);
    objects::apply_tiltfile_objects(state, tiltfile, &api_objects);
    live_update::touch_objects(state);
    alarm::limit_ci(state);
}

/// Returns the first order number: resources of the main Tiltfile come first, those of others after all
/// existing ones.
fn first_order(state: &State, tiltfile: &ResourceName) -> u32 {
    if tiltfile.is_tiltfile() {
        return 0;
    }
    let others = state.resources.values().filter(|resource| resource.tiltfile != *tiltfile);
    others.map(|resource| resource.order).max().unwrap_or(0)
}

fn define(state: &mut State, tiltfile: &ResourceName, resource: Resource, order: u32, changed: &[String]) {
    let name = resource.name.clone();
    let sequence = state.next_sequence();
    if !state.resources.get(&name).is_some_and(|known| is_of_a_kind(&known.spec.body, &resource.body)) {
        remove(state, &name);
    }
    state.touch(&name);
    let by_hand = state.trigger_modes.get(&name).copied();
    let Some(known) = state.resources.get_mut(&name) else {
        let mut fresh = ResourceState::new(Arc::new(resource), tiltfile.clone(), order);
        fresh.trigger_mode = by_hand.unwrap_or(fresh.trigger_mode);
        fresh.switched = state.now;
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
    let (started, outdated) = (known.started_once, known.reconfigured.is_some());
    if known.disabled {
        known.reconfigured = None;
    } else {
        define_watches(known, sequence);
    }
    let commands = |body: &Body| match body {
        Body::Kubernetes(kubernetes) => kubernetes.custom_deploy.clone(),
        Body::Local(_) | Body::Compose(_) => None,
    };
    let deploys = state.resources.get(&name).is_some_and(|known| commands(&known.spec.body).is_some());
    if let Some(deploy) = commands(&old.body).filter(|_| started && !deploys) {
        let cluster = state.cluster_of(&name);
        let leftovers = Leftovers { cluster, objects: Vec::new(), command: Some(deploy.delete) };
        clean_up(state, &name, leftovers, CleanupReason::Unnamed);
    }
    port_forward::reconcile(state, &Owner::from(&name));
    if outdated {
        give_up_outdated(state, &name);
    }
}

/// Returns whether a resource can be changed in place. One that moves to another cluster is replaced.
fn is_of_a_kind(old: &Body, new: &Body) -> bool {
    match (old, new) {
        (Body::Kubernetes(old), Body::Kubernetes(new)) => old.cluster == new.cluster,
        _ => std::mem::discriminant(old) == std::mem::discriminant(new),
    }
}

/// Returns whether a changed definition requires an update.
fn asks_for_update(old: &Body, new: &Body) -> bool {
    match (old, new) {
        (Body::Local(old), Body::Local(new)) => old.update != new.update || old.serve != new.serve,
        (Body::Kubernetes(old), Body::Kubernetes(new)) => {
            // How it is made, and what it does to pods.
            let recipe = |image: &ImageTarget| {
                let found = (image.match_exact, image.match_in_env_vars);
                let overrides = (image.entrypoint.clone(), image.container_args.clone());
                (image.name.clone(), image.build.clone(), found, overrides)
            };
            let command = |it: &KubernetesResource| it.custom_deploy.as_ref().map(|it| it.apply.clone());
            let finds_pods =
                |it: &KubernetesResource| (it.extra_pod_selectors.clone(), it.discovery_strategy);
            old.objects != new.objects
                || !takes_updates_alike(old, new)
                || finds_pods(old) != finds_pods(new)
                || command(old) != command(new)
                || old.image_locators != new.image_locators
                || !old.images.iter().map(recipe).eq(new.images.iter().map(recipe))
        }
        (Body::Compose(old), Body::Compose(new)) => old != new,
        _ => true,
    }
}

/// Returns whether pods created for the live updates of one also accept those of the other: their agent
/// depends on paths and methods.
fn takes_updates_alike(old: &KubernetesResource, new: &KubernetesResource) -> bool {
    let way = |image: &ImageTarget| {
        let update = image.live_update.as_ref()?;
        let places: Vec<String> = update.syncs.iter().map(|sync| sync.container.clone()).collect();
        let restart = update.restart_process.as_ref();
        Some((places, restart.map(|restart| (restart.restart_file.clone(), restart.wait_when_ended))))
    };
    old.without_agent == new.without_agent && old.images.iter().map(way).eq(new.images.iter().map(way))
}

/// Keeps the state of images whose definition is unchanged.
pub(super) fn define_images(resource: &mut ResourceState, old: Option<&KubernetesResource>) {
    let spec = Arc::clone(&resource.spec);
    let (Body::Kubernetes(new), Some(state)) = (&spec.body, resource.kubernetes_mut()) else { return };
    if old.is_none_or(|old| old.objects != new.objects) {
        state.yaml = yaml::stream(&new.objects).into();
    }
    let mut known = std::mem::take(&mut state.images);
    let mut kept: BTreeMap<_, ImageState> = BTreeMap::new();
    for image in &new.images {
        let mut image_state = known.remove(&image.name).unwrap_or_default();
        let same = old.and_then(|old| old.image(&image.name)).is_some_and(|old| old.build == image.build);
        image_state.stale |= !same && image_state.reference.is_some();
        image_state.elsewhere.take_if(|_| !same);
        image_state.closed &= same;
        if !image.is_built() {
            image_state.reference = None;
        }
        kept.insert(image.name.clone(), image_state);
    }
    state.images = kept;
}

/// Returns the file watches that a resource needs.
pub(crate) fn wanted_watches(resource: &ResourceState) -> Vec<(WatchId, FileSet)> {
    let name = &resource.spec.name;
    let wanted: Vec<(WatchId, FileSet)> = match &resource.spec.body {
        Body::Local(local) => vec![(WatchId::Local(name.clone()), local.files.clone())],
        Body::Compose(_) => Vec::new(),
        Body::Kubernetes(kubernetes) => {
            let watch =
                |image: &ImageTarget| (WatchId::Image(name.clone(), image.name.clone()), image.files.clone());
            let deploy = kubernetes.custom_deploy.iter();
            let deploy = deploy.map(|it| (WatchId::Deploy(name.clone()), it.files.clone()));
            kubernetes.images.iter().map(watch).chain(deploy).collect()
        }
    };
    wanted.into_iter().filter(|(_, files)| !files.is_empty()).collect()
}

pub(super) fn define_watches(resource: &mut ResourceState, version: u64) {
    let mut known = std::mem::take(&mut resource.watches);
    for (id, files) in wanted_watches(resource) {
        let kept = known.remove(&id).filter(|watch| *watch.files() == files);
        resource.watches.insert(id, kept.unwrap_or_else(|| FileWatch::new(files, version)));
    }
}

fn remove(state: &mut State, name: &ResourceName) {
    update::forget_deployed(state, name);
    outage::forget(state, name);
    port_forward::forget(state, &Owner::from(name));
    command::stop(state, &Owner::from(name));
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
    state.forget_waiting(name);
    state.updating.remove(name);
    state.settled.waiting.remove(name);
    state.settled.failed.remove(name);
    state.touch(name);
    objects::resource_switched(state, name);
    clean_up(state, name, may_be_applied(&resource), CleanupReason::Unnamed);
}

/// Returns what a resource may have in the cluster.
pub(super) fn may_be_applied(resource: &ResourceState) -> Leftovers {
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&resource.spec.body, resource.kubernetes()) else {
        return Leftovers::default();
    };
    let mut objects = kubernetes.applied().to_vec();
    // A cancelled update may have applied them already.
    if resource.update.is_some() {
        let new = spec.objects.iter().filter(|object| !kubernetes.applied().contains(object));
        objects.extend(new.cloned().collect::<Vec<_>>());
    }
    // A failed update may have done a part of its work, too.
    let command = spec.custom_deploy.as_ref().filter(|_| resource.started_once);
    let command = command.map(|deploy| deploy.delete.clone());
    Leftovers { cluster: spec.cluster.clone(), objects, command }
}

/// Deletes what a resource has deployed and is no longer wanted. Returns the number of the deletion, if there
/// is one.
pub(crate) fn clean_up(
    state: &mut State,
    name: &ResourceName,
    mut leftovers: Leftovers,
    reason: CleanupReason,
) -> Option<u64> {
    leftovers.objects.retain(|object| !is_kept(object));
    if leftovers.is_empty() {
        return None;
    }
    let cleanup = state.next_sequence();
    state.cleanups.insert(cleanup, Cleanup { resource: name.clone(), leftovers, reason });
    *state.cleaning.entry(name.clone()).or_default() += 1;
    state.touch_session();
    Some(cleanup)
}

/// Returns whether an object outlives the session, as with Tilt's `down-policy`.
fn is_kept(object: &Value) -> bool {
    let policy = object.pointer("/metadata/annotations/tilt.dev~1down-policy").and_then(Value::as_str);
    policy == Some("keep")
}

/// Handles the end of a deletion, or that it is no longer needed.
pub(super) fn cleaned_up(state: &mut State, cleanup: u64) {
    let Some(Cleanup { resource, .. }) = state.cleanups.remove(&cleanup) else { return };
    objects::apply_cleaned_up(state, cleanup);
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
        .filter(|(_, resource)| resource.ready.was_ready())
        .map(|(name, _)| name.clone())
        .collect();
    for (name, resource) in state.resources.iter_mut() {
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

fn link_images(state: &mut State) {
    let mut sharing: BTreeMap<ImageName, BTreeSet<ResourceName>> = BTreeMap::new();
    for (name, resource) in state.resources.iter() {
        let Body::Kubernetes(spec) = &resource.spec.body else { continue };
        for image in spec.images.iter().filter(|image| image.is_built()) {
            sharing.entry(image.name.clone()).or_default().insert(name.clone());
        }
    }
    sharing.retain(|_, resources| resources.len() > 1);
    state.saves.retain(|image, _| sharing.contains_key(image));
    // The objects of shared images name all resources that share them.
    let affected: BTreeSet<ResourceName> =
        sharing.values().chain(state.sharing.values()).flatten().cloned().collect();
    affected.iter().for_each(|name| state.touch(name));
    state.sharing = sharing;
    // What they wait for may be gone.
    let waits = |resource: &ResourceState| matches!(resource.hold, Some(Hold::Image { .. }));
    let waiting: Vec<ResourceName> =
        state.resources.iter().filter(|(_, it)| waits(it)).map(|(name, _)| name.clone()).collect();
    waiting.iter().for_each(|name| state.touch(name));
}
