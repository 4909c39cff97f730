//! API objects created by users, scripts and the Tiltfile: commands, watches, buttons, values. Like all other
//! state, they are input to the plan.
//!
//! An object depends on its content and on the objects that it names. [`reconcile`] evaluates it when one of
//! these changes, so the order of creation does not matter.

mod apply;
mod building;
mod buttons;
mod cluster;
mod command;
mod disable;
mod discovery;
mod extension;
mod images;
mod notes;
mod owners;
mod pods;
mod projection;
mod references;
mod tiltfile;
mod toggle;
mod trigger;
mod unsupported;

use std::collections::{BTreeMap, BTreeSet};

use lilt_api::{Content, Notes, Object, ObjectKey, ObjectKind, UIButtonStatus};
use lilt_model::ResourceName;
use lilt_model::log::Level;
use serde::Serialize;
use serde_json::Value;

use crate::controllers::{command as command_controller, file_watch, live_update, log_stream, port_forward};
use crate::owner::Owner;
use crate::plan::Plan;
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
pub(crate) use disable::is_off as is_switched_off;
pub use disable::parse_bool;
pub(crate) use disable::resource_switched;
pub(crate) use discovery::found as discovered_pods;
pub(crate) use extension::{
    ExtensionRun, RepositoryRun, extension_broke, fetched as repository_fetched, found as extension_found,
    repository_broke,
};
pub(crate) use images::{built_at as image_built_at, image_changed, image_map};
pub(crate) use notes::{noted, show_notes, show_notes_on};
pub(crate) use owners::gone as owner_gone;
pub(crate) use pods::{
    cluster_connected, cluster_named, cluster_trouble, discovery_namespaces, named_pod, pod_changed,
};
pub use projection::project_object;
pub(crate) use references::{
    Reference, changed, live_updates_of, of as references_of, set_references, watches_of,
};
pub(crate) use tiltfile::tiltfile_status;
pub(crate) use toggle::ToggleRun;
pub(crate) use trigger::Triggers;

/// The annotation that names the resource of an object.
pub const ANNOTATION_RESOURCE: &str = "tilt.dev/resource";

/// The objects that were written through the API or declared by Tiltfiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Objects {
    #[serde(rename = "made", serialize_with = "crate::dump::pairs")]
    pub(crate) records: BTreeMap<ObjectKey, ObjectRecord>,
    /// The statuses of the buttons that lilt itself manages, by name.
    pub(crate) clicks: BTreeMap<String, UIButtonStatus>,
    /// Labels and annotations that users added to objects that lilt itself manages.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) notes: BTreeMap<ObjectKey, Notes>,
    /// Running deletions of what a `KubernetesApply` had applied, by number.
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
    /// The content of `object`, parsed when it was written.
    #[serde(skip)]
    pub(crate) content: Content,
    pub(crate) uid: String,
    pub(crate) origin: Origin,
    /// The state of its `disableSource`.
    pub(crate) switch: Option<Switch>,
    pub(crate) run: Run,
}

/// The creator of an object. Changes by others do not affect it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Origin {
    /// Created by an API client.
    Outside,
    /// Declared by this Tiltfile, and deleted when it no longer declares it.
    Tiltfile(ResourceName),
    /// Created for another object, and deleted with it.
    Object,
}

/// The running state of an object, for kinds with a controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum Run {
    Nothing,
    Command(Box<CommandStart>),
    FileWatch,
    Toggle(ToggleRun),
    /// A cluster besides those of the session.
    Cluster(Box<ClusterRun>),
    Repository(RepositoryRun),
    Extension(ExtensionRun),
    Tiltfile,
    Discovery,
    LogStream,
    Forward,
    Apply(ApplyRun),
    Image(ImageRun),
    LiveUpdate,
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

    /// Returns the touched objects of a kind.
    pub(crate) fn touched_of_kind(&self, kind: ObjectKind) -> Vec<ObjectKey> {
        self.touched.iter().filter(|key| key.kind == kind).cloned().collect()
    }

    /// Returns whether some object needs the cluster.
    pub(crate) fn need_cluster(&self) -> bool {
        pods::KINDS.into_iter().any(|kind| self.of_kind(kind).next().is_some())
    }

    /// Returns whether something is being fetched that may declare resources.
    pub(crate) fn are_loading(&self) -> bool {
        let extensions = self.of_kind(ObjectKind::Extension).chain(self.of_kind(ObjectKind::ExtensionRepo));
        extensions.into_iter().any(|(_, record)| match &record.run {
            Run::Repository(run) => run.is_coming(),
            Run::Extension(run) => run.is_coming(),
            _ => false,
        })
    }

    pub(crate) fn get(&self, kind: ObjectKind, name: &str) -> Option<&ObjectRecord> {
        self.records.get(&ObjectKey::new(kind, name))
    }

    /// Returns the objects of a kind, ordered by name.
    pub(crate) fn of_kind(&self, kind: ObjectKind) -> impl Iterator<Item = (&ObjectKey, &ObjectRecord)> {
        self.records.range(ObjectKey::new(kind, "")..).take_while(move |(key, _)| key.kind == kind)
    }
}

/// Handles the write of an object by a client. The uid applies if the object is new.
pub(crate) fn handle_write(state: &mut State, key: ObjectKey, object: Object, uid: String) {
    match parse(state, &key, &object) {
        Content::UIButton(button) => {
            if let Some(resource) = buttons::resource_of(state, &key) {
                return buttons::clicked(state, &key, button.status, &resource);
            }
        }
        Content::ConfigMap(map) => {
            if let Some(resource) = disable::resource_of(state, &key.name) {
                return disable::switch(state, resource, &map);
            }
        }
        Content::Tiltfile(tiltfile) if ResourceName::new(&key.name).is_tiltfile() => {
            return tiltfile::handle_write(state, &key, &tiltfile.spec);
        }
        _ => {}
    }
    put(state, key, object, uid, Origin::Outside);
}

/// Parses the content of an object. The API and the Tiltfile have validated it already.
fn parse(state: &mut State, key: &ObjectKey, object: &Object) -> Content {
    Content::parse(key.kind, &object.content).unwrap_or_else(|error| {
        state.note(&log_resource(object), Level::Error, format!("ERROR: {key} is invalid: {error}"));
        Content::empty(key.kind)
    })
}

/// Creates or replaces an object.
fn put(state: &mut State, key: ObjectKey, object: Object, uid: String, origin: Origin) {
    let content = parse(state, &key, &object);
    let record = match state.objects.records.remove(&key) {
        Some(known) => {
            state.objects.owners.remove(&key, &known.object);
            ObjectRecord { object, content, ..known }
        }
        None => ObjectRecord { object, content, uid, origin, switch: None, run: Run::new(key.kind) },
    };
    let names = references::of(&key, &record.content);
    state.objects.owners.add(&key, &record.object);
    state.objects.records.insert(key.clone(), record);
    references::touch_sources(state, &key);
    set_references(state, &key, names);
    references::touch_sources(state, &key);
    state.objects.touch(&key);
    reconcile(state, &key);
    changed(state, &key);
    if pods::KINDS.contains(&key.kind) {
        crate::apply::note_cluster(state);
    }
}

/// Deletes an object, and what it owns unless `keep_owned`.
pub(crate) fn delete(state: &mut State, key: &ObjectKey, keep_owned: bool) {
    state.objects.notes.remove(key);
    let Some(record) = remove(state, key) else { return };
    if keep_owned {
        owners::release_owned(state, &record.uid);
    } else {
        owners::gone(state, &record.uid);
    }
}

fn remove(state: &mut State, key: &ObjectKey) -> Option<ObjectRecord> {
    let record = state.objects.records.remove(key)?;
    state.objects.owners.remove(key, &record.object);
    references::touch_sources(state, key);
    set_references(state, key, BTreeSet::new());
    state.objects.touch(key);
    match &record.run {
        Run::Command(_) => command_controller::stop(state, &Owner::from(key)),
        Run::FileWatch => file_watch::forget_object(state, key),
        Run::LiveUpdate => live_update::forget_object(state, key),
        Run::Forward => port_forward::forget(state, &Owner::from(key)),
        Run::Tiltfile => tiltfile::gone(state, key),
        Run::Apply(_) => apply::gone(state, key, &record),
        Run::Nothing
        | Run::Toggle(_)
        | Run::Cluster(_)
        | Run::Repository(_)
        | Run::Extension(_)
        | Run::Discovery
        | Run::LogStream
        | Run::Image(_) => {}
    }
    if pods::KINDS.contains(&key.kind) {
        crate::apply::note_cluster(state);
    }
    changed(state, key);
    Some(record)
}

/// Applies the objects that a load of a Tiltfile declared: creates new ones, deletes missing ones, keeps the
/// rest.
pub(crate) fn apply_tiltfile_objects(state: &mut State, tiltfile: &ResourceName, objects: &[Value]) {
    let named: BTreeMap<ObjectKey, &Value> =
        objects.iter().filter_map(|object| Some((ObjectKey::of(object)?, object))).collect();
    delete_declared(state, tiltfile, |key| !named.contains_key(key));
    for (key, document) in named {
        let mut object = Object::read(document.clone());
        object.annotate_if_absent(ANNOTATION_RESOURCE, tiltfile.as_str());
        let origin = Origin::Tiltfile(tiltfile.clone());
        if let Some(known) = state.objects.records.get_mut(&key) {
            // Its status is kept: clicks and events are recorded there.
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
    // The images of resources may have changed.
    references::kind_changed(state, ObjectKind::ImageMap);
}

/// Deletes some of the objects that a Tiltfile declared.
fn delete_declared(state: &mut State, tiltfile: &ResourceName, which: impl Fn(&ObjectKey) -> bool) {
    let by_it = |record: &ObjectRecord| matches!(&record.origin, Origin::Tiltfile(name) if name == tiltfile);
    let gone = state.objects.records.iter().filter(|(key, record)| by_it(record) && which(key));
    let gone: Vec<ObjectKey> = gone.map(|(key, _)| key.clone()).collect();
    for key in &gone {
        delete(state, key, false);
    }
}

/// Returns whether a controller acts on objects of a kind. Objects of other kinds are only stored and shown.
pub fn has_controller(kind: ObjectKind) -> bool {
    match kind {
        ObjectKind::Cluster
        | ObjectKind::Cmd
        | ObjectKind::CmdImage
        | ObjectKind::ConfigMap
        | ObjectKind::DockerImage
        | ObjectKind::Extension
        | ObjectKind::ExtensionRepo
        | ObjectKind::FileWatch
        | ObjectKind::ImageMap
        | ObjectKind::KubernetesApply
        | ObjectKind::KubernetesDiscovery
        | ObjectKind::LiveUpdate
        | ObjectKind::PodLogStream
        | ObjectKind::PortForward
        | ObjectKind::Tiltfile
        | ObjectKind::ToggleButton
        | ObjectKind::UIButton => true,
        ObjectKind::DockerComposeLogStream
        | ObjectKind::DockerComposeService
        | ObjectKind::Session
        | ObjectKind::UIResource
        | ObjectKind::UISession => false,
    }
}

impl Run {
    fn new(kind: ObjectKind) -> Self {
        match kind {
            ObjectKind::Cluster => Run::Cluster(Box::default()),
            ObjectKind::Cmd => Run::Command(Box::default()),
            ObjectKind::FileWatch => Run::FileWatch,
            ObjectKind::ToggleButton => Run::Toggle(ToggleRun::default()),
            ObjectKind::ExtensionRepo => Run::Repository(RepositoryRun::default()),
            ObjectKind::Extension => Run::Extension(ExtensionRun::default()),
            ObjectKind::Tiltfile => Run::Tiltfile,
            ObjectKind::KubernetesDiscovery => Run::Discovery,
            ObjectKind::PodLogStream => Run::LogStream,
            ObjectKind::PortForward => Run::Forward,
            ObjectKind::KubernetesApply => Run::Apply(ApplyRun::default()),
            ObjectKind::CmdImage | ObjectKind::DockerImage => Run::Image(ImageRun::default()),
            ObjectKind::LiveUpdate => Run::LiveUpdate,
            ObjectKind::ConfigMap
            | ObjectKind::DockerComposeLogStream
            | ObjectKind::DockerComposeService
            | ObjectKind::ImageMap
            | ObjectKind::Session
            | ObjectKind::UIButton
            | ObjectKind::UIResource
            | ObjectKind::UISession => Run::Nothing,
        }
    }
}

/// Starts, restarts or stops what an object runs, according to its content and to the objects that it names.
fn reconcile(state: &mut State, key: &ObjectKey) {
    state.count_operation();
    let Some(record) = state.objects.records.get(key) else {
        // The object of the main Tiltfile is managed by lilt itself.
        if key.kind == ObjectKind::Tiltfile {
            tiltfile::reconcile(state, key);
        }
        return;
    };
    match &record.run {
        Run::Nothing => {}
        Run::Cluster(_) => cluster::reconcile(state, key),
        Run::Command(_) => command::reconcile(state, key),
        Run::FileWatch => file_watch::reconcile_object(state, key),
        Run::Toggle(_) => toggle::reconcile(state, key),
        Run::Repository(_) => extension::reconcile_repository(state, key),
        Run::Extension(_) => extension::reconcile(state, key),
        Run::Tiltfile => tiltfile::reconcile(state, key),
        Run::Apply(_) => apply::reconcile(state, key),
        Run::Image(_) => building::reconcile(state, key),
        Run::LiveUpdate => live_update::reconcile_object(state, key),
        Run::Discovery | Run::LogStream | Run::Forward => pods::follow(state, key),
    }
}

/// Returns the tasks of one object.
pub fn plan_object(state: &State, key: &ObjectKey) -> Plan {
    let Some(record) = state.objects.records.get(key) else { return Plan::new() };
    match &record.run {
        Run::Nothing | Run::Toggle(_) | Run::Tiltfile | Run::Discovery => Plan::new(),
        Run::Cluster(run) => cluster::plan(key, run),
        Run::Repository(run) => extension::plan_repository(key, run),
        Run::Extension(run) => extension::plan(key, run),
        Run::Apply(run) => apply::plan(state, key, run),
        Run::Image(run) => building::plan(state, key, &record.object, run),
        Run::LiveUpdate => live_update::plan(state, &Owner::from(key)),
        Run::Forward => port_forward::plan(state, &Owner::from(key)),
        Run::LogStream => log_stream::plan(state, &Owner::from(key)),
        Run::Command(_) => command_controller::plan(state, &Owner::from(key)),
        Run::FileWatch => file_watch::plan(state, &Owner::from(key)),
    }
}

impl State {
    /// Returns the keys of all objects that were written or declared.
    pub fn object_keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.records.keys()
    }

    /// Returns the Tiltfile that declared an object and owns it.
    pub fn declaring_tiltfile(&self, key: &ObjectKey) -> Option<ObjectKey> {
        match &self.objects.records.get(key)?.origin {
            Origin::Tiltfile(name) => Some(ObjectKey::new(ObjectKind::Tiltfile, name.as_str())),
            Origin::Outside | Origin::Object => None,
        }
    }
}

/// Marks the object of a Tiltfile as changed, because it shows its loads.
pub(crate) fn touch_tiltfile(state: &mut State, name: &ResourceName) {
    let key = ObjectKey::new(ObjectKind::Tiltfile, name.as_str());
    if state.objects.records.contains_key(&key) {
        state.objects.touch(&key);
    }
}

/// Returns the resource whose log an object writes to.
pub(crate) fn log_resource(object: &Object) -> ResourceName {
    object.annotation(ANNOTATION_RESOURCE).map_or_else(ResourceName::tiltfile, ResourceName::new)
}
