//! `LiveUpdate`: saved files go into the containers that its selector finds, without a build. Those of Tiltfiles are part of
//! the updates of resources.

mod containers;
mod plan;
mod status;

use std::collections::BTreeMap;
use std::path::PathBuf;

use lilt_api::{Content, LiveUpdateSpec, ObjectKey, ObjectKind};
use lilt_model::files::ChangedPath;
use lilt_model::image::LiveUpdate;
use lilt_model::{ContainerId, Failure, Timestamp};
use serde::Serialize;

use super::pods::discovery_namespaces;
use super::references::Reference;
use super::{ObjectRecord, Run, images, references, set_references};
use crate::event::SyncFault;
use crate::schedule::in_place;
use crate::state::{InitialSync, State};
use containers::{Found, Place, Waiting};
pub(super) use plan::plan;
pub(super) use status::status;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LiveRun {
    /// The specification that all this is about.
    spec: LiveUpdateSpec,
    /// What was saved and is not in the image: when, and the number of the newest save.
    changes: BTreeMap<ChangedPath, (Timestamp, u64)>,
    /// The newest save of each source that was looked at.
    seen: BTreeMap<String, Timestamp>,
    #[serde(serialize_with = "crate::dump::pairs")]
    containers: BTreeMap<ContainerId, Target>,
    /// Those that will run.
    waiting: Vec<Waiting>,
    /// Of each container the last run that was given up before it was answered.
    #[serde(serialize_with = "crate::dump::pairs")]
    given_up: BTreeMap<ContainerId, u64>,
    failed: Option<Failed>,
}

/// A running container.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Target {
    place: Place,
    /// It has all saves up to this number.
    has: u64,
    /// Saves up to this number were tried; those that it lacks alone start nothing again.
    tried: u64,
    /// Whether it is to get all synced files first.
    initial_sync: InitialSync,
    synced: Option<Timestamp>,
    job: Option<Job>,
    /// What went wrong, unless something went well later.
    fault: Option<Fault>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
enum Fault {
    Step(String),
    /// Files could not be brought there.
    Transport(Failed),
}

impl Fault {
    fn failed(&self) -> Option<&Failed> {
        match self {
            Fault::Transport(failed) => Some(failed),
            Fault::Step(_) => None,
        }
    }
}

/// What is being copied.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Job {
    run: u64,
    up_to: u64,
    paths: Vec<PathBuf>,
    everything: bool,
    /// What it waits for.
    waits: Option<String>,
}

/// Why nothing is copied.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Failed {
    reason: &'static str,
    message: String,
    since: Timestamp,
}

type Trouble = (&'static str, String);

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { content: Content::LiveUpdate(object), run: Run::Live(run), .. }) =
        state.objects.made.get(key)
    else {
        return;
    };
    let spec = object.spec.clone();
    let mut run = if run.spec == spec { run.clone() } else { Box::new(begin_anew(run, spec.clone())) };
    follow(state, key);
    let update = spec.live_update(state.folder());
    let trouble = look(state, &spec, &update, &mut run).err();
    let now = state.now;
    run.failed = trouble.map(|(reason, message)| match run.failed.take() {
        // The same as before: since then.
        Some(known) if (known.reason, &known.message) == (reason, &message) => known,
        _ => Failed { reason, message, since: now },
    });
    if let Some(ObjectRecord { run: known, .. }) = state.objects.made.get_mut(key) {
        *known = Run::Live(run);
    }
    state.objects.touch(key);
}

/// For another specification. What is being copied for the one before is given up.
fn begin_anew(former: &LiveRun, spec: LiveUpdateSpec) -> LiveRun {
    let mut given_up = former.given_up.clone();
    let unanswered = |(id, target): (&ContainerId, &Target)| Some((id.clone(), target.job.as_ref()?.run));
    given_up.extend(former.containers.iter().filter_map(unanswered));
    LiveRun { spec, given_up, ..LiveRun::default() }
}

/// It is looked at again when a pod of these namespaces changes, or what it names does.
fn follow(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { content, .. }) = state.objects.made.get(key) else { return };
    let Content::LiveUpdate(object) = content else { return };
    let discovery = object.spec.selector.kubernetes.as_ref().map_or("", |it| it.discovery_name.as_str());
    let watched = match state.objects.get(ObjectKind::KubernetesDiscovery, discovery).map(|it| &it.content) {
        Some(Content::KubernetesDiscovery(discovery)) => discovery_namespaces(state, &discovery.spec),
        _ => state.clusters.iter().flat_map(|(_, cluster)| cluster.namespaces.clone()).collect(),
    };
    let mut names = references::of(key, content);
    names.extend(watched.into_iter().map(Reference::Namespace));
    set_references(state, key, names);
}

/// Takes in what was saved and which containers there are.
fn look(
    state: &mut State,
    spec: &LiveUpdateSpec,
    update: &LiveUpdate,
    run: &mut LiveRun,
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
    let Found { running, waiting } = containers::find(state, selector)?;
    run.waiting = waiting;
    take_saves(state, spec, run)?;
    let known = std::mem::take(&mut run.containers);
    run.containers = running
        .into_iter()
        .map(|(id, place)| {
            let initial_sync = if update.initial_sync { InitialSync::Due } else { InitialSync::Done };
            let fresh =
                || Target { place, has: 0, tried: 0, initial_sync, synced: None, job: None, fault: None };
            let target = known.get(&id).cloned().unwrap_or_else(fresh);
            (id, target)
        })
        .collect();
    run.given_up.retain(|id, _| run.containers.contains_key(id));
    match run.changes.keys().find(|path| !in_place(update, path)) {
        Some(path) if update.stop_paths.iter().any(|stop| path.starts_with(stop)) => {
            Err(("UpdateStopped", format!("Detected change to stop path {:?}", path.display().to_string())))
        }
        Some(path) => Err(("UpdateStopped", format!("Found file not matching any sync: {}", path.display()))),
        None => Ok(()),
    }
}

/// Saves that a build has are not copied.
fn take_saves(state: &mut State, spec: &LiveUpdateSpec, run: &mut LiveRun) -> Result<(), Trouble> {
    for source in &spec.sources {
        let watch = &source.file_watch;
        let built = images::built_at(state, &source.image_map);
        if let Some(built) = built {
            run.changes.retain(|_, (at, _)| *at >= built);
        }
        if watch.is_empty() {
            continue;
        }
        let Some(events) = super::files::events(state, watch) else {
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

/// Begins what is to be copied, of those that were looked at. Not before: what else belongs to the same burst of saves may be told
/// by another watch, in the same turn.
pub(crate) fn begin_all(state: &mut State) {
    let live_updates = state.objects.touched.iter().filter(|key| key.kind == ObjectKind::LiveUpdate);
    for key in live_updates.cloned().collect::<Vec<_>>() {
        let Some(ObjectRecord { run: Run::Live(run), .. }) = state.objects.made.get(&key) else { continue };
        let mut run = run.clone();
        if run.failed.is_none() {
            begin(state, &mut run);
        }
        if let Some(ObjectRecord { run: known, .. }) = state.objects.made.get_mut(&key) {
            *known = Run::Live(run);
        }
    }
}

/// Gives each container what it lacks, one thing after the other.
fn begin(state: &mut State, run: &mut LiveRun) {
    for target in run.containers.values_mut().filter(|target| target.job.is_none()) {
        let missing = || run.changes.iter().filter(|(_, (_, number))| *number > target.has);
        let newest = missing().map(|(_, (_, number))| *number).max();
        let untried = newest.filter(|newest| *newest > target.tried);
        let first = (target.initial_sync == InitialSync::Due).then_some(newest.unwrap_or(target.has));
        let Some(up_to) = untried.or(first) else { continue };
        let paths = missing().map(|(path, _)| path.to_path_buf()).collect();
        let everything = target.initial_sync != InitialSync::Done;
        target.job = Some(Job { run: state.next_sequence(), up_to, paths, everything, waits: None });
    }
}

pub(crate) fn waits(state: &mut State, name: &str, number: u64, container: &ContainerId, message: String) {
    let key = ObjectKey::new(ObjectKind::LiveUpdate, name);
    let Some(ObjectRecord { run: Run::Live(run), .. }) = state.objects.made.get_mut(&key) else { return };
    let job = run.containers.get_mut(container).and_then(|target| target.job.as_mut());
    let Some(job) = job.filter(|job| job.run == number) else { return };
    job.waits = Some(message);
    state.objects.touch(&key);
}

pub(crate) fn synced(
    state: &mut State,
    name: &str,
    number: u64,
    container: &ContainerId,
    outcome: Result<(), SyncFault>,
) {
    let key = ObjectKey::new(ObjectKind::LiveUpdate, name);
    let now = state.now;
    let Some(ObjectRecord { run: Run::Live(run), .. }) = state.objects.made.get_mut(&key) else { return };
    let LiveRun { containers, changes, .. } = &mut **run;
    let Some(target) = containers.get_mut(container) else { return };
    let Some(job) = target.job.take_if(|job| job.run == number) else { return };
    // What failed is not tried again by itself, but with the next save.
    target.tried = job.up_to;
    if job.everything {
        target.initial_sync = if outcome.is_ok() { InitialSync::Done } else { InitialSync::Tried };
    }
    let since = target.fault.as_ref().and_then(Fault::failed).map_or(now, |known| known.since);
    target.fault = match outcome {
        Ok(()) => {
            target.has = job.up_to;
            let saved =
                job.paths.iter().filter_map(|path| changes.get(&path.clone().into())).map(|(at, _)| *at);
            target.synced = saved.max().or(target.synced);
            None
        }
        Err(SyncFault::Step(failure)) => Some(Fault::Step(failure.to_string())),
        Err(SyncFault::Transport(failure) | SyncFault::Closed(failure)) => {
            let message = format!("pod {}: {failure}", target.place.pod.name);
            Some(Fault::Transport(Failed { reason: "UpdateFailed", message, since }))
        }
        // Its pod tells of that.
        Err(SyncFault::Gone) => None,
    };
    reconsider(state, &key);
}

/// What a Tiltfile says of the agent holds for them, too.
pub(crate) fn touch_all(state: &mut State) {
    let keys = state.objects.of_kind(ObjectKind::LiveUpdate).map(|(key, _)| key.clone());
    for key in keys.collect::<Vec<_>>() {
        state.objects.touch(&key);
    }
}

/// A runner broke: a bug of ours.
pub(crate) fn broke(state: &mut State, name: &str, container: &ContainerId, failure: Failure) {
    let made = state.objects.made.get_mut(&ObjectKey::new(ObjectKind::LiveUpdate, name));
    let Some(ObjectRecord { run: Run::Live(run), .. }) = made else { return };
    let job = run.containers.get(container).and_then(|target| target.job.as_ref());
    if let Some(number) = job.map(|job| job.run) {
        run.given_up.insert(container.clone(), number);
        synced(state, name, number, container, Err(SyncFault::Transport(failure)));
    }
}
