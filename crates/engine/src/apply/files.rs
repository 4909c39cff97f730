//! Saved files.

use std::path::PathBuf;
use std::time::Duration;

use lilt_api::{ObjectKey, ObjectKind};
use lilt_model::files::{ChangedPath, Existence};
use lilt_model::resource::Body;
use lilt_model::{Failure, ImageName, ResourceName, Timestamp};

use crate::apply::{images, load};
use crate::event::WatchId;
use crate::objects;
use crate::schedule;
use crate::state::{BodyState, State};

/// Changes that are told so soon after an update ended were most likely made while it ran.
const AFTERWARDS: Duration = Duration::from_millis(500);
/// Nobody's save waits so long to be noticed.
const LONG_AGO: Duration = Duration::from_secs(10);
/// How exactly file systems tell the time.
const GRAIN: Duration = Duration::from_millis(20);

pub(super) fn changed(
    state: &mut State,
    watch: WatchId,
    paths: Vec<PathBuf>,
    existence: &Existence,
    written: Option<Timestamp>,
) {
    let sequence = match &watch {
        WatchId::Image(name, image) => images::save(state, name, image, &paths, written),
        _ => state.next_sequence(),
    };
    let now = state.now;
    note_loop(state, &watch, &paths, written);
    note_event(state, &watch, &paths);
    let paths = match &watch {
        WatchId::Image(name, image) => without_dependencies_of_command(state, name, image, paths),
        _ => paths,
    };
    if paths.is_empty() {
        return;
    }
    let changes = paths.into_iter().map(|path| (ChangedPath::from(path), sequence));
    if let WatchId::Image(name, image) = &watch {
        images::tell_blind(state, name, image, changes.clone());
    }
    let name = match &watch {
        WatchId::Tiltfile(name) => {
            if let Some(tiltfile) = state.tiltfile_named_mut(name) {
                tiltfile.changes.extend(changes);
                load::request_for_changes(state, name);
            }
            return;
        }
        WatchId::Object(name) => {
            objects::files_changed(state, name, changes.map(|(path, _)| path.to_path_buf()).collect());
            return;
        }
        WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => name.clone(),
    };
    let Some(resource) = state.resources.get_mut(&name).filter(|resource| !resource.disabled) else { return };
    match (&mut resource.body, &watch) {
        (BodyState::Local(local), WatchId::Local(_)) => local.changes.extend(changes),
        (BodyState::Kubernetes(_), WatchId::Image(_, image)) => {
            images::note(resource, image, changes, existence)
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

/// A directory may lack files that containers still have: they are built anew.
pub(super) fn lost(state: &mut State, watch: &WatchId) {
    let WatchId::Image(name, image) = watch else { return };
    let Some(resource) = state.resources.get_mut(name) else { return };
    if let Some(image) = resource.kubernetes_mut().and_then(|it| it.images.get_mut(image)) {
        image.stale |= image.reference.is_some();
        state.touch(name);
    }
}

/// Says so in the `FileWatch`.
pub(super) fn troubled(state: &mut State, watch: &WatchId, failure: &Failure) {
    let words = failure.to_string();
    match watch {
        WatchId::Object(name) => return objects::files_troubled(state, name, words),
        WatchId::Tiltfile(_) => state.touch_session(),
        WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => state.touch(name),
    }
    if let Some(events) = state.file_events_mut(watch) {
        events.trouble(words);
    }
}

/// What the `FileWatch` of a resource or of the Tiltfile tells; what starts anew with it does.
fn note_event(state: &mut State, watch: &WatchId, paths: &[PathBuf]) {
    let now = state.now;
    if let Some(events) = state.file_events_mut(watch) {
        events.note(now, paths.to_vec());
        objects::changed(state, &ObjectKey::new(ObjectKind::FileWatch, watch.name()));
        if matches!(watch, WatchId::Tiltfile(_)) {
            state.touch_session();
        }
    }
}

/// Remembers who may have written these files.
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

/// Whether files were written by an update that ended at this time. Where files do not tell when that was, what is told
/// soon after counts.
fn is_own(now: Timestamp, ended: Option<Timestamp>, written: Option<Timestamp>) -> bool {
    let Some(ended) = ended else { return false };
    match written {
        Some(written) => written <= ended.plus(GRAIN),
        None => now.since(ended) <= AFTERWARDS,
    }
}

pub(super) fn watching(state: &mut State, watch: &WatchId, version: u64) {
    let name = match watch {
        WatchId::Tiltfile(name) => {
            let now = state.now;
            if let Some(tiltfile) = state.tiltfile_named_mut(name) {
                tiltfile.events.begin(now);
            }
            return state.touch_session();
        }
        WatchId::Object(name) => return objects::files_watching(state, name, version),
        WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => name,
    };
    let now = state.now;
    let known = state.resources.get_mut(name).and_then(|resource| resource.watches.get_mut(watch));
    if let Some(known) = known.filter(|known| known.version == version && !known.ready) {
        known.ready = true;
        known.events.begin(now);
        state.touch(name);
    }
}
