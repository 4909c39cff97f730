//! Moves API objects between engine and store: commits what the engine projects, and turns writes of clients into events.

mod managed;
mod publishers;
mod writes;

use std::sync::Arc;

use lilt_api::{OWNER_REFERENCES, Object, ObjectKey, ObjectKind, UIResource, UISession};
use lilt_engine::{
    Event, State, project_object, project_owner, project_resource_objects, project_session_objects,
    project_targets,
};
use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;
use lilt_store::{Draft, Key, Reader, Refusal, SessionQueries, WriteRequest, Writer};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use publishers::Publishers;
use writes::PendingWrite;

/// The session's side of the store: the only writer of the object table, and the requests of readers.
#[derive(Debug)]
pub struct Store {
    pub writer: Writer,
    pub reader: Reader,
    pub writes: mpsc::Receiver<WriteRequest>,
    pub queries: SessionQueries,
}

/// Stages what a turn changes, and commits it at the end of the turn.
pub(crate) struct Objects {
    writer: Writer,
    reader: Reader,
    /// The resources that publish the objects managed by lilt.
    publishers: Publishers,
    /// Writes of this turn that were not answered yet.
    pending: Vec<PendingWrite>,
    /// Objects written in this turn whose owners all do not exist.
    orphans: Vec<ObjectKey>,
    /// Events that follow from the deletions of this turn.
    consequences: Vec<Event>,
}

impl Objects {
    pub(crate) fn new(writer: Writer, reader: Reader) -> Self {
        Self {
            writer,
            reader,
            publishers: Publishers::default(),
            pending: Vec::new(),
            orphans: Vec::new(),
            consequences: Vec::new(),
        }
    }

    /// Stages the current state of a resource and of all objects that it publishes. None: the resource was removed.
    pub(crate) fn put_resource(&mut self, state: &State, name: &ResourceName, resource: Option<UIResource>) {
        let resource = resource.map(|resource| {
            let managed_fields = managed_fields(state, ObjectKind::UIResource, &resource.metadata.name);
            Draft::resource(Arc::new(resource), managed_fields)
        });
        let objects = project_resource_objects(state, name);
        let drafts = objects.iter().map(|(key, object)| {
            let draft = draft(key, object, None);
            if is_alike(key.kind) { draft.alike_but_for(name.as_str()) } else { draft }
        });
        self.publish(state, name, resource.into_iter().chain(drafts).collect());
        if !name.is_tiltfile() {
            let targets = project_targets(state, name);
            let targets: Vec<String> = targets.iter().map(|target| json!(target).to_string()).collect();
            self.writer.put_fragment(Arc::from(name.as_str()), Some(Arc::from(targets.join(","))));
        }
    }

    /// Stages the current state of the session and of its own objects.
    pub(crate) fn put_session(&mut self, state: &State, session: UISession) {
        let managed_fields = managed_fields(state, ObjectKind::UISession, &session.metadata.name);
        let session = Draft::session(Arc::new(session), managed_fields);
        let objects = project_session_objects(state);
        let drafts = objects.iter().map(|(key, object)| draft(key, object, None));
        let drafts = std::iter::once(session).chain(drafts).collect();
        self.publish(state, &ResourceName::new(""), drafts);
    }

    /// Stages the current state of an object that was written through the API.
    pub(crate) fn put_object(&mut self, state: &State, key: &ObjectKey) {
        match project_object(state, key) {
            Some((uid, object)) => {
                let tiltfile =
                    state.declaring_tiltfile(key).filter(|_| !object.metadata.contains_key(OWNER_REFERENCES));
                let owner = tiltfile.map(|tiltfile| store_key(&tiltfile));
                self.writer.put(draft(key, &object, Some(&uid)).owned_by(owner));
            }
            None => self.remove(state, store_key(key)),
        }
    }

    /// Stages a record of an update that is new or changed.
    pub(crate) fn put_record(&mut self, resource: ResourceName, record: UpdateRecord) {
        self.writer.put_record(resource, record);
    }

    /// Stages all objects that a resource publishes, and deletes those that no resource publishes any more.
    fn publish(&mut self, state: &State, publisher: &ResourceName, drafts: Vec<Draft>) {
        let keys = drafts.iter().map(|draft| draft.key.clone()).collect();
        for key in self.publishers.set(publisher, keys) {
            self.remove(state, key);
        }
        for draft in drafts {
            if self.publishers.is_publisher(publisher, &draft.key) {
                let owner = project_owner(state, &object_key(&draft.key), publisher);
                self.writer.put(draft.owned_by(owner.map(|owner| store_key(&owner))));
            }
        }
    }

    fn remove(&mut self, state: &State, key: Key) {
        let uid = self.reader.get(&key).map(|object| object.uid().to_string());
        if let Some(uid) = uid.filter(|uid| state.has_owned(uid)) {
            self.consequences.push(Event::OwnerGone { uid });
        }
        let name = object_key(&key);
        if state.notes(&name).is_some() {
            self.consequences.push(deletion(name));
        }
        self.writer.remove(key);
    }

    /// Makes the turn visible, and answers its writes.
    ///
    /// Returns the events that follow from it: owners that are gone, and deletions of orphans and of notes on deleted objects.
    pub(crate) fn commit(&mut self) -> Vec<Event> {
        self.writer.commit(lilt_host::clock::now());
        let orphans = std::mem::take(&mut self.orphans);
        self.consequences.extend(orphans.into_iter().map(deletion));
        for PendingWrite { key, deleted, reply } in std::mem::take(&mut self.pending) {
            let answer = deleted.or_else(|| self.reader.get(&key));
            // The client may have disconnected.
            let _ = reply.send(answer.ok_or(Refusal::Missing));
        }
        std::mem::take(&mut self.consequences)
    }
}

/// Returns whether objects of this kind differ between resources in little more than the name.
fn is_alike(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::ConfigMap | ObjectKind::ToggleButton | ObjectKind::UIButton)
}

fn deletion(key: ObjectKey) -> Event {
    Event::ObjectDeleted { key, keep_owned: false }
}

fn object_key(key: &Key) -> ObjectKey {
    ObjectKey::new(key.kind, &*key.name)
}

fn store_key(key: &ObjectKey) -> Key {
    Key::new(key.kind, &key.name)
}

fn draft(key: &ObjectKey, object: &Object, uid: Option<&str>) -> Draft {
    let text = |members: &Map<String, Value>| {
        serde_json::to_string(members).expect("invariant: JSON can be written to memory")
    };
    Draft::new(store_key(key), uid, &text(&object.metadata), &text(&object.content))
}

/// Returns the managed fields of an object of a typed kind.
fn managed_fields(state: &State, kind: ObjectKind, name: &str) -> Option<Value> {
    state.notes(&ObjectKey::new(kind, name))?.managers.clone()
}
