//! `Tiltfile`: what is loaded, with which arguments, and what loads it anew.

use std::path::Path;

use lilt_api::{Object, ObjectKey};
use lilt_model::ResourceName;
use serde_json::{Map, Value, json};

use super::trigger::{Triggers, last_click};
use super::{references, set_references};
use crate::apply::{cancel, forget_tiltfile, request_load, set_args};
use crate::event::WatchId;
use crate::state::{State, TiltfileState};

/// The main one is not made but there; what may be said of it is said by writing its object.
pub(super) fn written(state: &mut State, key: &ObjectKey, object: &Object) {
    let name = ResourceName::new(&key.name);
    set_triggers(state, &name, key, object);
    let labels = labels(object);
    if let Some(tiltfile) = state.tiltfile_named_mut(&name).filter(|tiltfile| tiltfile.labels != labels) {
        tiltfile.labels = labels;
        tiltfile.triggered = true;
        request_load(state, &name);
    }
    set_args(state, &name, object.texts("/spec/args"));
    reconsider(state, key);
    state.touch_session();
}

fn labels(object: &Object) -> Vec<String> {
    let labels = object.get("/spec/labels").and_then(Value::as_object);
    labels.into_iter().flat_map(Map::keys).cloned().collect()
}

/// Remembers what loads it anew, but for changes to what it read, which are followed anyway.
fn set_triggers(state: &mut State, name: &ResourceName, key: &ObjectKey, object: &Object) {
    let own = WatchId::Tiltfile(name.clone()).name();
    let said = object.get("/spec/restartOn").filter(|restart| !restart.is_null());
    let mut object = object.clone();
    let watches = object.texts("/spec/restartOn/fileWatches");
    if said.is_some()
        && let Some(spec) = object.content.get_mut("spec")
    {
        let others: Vec<&String> = watches.iter().filter(|watch| **watch != own).collect();
        spec["restartOn"]["fileWatches"] = json!(others);
    }
    let follows_files = said_nothing(&object, &watches) || watches.contains(&own);
    set_references(state, key, references::of(key, &object));
    let followed = Triggers::of(state, &object);
    let stopped = last_click(state, &object.texts("/spec/stopOn/uiButtons")).map(|(at, _)| at);
    if let Some(tiltfile) = state.tiltfile_named_mut(name) {
        let triggers = &mut tiltfile.triggers;
        triggers.follows_files = follows_files;
        // A click from before it was named does nothing.
        if triggers.object != object {
            triggers.object = object;
            triggers.followed = followed;
            triggers.stopped = stopped;
        }
    }
}

fn said_nothing(object: &Object, watches: &[String]) -> bool {
    watches.is_empty() && object.texts("/spec/restartOn/uiButtons").is_empty()
}

/// Loads it, loads it anew or stops that, as its object and what it names say.
pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let name = ResourceName::new(&key.name);
    if let Some(made) = state.objects.made.get(key) {
        let object = made.object.clone();
        define(state, &name, key, &object);
    }
    let Some(tiltfile) = state.tiltfile_named(&name) else { return };
    let asked = Triggers::of(state, &tiltfile.triggers.object);
    let stop = last_click(state, &tiltfile.triggers.object.texts("/spec/stopOn/uiButtons")).map(|(at, _)| at);
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

fn define(state: &mut State, name: &ResourceName, key: &ObjectKey, object: &Object) {
    let folder = state.options.tiltfile.parent().unwrap_or(Path::new("/"));
    let path = folder.join(object.text("/spec/path"));
    let labels = labels(object);
    let args = object.texts("/spec/args");
    let known = state.tiltfiles.contains_key(name);
    let tiltfile = state.tiltfiles.entry(name.clone()).or_default();
    let is_same = tiltfile.path == path && tiltfile.labels == labels;
    tiltfile.path = path;
    tiltfile.labels = labels;
    if !known {
        tiltfile.args = args.clone();
    }
    set_triggers(state, name, key, object);
    if !is_same || !known {
        request_load(state, name);
    }
    set_args(state, name, args);
}

/// Its object is gone.
pub(super) fn gone(state: &mut State, key: &ObjectKey) {
    forget_tiltfile(state, &ResourceName::new(&key.name));
}

/// What became of the last load.
pub(crate) fn tiltfile_status(tiltfile: &TiltfileState) -> Value {
    match (&tiltfile.loading, tiltfile.history.back()) {
        (Some(load), _) => {
            json!({"running": {"startedAt": load.started, "reasons": [load.cause.headline()]}})
        }
        (None, Some(last)) => json!({"terminated": {
            "startedAt": last.started, "finishedAt": last.finished, "reasons": [last.cause.headline()],
            "error": last.failure.as_ref().map(ToString::to_string).unwrap_or_default(),
            "warningCount": last.warnings.len(),
        }}),
        (None, None) => json!({"waiting": {"reason": "initial-build"}}),
    }
}
