//! Saved files.

use std::path::PathBuf;

use crate::apply::load;
use crate::event::WatchId;
use crate::objects;
use crate::schedule::give_up_outdated;
use crate::state::{BodyState, State};

pub(super) fn changed(state: &mut State, watch: WatchId, paths: Vec<PathBuf>) {
    let sequence = state.next_sequence();
    note_loop(state, &watch, &paths);
    let changes = paths.into_iter().map(|path| (path, sequence));
    let name = match &watch {
        WatchId::Tiltfile => {
            state.tiltfile.changes.extend(changes);
            load::request_for_changes(state);
            return;
        }
        WatchId::Object(name) => {
            objects::files_changed(state, name, changes.map(|(path, _)| path).collect());
            return;
        }
        WatchId::Local(name) | WatchId::Image(name, _) => name.clone(),
    };
    let Some(resource) = state.resources.get_mut(&name).filter(|resource| !resource.disabled) else { return };
    match (&mut resource.body, &watch) {
        (BodyState::Local(local), WatchId::Local(_)) => local.changes.extend(changes),
        (BodyState::Kubernetes(kubernetes), WatchId::Image(_, image)) => {
            if let Some(image) = kubernetes.images.get_mut(image) {
                image.changes.extend(changes);
            }
        }
        _ => return,
    }
    state.touch(&name);
    give_up_outdated(state, &name);
}

/// Remembers who may have written these files.
fn note_loop(state: &mut State, watch: &WatchId, paths: &[PathBuf]) {
    let now = state.now;
    match watch {
        WatchId::Tiltfile => {
            let tiltfile = &mut state.tiltfile;
            let ended = tiltfile.history.back().map(|last| last.finished);
            tiltfile.looping.note_changes(now, tiltfile.loading.is_some(), ended, paths.iter());
        }
        WatchId::Object(_) => {}
        WatchId::Local(name) | WatchId::Image(name, _) => {
            if let Some(resource) = state.resources.get_mut(name) {
                let (running, ended) = (resource.update.is_some(), resource.last_end());
                resource.looping.note_changes(now, running, ended, paths.iter());
            }
        }
    }
}

pub(super) fn watching(state: &mut State, watch: &WatchId, version: u64) {
    let name = match watch {
        WatchId::Tiltfile => return,
        WatchId::Object(name) => return objects::files_watching(state, name, version),
        WatchId::Local(name) | WatchId::Image(name, _) => name,
    };
    let known = state.resources.get_mut(name).and_then(|resource| resource.watches.get_mut(watch));
    if let Some(known) = known.filter(|known| known.version == version && !known.ready) {
        known.ready = true;
        state.touch(name);
    }
}
