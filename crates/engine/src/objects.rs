//! Objects of the API that people, scripts and the Tiltfile make: commands, watches, buttons, values. They are input to
//! the plan like everything else.
//!
//! What an object does follows from what it and the objects it names say now ([`reconsider`]); it is looked at again when
//! one of those changes. So the order in which they are made does not matter, and nothing is looked at in vain.

mod apply;
mod building;
mod buttons;
mod cluster;
mod command;
mod disable;
mod discovery;
mod extension;
mod files;
mod idle;
mod images;
mod live_update;
mod notes;
mod owners;
mod pods;
mod references;
mod tiltfile;
mod toggle;
mod trigger;

use std::collections::{BTreeMap, BTreeSet};

use lilt_api::{Notes, Object, ObjectKey};
use lilt_model::{ResourceName, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::controllers::{command as command_controller, port_forward};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::project::write_unset_times;
use crate::state::State;
use disable::Switch;
use owners::Owners;
use references::References;

pub(crate) use apply::{
    ApplyRun, applied as objects_applied, apply_broke, cleaned_up as apply_cleaned_up,
    coming as objects_coming,
};
pub(crate) use building::{ImageRun, broke as image_broke, ended as image_ended};
pub(crate) use cluster::{ClusterRun, broke as cluster_broke, looked as cluster_looked};
pub(crate) use command::CommandStart;
pub use disable::parse_bool;
pub(crate) use disable::resource_switched;
pub(crate) use extension::{
    ExtensionRun, RepositoryRun, extension_broke, fetched as repository_fetched, found as extension_found,
    repository_broke,
};
pub(crate) use files::{
    FileEvents, FilesRun, changed as files_changed, troubled as files_troubled, watching as files_watching,
};
pub(crate) use images::image_changed;
pub(crate) use live_update::{
    LiveRun, begin_all as begin_live_updates, broke as live_update_broke, synced as live_update_synced,
    touch_all as touch_live_updates, waits as live_update_waits,
};
pub(crate) use notes::{noted, show_notes, show_notes_on};
pub(crate) use owners::gone as owner_gone;
pub(crate) use pods::{cluster_connected, cluster_of, named_pod, pod_changed};
pub(crate) use references::{changed, set_references};
pub(crate) use tiltfile::tiltfile_status;
pub(crate) use toggle::ToggleRun;
pub(crate) use trigger::Triggers;

/// The annotation that says to which resource an object belongs.
pub const ANNOTATION_RESOURCE: &str = "tilt.dev/resource";

/// The objects that were made, by key, and what they do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Objects {
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) made: BTreeMap<ObjectKey, ObjectRecord>,
    /// What became of the buttons that lilt itself keeps: their status, by name.
    pub(crate) clicks: BTreeMap<String, Value>,
    /// What people noted on objects that lilt itself keeps.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) notes: BTreeMap<ObjectKey, Notes>,
    /// What each `KubernetesApply` had applied and is being deleted: the number of the deletion.
    #[serde(serialize_with = "crate::dump::pairs")]
    cleaning: BTreeMap<ObjectKey, u64>,
    #[serde(skip)]
    references: References,
    #[serde(skip)]
    owners: Owners,
    #[serde(skip)]
    touched: BTreeSet<ObjectKey>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ObjectRecord {
    pub(crate) object: Object,
    pub(crate) uid: String,
    pub(crate) origin: Origin,
    /// What its `disableSource` last said.
    pub(crate) switch: Option<Switch>,
    pub(crate) run: Run,
}

/// Who made an object. A change by somebody else does not change that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Origin {
    /// A client.
    Outside,
    /// It goes when this Tiltfile no longer makes it.
    Tiltfile(ResourceName),
    /// Made for another object, and goes with it.
    Object,
}

/// What an object does, for kinds that act by themselves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum Run {
    Nothing,
    Command(Box<CommandStart>),
    Files(FilesRun),
    Toggle(ToggleRun),
    /// Another one is reached.
    Cluster(Box<ClusterRun>),
    Repository(RepositoryRun),
    Extension(ExtensionRun),
    Tiltfile,
    /// Pods are looked for, reached or read.
    Pods,
    Apply(ApplyRun),
    Image(ImageRun),
    Live(Box<LiveRun>),
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

    /// Some object looks into the cluster.
    pub(crate) fn want_cluster(&self) -> bool {
        let is_kind = |kind: &str| {
            let first = self.made.range(ObjectKey::new(kind, "")..).next();
            first.is_some_and(|(key, _)| key.kind == kind)
        };
        pods::KINDS.into_iter().any(is_kind)
    }

    /// Something is being fetched or looked for that may bring resources.
    pub(crate) fn are_coming(&self) -> bool {
        let from = ObjectKey::new("Extension", "");
        let extensions = self.made.range(from..).take_while(|(key, _)| key.kind.starts_with("Extension"));
        extensions.into_iter().any(|(_, made)| match &made.run {
            Run::Repository(run) => run.is_coming(),
            Run::Extension(run) => run.is_coming(),
            _ => false,
        })
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<&ObjectRecord> {
        self.made.get(&ObjectKey::new(kind, name))
    }
}

/// An object was written from outside; the uid counts if it is new.
pub(crate) fn written(state: &mut State, key: ObjectKey, object: Object, uid: String) {
    if let Some(resource) = buttons::resource_of(state, &key) {
        buttons::clicked(state, &key, &object, &resource);
    } else if disable::is_switch(state, &key) {
        disable::switch(state, &key, &object);
    } else if key.kind == "Tiltfile" && ResourceName::new(&key.name).is_tiltfile() {
        tiltfile::written(state, &key, &object);
    } else {
        put(state, key, object, uid, Origin::Outside);
    }
}

/// Makes an object, or makes it another.
fn put(state: &mut State, key: ObjectKey, object: Object, uid: String, origin: Origin) {
    let made = match state.objects.made.remove(&key) {
        Some(known) => {
            state.objects.owners.remove(&key, &known.object);
            ObjectRecord { object, ..known }
        }
        None => ObjectRecord { object, uid, origin, switch: None, run: fresh(&key) },
    };
    let names = references::of(&key, &made.object);
    state.objects.owners.add(&key, &made.object);
    state.objects.made.insert(key.clone(), made);
    references::touch_sources(state, &key);
    set_references(state, &key, names);
    references::touch_sources(state, &key);
    state.objects.touch(&key);
    reconsider(state, &key);
    changed(state, &key);
    if pods::KINDS.contains(&key.kind.as_str()) {
        crate::apply::note_cluster(state);
    }
}

/// Deletes an object, and what belongs to it unless that is to stay.
pub(crate) fn delete(state: &mut State, key: &ObjectKey, keep_owned: bool) {
    state.objects.notes.remove(key);
    let Some(made) = remove(state, key) else { return };
    if keep_owned {
        owners::set_free(state, &made.uid);
    } else {
        owners::gone(state, &made.uid);
    }
}

fn remove(state: &mut State, key: &ObjectKey) -> Option<ObjectRecord> {
    let made = state.objects.made.remove(key)?;
    state.objects.owners.remove(key, &made.object);
    references::touch_sources(state, key);
    set_references(state, key, BTreeSet::new());
    state.objects.touch(key);
    match key.kind.as_str() {
        "Cmd" => command_controller::stop(state, &Owner::from(key)),
        "PortForward" => port_forward::forget(state, &Owner::from(key)),
        "Tiltfile" => tiltfile::gone(state, key),
        "KubernetesApply" => apply::gone(state, key, &made),
        _ => {}
    }
    if pods::KINDS.contains(&key.kind.as_str()) {
        crate::apply::note_cluster(state);
    }
    changed(state, key);
    Some(made)
}

/// What a load of a Tiltfile made: new objects begin, missing ones go, the rest go on.
pub(crate) fn adopt(state: &mut State, tiltfile: &ResourceName, objects: &[Value]) {
    let named: BTreeMap<ObjectKey, &Value> =
        objects.iter().filter_map(|object| Some((ObjectKey::of(object)?, object))).collect();
    drop_made_by(state, tiltfile, |key| !named.contains_key(key));
    for (key, document) in named {
        let mut object = Object::read(document.clone());
        object.annotate_unless_said(ANNOTATION_RESOURCE, tiltfile.as_str());
        let origin = Origin::Tiltfile(tiltfile.clone());
        if let Some(known) = state.objects.made.get_mut(&key) {
            // What became of it stays: a click, an event.
            if let Some(status) = known.object.content.get("status") {
                object.content.insert("status".to_owned(), status.clone());
            }
            known.origin = origin.clone();
            if known.object == object {
                continue;
            }
        }
        let sequence = state.next_sequence();
        put(state, key, object, format!("tiltfile-{sequence}"), origin);
    }
    // Resources came and went, and with them their images.
    references::kind_changed(state, "ImageMap");
}

/// Deletes some of what a Tiltfile made.
fn drop_made_by(state: &mut State, tiltfile: &ResourceName, which: impl Fn(&ObjectKey) -> bool) {
    let by_it = |made: &ObjectRecord| matches!(&made.origin, Origin::Tiltfile(name) if name == tiltfile);
    let gone = state.objects.made.iter().filter(|(key, made)| by_it(made) && which(key));
    let gone: Vec<ObjectKey> = gone.map(|(key, _)| key.clone()).collect();
    for key in &gone {
        delete(state, key, false);
    }
}

/// Whether something acts on objects of a kind when they are written. The others are stored and shown.
pub fn has_controller(kind: &str) -> bool {
    matches!(
        kind,
        "Cluster"
            | "Cmd"
            | "ConfigMap"
            | "Extension"
            | "ExtensionRepo"
            | "FileWatch"
            | "CmdImage"
            | "DockerImage"
            | "ImageMap"
            | "KubernetesApply"
            | "KubernetesDiscovery"
            | "LiveUpdate"
            | "PodLogStream"
            | "PortForward"
            | "Tiltfile"
            | "ToggleButton"
            | "UIButton"
    )
}

fn fresh(key: &ObjectKey) -> Run {
    match key.kind.as_str() {
        "Cluster" => Run::Cluster(Box::default()),
        "Cmd" => Run::Command(Box::default()),
        "FileWatch" => Run::Files(FilesRun::default()),
        "ToggleButton" => Run::Toggle(ToggleRun::default()),
        "ExtensionRepo" => Run::Repository(RepositoryRun::default()),
        "Extension" => Run::Extension(ExtensionRun::default()),
        "Tiltfile" => Run::Tiltfile,
        "KubernetesDiscovery" | "PodLogStream" | "PortForward" => Run::Pods,
        "KubernetesApply" => Run::Apply(ApplyRun::default()),
        "CmdImage" | "DockerImage" => Run::Image(ImageRun::default()),
        "LiveUpdate" => Run::Live(Box::default()),
        _ => Run::Nothing,
    }
}

/// Starts, restarts or ends what an object does, as it and what it names say now.
fn reconsider(state: &mut State, key: &ObjectKey) {
    match key.kind.as_str() {
        "Cluster" => cluster::reconsider(state, key),
        "Cmd" => command::reconsider(state, key),
        "FileWatch" => files::reconsider(state, key),
        "ToggleButton" => toggle::reconsider(state, key),
        "ExtensionRepo" => extension::reconsider_repository(state, key),
        "Extension" => extension::reconsider(state, key),
        "Tiltfile" => tiltfile::reconsider(state, key),
        "KubernetesApply" => apply::reconsider(state, key),
        "CmdImage" | "DockerImage" => building::reconsider(state, key),
        "LiveUpdate" => live_update::reconsider(state, key),
        "KubernetesDiscovery" | "PodLogStream" | "PortForward" => pods::follow(state, key),
        _ => {}
    }
}

/// The tasks of one object.
pub fn plan_object(state: &State, key: &ObjectKey) -> Plan {
    let Some(made) = state.objects.made.get(key) else { return Plan::new() };
    match &made.run {
        Run::Nothing | Run::Toggle(_) | Run::Tiltfile => Plan::new(),
        Run::Cluster(run) => cluster::plan(key, run),
        Run::Repository(run) => extension::plan_repository(key, run),
        Run::Extension(run) => extension::plan(key, run),
        Run::Apply(run) => apply::plan(state, key, run),
        Run::Image(run) => building::plan(state, key, &made.object, run),
        Run::Live(run) => live_update::plan(state, key, &made.object, run),
        Run::Pods => pods::plan(state, key),
        Run::Command(_) => command_controller::plan(state, &Owner::from(key)),
        Run::Files(run) => files::plan(state, key, run),
    }
}

/// An object as readers see it; none if it is gone.
pub fn project_object(state: &State, key: &ObjectKey) -> Option<(String, Object)> {
    let made = state.objects.made.get(key)?;
    let mut object = made.object.clone();
    let mut status = Map::new();
    status.extend(made.switch.as_ref().map(|switch| ("disableStatus".to_owned(), switch.status())));
    match &made.run {
        Run::Nothing => match idle::status(&key.kind) {
            Some(idle) => status.extend(idle),
            None => {
                write_unset_times(&key.kind, &mut object);
                return Some((made.uid.clone(), object));
            }
        },
        Run::Cluster(run) => cluster::tell(run, &mut status),
        Run::Apply(run) => apply::tell(run, &mut status),
        Run::Image(run) => building::tell(run, &mut status),
        Run::Live(run) => live_update::tell(run, &mut status),
        Run::Pods => pods::tell(state, key, &made.object, &mut status),
        Run::Command(_) => command::tell(state, key, &made.object, &mut status),
        Run::Files(run) => run.events.tell(&mut status),
        Run::Toggle(run) => run.tell(&mut status),
        Run::Repository(run) => run.tell(&mut status),
        Run::Extension(run) => run.tell(&mut status),
        Run::Tiltfile => {
            if let Some(tiltfile) = state.tiltfile_named(&ResourceName::new(&key.name)) {
                status.extend(tiltfile_status(tiltfile).as_object().cloned().unwrap_or_default());
            }
        }
    }
    object.content.insert("status".to_owned(), Value::Object(status));
    write_unset_times(&key.kind, &mut object);
    Some((made.uid.clone(), object))
}

impl State {
    /// The objects that were made.
    pub fn object_keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.made.keys()
    }

    /// The Tiltfile that made an object, to which it belongs.
    pub fn maker(&self, key: &ObjectKey) -> Option<ObjectKey> {
        match &self.objects.made.get(key)?.origin {
            Origin::Tiltfile(name) => Some(ObjectKey::new("Tiltfile", name.as_str())),
            Origin::Outside | Origin::Object => None,
        }
    }
}

/// The object of a Tiltfile tells of its loads.
pub(crate) fn touch_tiltfile(state: &mut State, name: &ResourceName) {
    let key = ObjectKey::new("Tiltfile", name.as_str());
    if state.objects.made.contains_key(&key) {
        state.objects.touch(&key);
    }
}

/// Whose log an object writes to.
pub(crate) fn log_resource(object: &Object) -> ResourceName {
    object.annotation(ANNOTATION_RESOURCE).map_or_else(ResourceName::tiltfile, ResourceName::new)
}

fn time(at: Timestamp) -> Value {
    json!(at)
}
