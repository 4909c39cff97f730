//! `Tiltfile`: the file to load, its arguments, and the triggers that reload it.

use lilt_api::{
    Content, ObjectKey, RestartOnSpec, TiltfileSpec, TiltfileStateRunning, TiltfileStateTerminated,
    TiltfileStateWaiting, TiltfileStatus,
};
use lilt_model::{ResourceName, Timestamp};

use super::trigger::{Triggers, last_click};
use super::{references, set_references};
use crate::apply::{cancel, forget_tiltfile, request_load, set_args};
use crate::event::WatchId;
use crate::state::{State, TiltfileState};

/// Applies a client's write to the object of the main Tiltfile, which lilt itself manages.
pub(super) fn handle_write(state: &mut State, key: &ObjectKey, spec: &TiltfileSpec) {
    let name = ResourceName::new(&key.name);
    set_triggers(state, &name, key, spec);
    let labels = labels(spec);
    if let Some(tiltfile) = state.tiltfile_named_mut(&name).filter(|tiltfile| tiltfile.labels != labels) {
        tiltfile.labels = labels;
        tiltfile.triggered = true;
        request_load(state, &name);
    }
    set_args(state, &name, spec.args.clone());
    reconcile(state, key);
    state.touch_session();
}

fn labels(spec: &TiltfileSpec) -> Vec<String> {
    spec.labels.keys().cloned().collect()
}

/// Records the triggers that reload it, except changes of the files it read, which are watched anyway.
fn set_triggers(state: &mut State, name: &ResourceName, key: &ObjectKey, spec: &TiltfileSpec) {
    let own = WatchId::Tiltfile(name.clone()).name();
    let restart_on = spec.restart_on.clone().unwrap_or_default();
    let RestartOnSpec { mut file_watches, ui_buttons } = restart_on;
    let follows_files = file_watches.contains(&own) || (file_watches.is_empty() && ui_buttons.is_empty());
    file_watches.retain(|watch| *watch != own);
    let mut spec = spec.clone();
    if let Some(restart_on) = &mut spec.restart_on {
        restart_on.file_watches = file_watches;
    }
    let content =
        Content::Tiltfile(Box::new(lilt_api::Tiltfile { spec: spec.clone(), ..Default::default() }));
    set_references(state, key, references::of(key, &content));
    let followed = Triggers::new(state, None, spec.restart_on.as_ref());
    let stopped = last_stop(state, &spec);
    if let Some(tiltfile) = state.tiltfile_named_mut(name) {
        let triggers = &mut tiltfile.triggers;
        triggers.follows_files = follows_files;
        // A click from before it was named does nothing.
        if triggers.spec != spec {
            triggers.spec = spec;
            triggers.followed = followed;
            triggers.stopped = stopped;
        }
    }
}

fn last_stop(state: &State, spec: &TiltfileSpec) -> Option<Timestamp> {
    last_click(state, &spec.stop_on.as_ref()?.ui_buttons).map(|(at, _)| at)
}

/// Starts, restarts or stops its load according to its object and to the objects that it names.
pub(super) fn reconcile(state: &mut State, key: &ObjectKey) {
    let name = ResourceName::new(&key.name);
    if let Some(Content::Tiltfile(tiltfile)) = state.objects.records.get(key).map(|record| &record.content) {
        let spec = tiltfile.spec.clone();
        define(state, &name, key, &spec);
    }
    let Some(tiltfile) = state.tiltfile_named(&name) else { return };
    let asked = Triggers::new(state, None, tiltfile.triggers.spec.restart_on.as_ref());
    let stop = last_stop(state, &tiltfile.triggers.spec);
    let Some(tiltfile) = state.tiltfile_named_mut(&name) else { return };
    let is_asked = asked.is_newer(&tiltfile.triggers.followed);
    let is_stopped = stop > tiltfile.triggers.stopped;
    tiltfile.triggers.followed = asked;
    tiltfile.triggers.stopped = stop;
    if is_asked {
        tiltfile.triggered = true;
        request_load(state, &name);
    }
    if is_stopped {
        cancel(state, &name);
    }
}

fn define(state: &mut State, name: &ResourceName, key: &ObjectKey, spec: &TiltfileSpec) {
    let path = state.folder().join(&spec.path);
    let labels = labels(spec);
    let known = state.tiltfiles.contains_key(name);
    let tiltfile = state.tiltfiles.entry(name.clone()).or_default();
    let is_same = tiltfile.path == path && tiltfile.labels == labels;
    tiltfile.path = path;
    tiltfile.labels = labels;
    if !known {
        tiltfile.args.clone_from(&spec.args);
    }
    set_triggers(state, name, key, spec);
    if !is_same || !known {
        request_load(state, name);
    }
    set_args(state, name, spec.args.clone());
}

/// Handles the deletion of its object.
pub(super) fn gone(state: &mut State, key: &ObjectKey) {
    forget_tiltfile(state, &ResourceName::new(&key.name));
}

/// Returns the status of the running load, or of the last one.
pub(crate) fn tiltfile_status(tiltfile: &TiltfileState) -> TiltfileStatus {
    match (&tiltfile.loading, tiltfile.history.back()) {
        (Some(load), _) => TiltfileStatus {
            running: Some(TiltfileStateRunning {
                reasons: vec![load.cause.headline()],
                started_at: Some(load.started),
            }),
            ..TiltfileStatus::default()
        },
        (None, Some(last)) => TiltfileStatus {
            terminated: Some(TiltfileStateTerminated {
                error: last.failure.as_ref().map(ToString::to_string).unwrap_or_default(),
                finished_at: Some(last.finished),
                reasons: vec![last.cause.headline()],
                started_at: Some(last.started),
                warning_count: i32::try_from(last.warnings.len()).unwrap_or(i32::MAX),
            }),
            ..TiltfileStatus::default()
        },
        (None, None) => TiltfileStatus {
            waiting: Some(TiltfileStateWaiting { reason: "initial-build".to_owned() }),
            ..TiltfileStatus::default()
        },
    }
}
