//! Objects of the API that people, scripts and the Tiltfile make: commands, watches, buttons, values. They are input to
//! the plan like everything else.

mod click;
mod command;
mod disable;
mod files;

use std::collections::{BTreeMap, BTreeSet};

use lilt_model::api::{Object, ObjectKey};
use lilt_model::{ResourceName, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use crate::plan::Plan;
use crate::state::State;

pub(crate) use command::{
    CommandRun, broke as command_broke, ended as command_ended, started as command_started,
};
pub(crate) use files::{FilesRun, changed as files_changed, watching as files_watching};

/// The annotation that says to which resource an object belongs.
pub const RESOURCE: &str = "tilt.dev/resource";

/// The objects that were made, by key, and what they do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Objects {
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) made: BTreeMap<ObjectKey, Made>,
    #[serde(skip)]
    touched: BTreeSet<ObjectKey>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Made {
    pub(crate) object: Object,
    pub(crate) uid: String,
    /// It goes when the Tiltfile no longer makes it.
    pub(crate) by_tiltfile: bool,
    pub(crate) run: Run,
}

/// What an object does, for kinds that act by themselves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum Run {
    Nothing,
    Command(Box<CommandRun>),
    Files(FilesRun),
}

impl Objects {
    pub(crate) fn touch(&mut self, key: &ObjectKey) {
        if !self.touched.contains(key) {
            self.touched.insert(key.clone());
        }
    }

    pub(crate) fn take_touched(&mut self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.touched)
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<&Made> {
        self.made.get(&ObjectKey::new(kind, name))
    }

    fn of_kind<'o>(&'o self, kind: &'o str) -> impl Iterator<Item = (&'o ObjectKey, &'o Made)> {
        self.made.range(ObjectKey::new(kind, "")..).take_while(move |(key, _)| key.kind == kind)
    }
}

/// An object was written, by whomever.
pub(crate) fn put(state: &mut State, key: ObjectKey, object: Object, uid: String, by_tiltfile: bool) {
    if disable::is_switch(state, &key) {
        disable::switch(state, &key, &object);
        return;
    }
    if key.kind == "Tiltfile" && ResourceName::new(&key.name).is_tiltfile() {
        let args = object.texts("/spec/args");
        crate::apply::set_args(state, args);
        return;
    }
    let click = (key.kind == "UIButton").then(|| click::time(&object)).flatten();
    let clicked_before = state.objects.made.get(&key).and_then(|made| click::time(&made.object));
    let (run, uid) = match state.objects.made.remove(&key) {
        Some(known) => (known.run, known.uid),
        None => (fresh(&key), uid),
    };
    state.objects.made.insert(key.clone(), Made { object, uid, by_tiltfile, run });
    state.objects.touch(&key);
    match key.kind.as_str() {
        "ConfigMap" => disable::source_changed(state, &key.name),
        "UIButton" if click > clicked_before => click::clicked(state, &key.name, click),
        _ => {}
    }
    reconsider(state, &key);
}

pub(crate) fn delete(state: &mut State, key: &ObjectKey) {
    if state.objects.made.remove(key).is_none() {
        return;
    }
    state.objects.touch(key);
    if key.kind == "ConfigMap" {
        disable::source_changed(state, &key.name);
    }
    collect_garbage(state);
}

/// Objects whose owners are all gone go too.
fn collect_garbage(state: &mut State) {
    loop {
        let uids: BTreeSet<&str> = state.objects.made.values().map(|made| made.uid.as_str()).collect();
        let orphans: Vec<ObjectKey> = state
            .objects
            .made
            .iter()
            .filter(|(_, made)| is_orphan(made, &uids))
            .map(|(key, _)| key.clone())
            .collect();
        if orphans.is_empty() {
            return;
        }
        for key in orphans {
            state.objects.made.remove(&key);
            state.objects.touch(&key);
        }
    }
}

/// It has owners among the objects that can be made, and none of them is left.
fn is_orphan(made: &Made, uids: &BTreeSet<&str>) -> bool {
    let owners = made.object.metadata.get("ownerReferences").and_then(Value::as_array);
    let Some(owners) = owners.filter(|owners| !owners.is_empty()) else { return false };
    // The Tiltfile and what belongs to resources are never gone as long as the session lasts.
    let is_gone = |owner: &Value| {
        owner["kind"] != "Tiltfile" && owner["uid"].as_str().is_none_or(|uid| !uids.contains(uid))
    };
    owners.iter().all(is_gone)
}

/// What a load of the Tiltfile made: new objects begin, missing ones go, the rest go on.
pub(crate) fn adopt(state: &mut State, objects: &[Value]) {
    let named: BTreeMap<ObjectKey, &Value> =
        objects.iter().filter_map(|object| Some((ObjectKey::of(object)?, object))).collect();
    let gone = state.objects.made.iter().filter(|(key, made)| made.by_tiltfile && !named.contains_key(*key));
    let gone: Vec<ObjectKey> = gone.map(|(key, _)| key.clone()).collect();
    for key in &gone {
        delete(state, key);
    }
    for (key, document) in named {
        let mut object = Object::read(document.clone());
        if let Some(known) = state.objects.made.get(&key) {
            // What became of it stays: a click, an event.
            if let Some(status) = known.object.content.get("status") {
                object.content.insert("status".to_owned(), status.clone());
            }
            if known.object == object && known.by_tiltfile {
                continue;
            }
        }
        let sequence = state.next_sequence();
        put(state, key, object, format!("tiltfile-{sequence}"), true);
    }
}

/// Whether objects of a kind do something when they are made or written. The others are kept and told.
pub fn acts(kind: &str) -> bool {
    matches!(kind, "Cmd" | "ConfigMap" | "FileWatch" | "Tiltfile" | "UIButton")
}

fn fresh(key: &ObjectKey) -> Run {
    match key.kind.as_str() {
        "Cmd" => Run::Command(Box::default()),
        "FileWatch" => Run::Files(FilesRun::default()),
        _ => Run::Nothing,
    }
}

/// Starts, restarts or ends what an object does.
fn reconsider(state: &mut State, key: &ObjectKey) {
    match key.kind.as_str() {
        "Cmd" => command::reconsider(state, key),
        "FileWatch" => files::reconsider(state, key),
        _ => {}
    }
}

/// The tasks of one object.
pub fn plan_object(state: &State, key: &ObjectKey) -> Plan {
    let Some(made) = state.objects.made.get(key) else { return Plan::new() };
    match &made.run {
        Run::Nothing => Plan::new(),
        Run::Command(run) => command::plan(key, made, run),
        Run::Files(run) => files::plan(key, run),
    }
}

/// An object as readers see it; none if it is gone.
pub fn project_object(state: &State, key: &ObjectKey) -> Option<(String, Object)> {
    let made = state.objects.made.get(key)?;
    let mut object = made.object.clone();
    let status = match &made.run {
        Run::Nothing => None,
        Run::Command(run) => Some(command::status(state, made, run)),
        Run::Files(run) => Some(files::status(state, made, run)),
    };
    object.content.extend(status.map(|status| ("status".to_owned(), status)));
    Some((made.uid.clone(), object))
}

fn time(at: Timestamp) -> Value {
    json!(at)
}
