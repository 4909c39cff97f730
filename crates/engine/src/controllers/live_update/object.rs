//! Live updates of `LiveUpdate` objects: each container gets what it lacks as soon as it has its former job done.
//!
//! The `LiveUpdate` objects that show the live updates of resources only report, and are not here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lilt_api::{Content, LiveUpdateSpec, ObjectKey, ObjectKind};
use lilt_model::files::{ChangedPath, FileSet, IgnoreRule};
use lilt_model::image::LiveUpdate;
use lilt_model::resource::Body;
use lilt_model::timeline::{Stage, StageKind};
use lilt_model::{ContainerId, Failure, ResourceName, Timestamp};
use serde::Serialize;

use super::plan::SyncPlan;
use super::selector::{self, Found, Waiting};
use super::state::{ContainerFault, ContainerJob, SyncContainer, SyncContainers};
use crate::cause::Cause;
use crate::event::SyncFault;
use crate::objects::{self, Reference, image_built_at, log_resource};
use crate::outage;
use crate::owner::Owner;
use crate::plan::Plan;
use crate::schedule::in_place;
use crate::state::State;
use crate::timeline::{self, Outcome};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ObjectLiveUpdate {
    /// The specification that all this is about.
    spec: LiveUpdateSpec,
    /// Whose log it writes to.
    resource: Option<ResourceName>,
    /// What was saved and is not in the image: when, and the number of the newest save.
    changes: BTreeMap<ChangedPath, (Timestamp, u64)>,
    /// The newest save of each source that was taken in.
    seen: BTreeMap<String, Timestamp>,
    pub(super) containers: SyncContainers,
    /// Containers that have not started yet.
    pub(super) waiting: Vec<Waiting>,
    /// Why nothing is copied.
    pub(super) failed: Option<NotPossible>,
}

/// Why nothing is copied.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct NotPossible {
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) since: Timestamp,
}

/// Reason and message.
pub(super) type Trouble = (&'static str, String);

/// Takes in what the object and the objects that it names say now.
pub(crate) fn reconcile(state: &mut State, key: &ObjectKey) {
    let Some(record) = state.objects.records.get(key) else { return };
    let Content::LiveUpdate(object) = &record.content else { return };
    let (spec, resource) = (object.spec.clone(), log_resource(&record.object));
    let mut run = state.live_updates.objects.remove(key).unwrap_or_default();
    let update = spec.live_update(state.folder());
    if run.spec != spec {
        outage::forget_object(state, key);
        record_cancelled(state, &run, run.containers.values());
        let mut containers = std::mem::take(&mut run.containers);
        containers.values_mut().for_each(|container| container.reset(update.initial_sync));
        *run = ObjectLiveUpdate { spec: spec.clone(), containers, ..ObjectLiveUpdate::default() };
    }
    run.resource = Some(resource);
    follow(state, key, &spec);
    let trouble = take_in(state, &spec, &update, &mut run).err();
    let now = state.now;
    run.failed = trouble.map(|(reason, message)| match run.failed.take() {
        // The same as before: since then.
        Some(known) if (known.reason, &known.message) == (reason, &message) => known,
        _ => NotPossible { reason, message, since: now },
    });
    state.live_updates.objects.insert(key.clone(), run);
    state.objects.touch(key);
}

/// The object is gone.
pub(crate) fn forget(state: &mut State, key: &ObjectKey) {
    outage::forget_object(state, key);
    if let Some(run) = state.live_updates.objects.remove(key) {
        record_cancelled(state, &run, run.containers.values());
    }
}

/// Makes it reconsidered when a pod of its namespaces changes, or what it names does.
fn follow(state: &mut State, key: &ObjectKey, spec: &LiveUpdateSpec) {
    let Some(record) = state.objects.records.get(key) else { return };
    let discovery = spec.selector.kubernetes.as_ref().map_or("", |it| it.discovery_name.as_str());
    let watched = match state.objects.get(ObjectKind::KubernetesDiscovery, discovery).map(|it| &it.content) {
        Some(Content::KubernetesDiscovery(found)) => objects::discovery_namespaces(state, &found.spec),
        _ => state.clusters.iter().flat_map(|(_, cluster)| cluster.namespaces.clone()).collect(),
    };
    let mut names = objects::references_of(key, &record.content);
    names.extend(watched.into_iter().map(Reference::Namespace));
    objects::set_references(state, key, names);
}

/// Takes in what was saved and which containers there are.
fn take_in(
    state: &mut State,
    spec: &LiveUpdateSpec,
    update: &LiveUpdate,
    run: &mut ObjectLiveUpdate,
) -> Result<(), Trouble> {
    let Some(selector) = &spec.selector.kubernetes else {
        let words = "not supported yet: only containers of Kubernetes are updated in place".to_owned();
        return Err(("NotSupported", words));
    };
    if update.restart {
        let words = "not supported: a container of Kubernetes is not restarted with `restart`; \
                     restart_process() in a Tiltfile starts its process anew";
        return Err(("NotSupported", words.to_owned()));
    }
    let Found { running, waiting } = selector::find(state, selector)?;
    run.waiting = waiting;
    take_saves(state, spec, run)?;
    let mut known = std::mem::take(&mut run.containers.0);
    run.containers.0 = running
        .into_iter()
        .map(|(id, found)| {
            let new = || SyncContainer::new(found.pod, &found.name, found.agent, 0, update.initial_sync);
            let container = known.remove(&id).unwrap_or_else(new);
            (id, container)
        })
        .collect();
    record_cancelled(state, run, known.values());
    match run.changes.keys().find(|path| !in_place(update, path)) {
        Some(path) if update.stop_paths.iter().any(|stop| path.starts_with(stop)) => {
            Err(("UpdateStopped", format!("Detected change to stop path {:?}", path.display().to_string())))
        }
        Some(path) => Err(("UpdateStopped", format!("Found file not matching any sync: {}", path.display()))),
        None => Ok(()),
    }
}

/// Takes in new saves, and forgets those that the image contains.
fn take_saves(state: &mut State, spec: &LiveUpdateSpec, run: &mut ObjectLiveUpdate) -> Result<(), Trouble> {
    for source in &spec.sources {
        let watch = &source.file_watch;
        let built = image_built_at(state, &source.image_map);
        if let Some(built) = built {
            run.changes.retain(|_, (at, _)| *at >= built);
        }
        if watch.is_empty() {
            continue;
        }
        let Some(events) = state.file_events(watch) else {
            return Err(("ObjectNotFound", format!("filewatches.tilt.dev {watch:?} not found")));
        };
        let after = run.seen.get(watch).copied();
        let new: Vec<(Timestamp, Vec<PathBuf>)> = events.after(after).cloned().collect();
        for (at, paths) in new {
            run.seen.insert(watch.clone(), at);
            if built.is_some_and(|built| at < built) {
                continue;
            }
            let number = state.next_sequence();
            run.changes.extend(paths.into_iter().map(|path| (path.into(), (at, number))));
        }
    }
    Ok(())
}

/// Begins the jobs of the objects that were touched.
///
/// Not before the end of a turn: what belongs to the same burst of saves may be in the event of another watch.
pub(crate) fn begin_touched(state: &mut State) {
    for key in state.objects.touched_of_kind(ObjectKind::LiveUpdate) {
        let Some(mut run) = state.live_updates.objects.remove(&key) else { continue };
        if run.failed.is_none() {
            begin(state, &mut run);
        }
        state.live_updates.objects.insert(key, run);
    }
}

/// Gives each container what it lacks, if anything of that was not tried yet.
fn begin(state: &mut State, run: &mut ObjectLiveUpdate) {
    let newest = run.changes.values().map(|(_, number)| *number).max().unwrap_or(0);
    for container in run.containers.0.values_mut().filter(|container| container.job.is_none()) {
        if newest <= container.has_or_tried() && !container.awaits_initial_sync() {
            continue;
        }
        let changes = run.changes.iter().map(|(path, (_, number))| (path, *number));
        let up_to = newest.max(container.has());
        let Some(job) = container.job_for(changes, up_to) else { continue };
        let cause = match job.everything && job.paths.is_empty() {
            true => Cause::Started,
            false => Cause::Files(job.paths.iter().map(|path| state.shown(path)).collect()),
        };
        let (number, now) = (state.next_sequence(), state.now);
        let stages = vec![Stage::new(StageKind::Send, "", now)];
        let job = ContainerJob { run: number, cause: Some(cause), started: now, stages, ..job };
        record(state, run.resource.as_ref(), &job, Outcome::Running, None);
        container.job = Some(job);
    }
}

/// Shows a job among the updates of the resource that the object belongs to, if there is one.
fn record(
    state: &mut State,
    resource: Option<&ResourceName>,
    job: &ContainerJob,
    outcome: Outcome,
    failure: Option<&Failure>,
) {
    let resource = resource.filter(|resource| state.resources.contains_key(resource));
    if let (Some(resource), Some(cause)) = (resource, &job.cause) {
        let update = (job.run, cause, job.started);
        timeline::record_object_job(state, resource, update, &job.stages, outcome, failure);
    }
}

/// The jobs of these containers are not wanted any more, or their containers are gone.
fn record_cancelled<'c>(
    state: &mut State,
    run: &ObjectLiveUpdate,
    containers: impl Iterator<Item = &'c SyncContainer>,
) {
    for job in containers.filter_map(|container| container.job.as_ref()) {
        record(state, run.resource.as_ref(), job, Outcome::Cancelled, None);
    }
}

pub(super) fn stage_began(state: &mut State, key: &ObjectKey, run: u64, stage: StageKind, detail: &str) {
    let now = state.now;
    let detail = timeline::shown(&state.redactor, detail);
    let Some(update) = state.live_updates.objects.get_mut(key) else { return };
    let mut jobs = update.containers.0.values_mut().filter_map(|container| container.job.as_mut());
    let Some(job) = jobs.find(|job| job.run == run) else { return };
    timeline::end_open_stages(&mut job.stages, now);
    job.stages.push(Stage::new(stage, detail, now));
    let (job, resource) = (job.clone(), update.resource.clone());
    record(state, resource.as_ref(), &job, Outcome::Running, None);
    state.objects.touch(key);
}

pub(super) fn synced(
    state: &mut State,
    key: &ObjectKey,
    run: u64,
    container: &ContainerId,
    outcome: Result<(), SyncFault>,
) {
    let now = state.now;
    let Some(update) = state.live_updates.objects.get_mut(key) else { return };
    let ObjectLiveUpdate { containers, changes, resource, .. } = &mut **update;
    let resource = resource.clone();
    let Some(container) = containers.0.get_mut(container) else { return };
    let saved = |job: &ContainerJob| {
        let paths = job.paths.iter().map(|path| ChangedPath::from(path.clone()));
        paths.filter_map(|path| changes.get(&path)).map(|(at, _)| *at).max()
    };
    let Some(mut job) = container.finish(run, &outcome, saved, now) else { return };
    let (cluster, name) = (container.pod.cluster.clone(), container.display_name());
    let is_lost =
        |container: &SyncContainer| matches!(container.fault, Some(ContainerFault::Transport { .. }));
    if !containers.values().any(is_lost) {
        outage::forget_object(state, key);
    }
    timeline::end_open_stages(&mut job.stages, now);
    if outcome == Err(SyncFault::Gone) {
        job.stages.push(Stage { end: Some(now), ..Stage::new(StageKind::Missed, name, now) });
    }
    let failure = match &outcome {
        Ok(()) | Err(SyncFault::Gone) => None,
        Err(SyncFault::Step(failure) | SyncFault::Transport(failure) | SyncFault::Closed(failure)) => {
            Some(failure)
        }
    };
    let shown = if failure.is_some() { Outcome::Failed } else { Outcome::Ok };
    record(state, resource.as_ref(), &job, shown, failure);
    if let (Err(SyncFault::Transport(failure)), Some(resource)) = (&outcome, &resource) {
        outage::note_object(state, key, cluster, resource, job.started, failure);
    }
    reconcile(state, key);
}

/// What kept files from being copied responds again.
pub(crate) fn retry(state: &mut State, key: &ObjectKey) {
    if let Some(run) = state.live_updates.objects.get_mut(key) {
        run.containers.values_mut().for_each(SyncContainer::retry);
        state.objects.touch(key);
    }
}

/// Touches all of them: a setting of the Tiltfile may hold for them, too.
pub(crate) fn touch_all(state: &mut State) {
    let State { live_updates, objects, .. } = state;
    live_updates.objects.keys().for_each(|key| objects.touch(key));
}

/// The runner of a container panicked. Returns the job that it had.
pub(super) fn note_broken(state: &mut State, key: &ObjectKey, container: &ContainerId) -> Option<u64> {
    let container = state.live_updates.objects.get_mut(key)?.containers.0.get_mut(container)?;
    let run = container.job.as_ref()?.run;
    container.given_up = run;
    Some(run)
}

/// The tasks of one object.
pub(super) fn plan(state: &State, owner: &Owner, key: &ObjectKey) -> Plan {
    let Some(run) = state.live_updates.objects.get(key) else { return Plan::new() };
    let Some(record) = state.objects.records.get(key) else { return Plan::new() };
    let Content::LiveUpdate(object) = &record.content else { return Plan::new() };
    let resource = log_resource(&record.object);
    let sync = SyncPlan {
        live_update: object.spec.live_update(state.folder()),
        without_agent: without_agent(state, &object.spec, &resource),
        ignored: ignored(state, &object.spec),
        resource,
        unattended: state.is_unattended(),
    };
    let is_reached = |container: &SyncContainer| state.clusters.get(&container.pod.cluster).info.is_some();
    let containers = run.containers.iter().filter(|(_, container)| is_reached(container));
    containers.map(|(id, container)| sync.task(owner, id, container)).collect()
}

/// No files, but what the sources of saves ignore.
fn ignored(state: &State, spec: &LiveUpdateSpec) -> FileSet {
    let ignores = spec.sources.iter().flat_map(|source| ignores_of(state, &source.file_watch));
    FileSet::new(Vec::new(), ignores.collect())
}

/// Returns the ignore rules of a `FileWatch`, be it an object or the watch of a resource.
fn ignores_of(state: &State, watch: &str) -> Vec<IgnoreRule> {
    if let Some(Content::FileWatch(watch)) =
        state.objects.get(ObjectKind::FileWatch, watch).map(|record| &record.content)
    {
        return watch.spec.files(state.folder()).ignores;
    }
    let mut kept = state.resources.values().flat_map(|resource| &resource.watches);
    kept.find(|(id, _)| id.name() == watch)
        .map(|(_, watch)| watch.files().ignores.clone())
        .unwrap_or_default()
}

/// Whether lilt's agent must not come into the containers: as the resource says whose pods they are, or as the settings do.
fn without_agent(state: &State, spec: &LiveUpdateSpec, log: &ResourceName) -> bool {
    let discovery = spec.selector.kubernetes.as_ref().map_or("", |selector| selector.discovery_name.as_str());
    let of_resource = [&ResourceName::new(discovery), log].into_iter().find_map(|name| {
        match &state.resources.get(name)?.spec.body {
            Body::Kubernetes(spec) => Some(spec.without_agent),
            Body::Local(_) | Body::Compose(_) => None,
        }
    });
    of_resource.unwrap_or(!state.settings.live_update_agent)
}
