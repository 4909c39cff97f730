//! What watches report.

use std::path::PathBuf;
use std::time::Duration;

use lilt_api::{ObjectKey, ObjectKind};
use lilt_model::files::ChangedPath;
use lilt_model::resource::Body;
use lilt_model::{Failure, ImageName, ResourceName, Timestamp};

use crate::apply::{
    propagate_to_unwatched_sharers, record_image_changes, request_load_for_changes, save_number,
};
use crate::event::{FileChanges, WatchId};
use crate::objects;
use crate::schedule;
use crate::state::{BodyState, State};

/// Changes that are reported so soon after an update ended were most likely made while it ran.
const AFTERWARDS: Duration = Duration::from_millis(500);
/// Nobody's save waits so long to be noticed.
const LONG_AGO: Duration = Duration::from_secs(10);
/// How exactly file systems tell the time.
const GRAIN: Duration = Duration::from_millis(20);

/// Files were saved.
pub(crate) fn changed(state: &mut State, changes: FileChanges) {
    let FileChanges { watch, paths, existence, written } = changes;
    let sequence = match &watch {
        WatchId::Image(name, image) => save_number(state, name, image, &paths, written),
        _ => state.next_sequence(),
    };
    let now = state.now;
    note_loop(state, &watch, &paths, written);
    add_event(state, &watch, &paths);
    let paths = match &watch {
        WatchId::Image(name, image) => without_dependencies_of_command(state, name, image, paths),
        _ => paths,
    };
    if paths.is_empty() {
        return;
    }
    let changes = paths.into_iter().map(|path| (ChangedPath::from(path), sequence));
    if let WatchId::Image(name, image) = &watch {
        propagate_to_unwatched_sharers(state, name, image, changes.clone());
    }
    let name = match &watch {
        WatchId::Tiltfile(name) => {
            if let Some(tiltfile) = state.tiltfile_named_mut(name) {
                tiltfile.changes.extend(changes);
                request_load_for_changes(state, name);
            }
            return;
        }
        WatchId::Object(_) => return,
        WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => name.clone(),
    };
    let Some(resource) = state.resources.get_mut(&name).filter(|resource| !resource.disabled) else { return };
    match (&mut resource.body, &watch) {
        (BodyState::Local(local), WatchId::Local(_)) => local.changes.extend(changes),
        (BodyState::Kubernetes(_), WatchId::Image(_, image)) => {
            record_image_changes(resource, image, changes, &existence);
        }
        (BodyState::Kubernetes(kubernetes), WatchId::Deploy(_)) => kubernetes.changes.extend(changes),
        _ => return,
    }
    // Files that were moved or unpacked bring old times with them.
    resource.saved = written.filter(|at| *at <= now && now.since(*at) <= LONG_AGO).map(|at| (at, now));
    state.touch(&name);
    let image = match &watch {
        WatchId::Image(_, image) => Some(image),
        _ => None,
    };
    schedule::files_changed(state, &name, image, sequence, written);
}

/// Leaves out the files that only concern the command which deploys the containers of an image that is not built here.
///
/// The image and the command watch the same files. The command's own watch reports these, too: counted twice, one save
/// would run the command twice.
fn without_dependencies_of_command(
    state: &State,
    name: &ResourceName,
    image: &ImageName,
    mut paths: Vec<PathBuf>,
) -> Vec<PathBuf> {
    let resource = state.resources.get(name);
    let Some(Body::Kubernetes(spec)) = resource.map(|resource| &resource.spec.body) else { return paths };
    let target = spec.image(image).filter(|target| spec.custom_deploy.is_some() && !target.is_built());
    if let Some(live_update) = target.and_then(|target| target.live_update.as_ref()) {
        let synced = live_update.syncs.iter().map(|sync| &sync.local);
        let taken: Vec<&PathBuf> = synced.chain(&live_update.stop_paths).collect();
        paths.retain(|path| taken.iter().any(|taken| path.starts_with(taken)));
    }
    paths
}

/// Some deletions may be missing: only a build knows which files are left.
pub(crate) fn changes_lost(state: &mut State, watch: &WatchId) {
    let WatchId::Image(name, image) = watch else { return };
    let Some(resource) = state.resources.get_mut(name) else { return };
    if let Some(image) = resource.kubernetes_mut().and_then(|it| it.images.get_mut(image)) {
        image.stale |= image.reference.is_some();
        state.touch(name);
    }
}

/// Changes may be missed from now on.
pub(crate) fn troubled(state: &mut State, id: &WatchId, failure: &Failure) {
    if let Some(watch) = state.file_watch_mut(id) {
        watch.events.error = Some(failure.to_string());
        touch(state, id);
    }
}

/// Adds an event to what readers see of a watch, and reconsiders the objects that follow it.
fn add_event(state: &mut State, id: &WatchId, paths: &[PathBuf]) {
    let now = state.now;
    let Some(watch) = state.file_watch_mut(id) else { return };
    watch.events.add(now, paths.to_vec());
    let name = if let WatchId::Object(name) = id { name.clone() } else { id.name() };
    objects::changed(state, &ObjectKey::new(ObjectKind::FileWatch, name));
    // Whether a resource is touched is decided by what its files are for.
    if matches!(id, WatchId::Tiltfile(_) | WatchId::Object(_)) {
        touch(state, id);
    }
}

fn touch(state: &mut State, id: &WatchId) {
    match id {
        WatchId::Tiltfile(_) => state.touch_session(),
        WatchId::Object(name) => state.objects.touch(&ObjectKey::new(ObjectKind::FileWatch, name)),
        WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => state.touch(name),
    }
}

/// Remembers whether an update of its own may have written these files.
fn note_loop(state: &mut State, watch: &WatchId, paths: &[PathBuf], written: Option<Timestamp>) {
    let now = state.now;
    match watch {
        WatchId::Tiltfile(name) => {
            let Some(tiltfile) = state.tiltfile_named_mut(name) else { return };
            let ended = tiltfile.history.back().map(|last| last.finished);
            let own = tiltfile.loading.is_some() || is_own(now, ended, written);
            tiltfile.looping.note_changes(own, tiltfile.loading.is_some(), paths.iter());
        }
        WatchId::Object(_) => {}
        WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => {
            if let Some(resource) = state.resources.get_mut(name) {
                let running = resource.update.is_some();
                // What a server writes it writes after the update that started it.
                let written = written.filter(|_| !resource.serves());
                let own = running || is_own(now, resource.last_end(), written);
                resource.looping.note_changes(own, running, paths.iter());
            }
        }
    }
}

/// Whether files were written by an update that ended at this time. Where the time is not known, what is
/// reported soon after counts.
fn is_own(now: Timestamp, ended: Option<Timestamp>, written: Option<Timestamp>) -> bool {
    let Some(ended) = ended else { return false };
    match written {
        Some(written) => written <= ended.plus(GRAIN),
        None => now.since(ended) <= AFTERWARDS,
    }
}

/// No change to the files of a watch is missed from now on.
pub(crate) fn watching(state: &mut State, id: &WatchId, version: u64) {
    let now = state.now;
    let Some(watch) = state.file_watch_mut(id) else { return };
    // What a Tiltfile reads is watched as soon as it is known; saves count before.
    let is_of_tiltfile = matches!(id, WatchId::Tiltfile(_));
    if !is_of_tiltfile && (watch.version() != version || watch.is_ready()) {
        return;
    }
    watch.events.begin(now);
    touch(state, id);
    if let WatchId::Object(name) = id {
        objects::changed(state, &ObjectKey::new(ObjectKind::FileWatch, name));
    }
}
