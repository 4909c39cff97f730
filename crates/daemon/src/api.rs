//! The objects of the API: what the engine tells of them goes into the store, what people write goes to the engine.

mod keepers;
mod kept;

use std::sync::Arc;

use lilt_api::kinds::kinds;
use lilt_api::{Object, ObjectKey, ObjectMeta, UIResource, UISession};
use lilt_engine::{
    Event, State, project_object, project_owner, project_resource_objects, project_session_objects,
    project_targets,
};
use lilt_model::ResourceName;
use lilt_store::{Action, ApiReader, ApiWriter, Draft, Key, Refusal, Snapshot, WriteRequest};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use keepers::Keepers;

/// The member of metadata that says to whom an object belongs.
const OWNERS: &str = "ownerReferences";

/// The table of objects with the way to write to it.
#[derive(Debug)]
pub struct Api {
    pub writer: ApiWriter,
    pub reader: ApiReader,
    pub writes: mpsc::Receiver<WriteRequest>,
}

/// What one turn changes.
#[derive(Default)]
pub(crate) struct Turn {
    put: Vec<Draft>,
    removed: Vec<Key>,
    pieces: Vec<(Arc<str>, Option<Arc<str>>)>,
}

pub(crate) struct Objects {
    writer: ApiWriter,
    reader: ApiReader,
    /// Of the objects that lilt itself keeps.
    keepers: Keepers,
    /// Who waits for what was written in this turn.
    waiting: Vec<Waiting>,
    /// Objects that were written with owners of which none is there.
    orphans: Vec<ObjectKey>,
    turn: Turn,
    /// What follows from what this turn has removed.
    following: Vec<Event>,
}

struct Waiting {
    key: Key,
    /// As it was before it was deleted.
    deleted: Option<Snapshot>,
    reply: oneshot::Sender<Result<Snapshot, Refusal>>,
}

impl Objects {
    pub(crate) fn new(writer: ApiWriter, reader: ApiReader) -> Self {
        Self {
            writer,
            reader,
            keepers: Keepers::default(),
            waiting: Vec::new(),
            orphans: Vec::new(),
            turn: Turn::default(),
            following: Vec::new(),
        }
    }

    /// A resource as it is now, with all objects that tell of it.
    pub(crate) fn tell_resource(
        &mut self,
        state: &State,
        name: &ResourceName,
        resource: Option<&UIResource>,
    ) {
        let told = resource.and_then(|it| told(state, "UIResource", &it.metadata, &it.status));
        let objects = project_resource_objects(state, name);
        let drafts = objects.iter().filter_map(|(key, object)| {
            let draft = draft(key, object, None)?;
            Some(if is_alike(draft.key.kind) { draft.alike_but_for(name.as_str()) } else { draft })
        });
        self.keep_lean(state);
        self.keep(state, name, told.into_iter().chain(drafts).collect());
        if !name.is_tiltfile() {
            let targets: Vec<String> = project_targets(state, name).iter().map(Value::to_string).collect();
            self.turn.pieces.push((Arc::from(name.as_str()), Some(Arc::from(targets.join(",")))));
        }
    }

    pub(crate) fn tell_session(&mut self, state: &State, session: &UISession) {
        let told = told(state, "UISession", &session.metadata, &session.status);
        let objects = project_session_objects(state);
        let drafts = objects.iter().filter_map(|(key, object)| draft(key, object, None));
        self.keep(state, &ResourceName::new(""), told.into_iter().chain(drafts).collect());
    }

    /// An object that was made, as it is now.
    pub(crate) fn tell_object(&mut self, state: &State, key: &ObjectKey) {
        match project_object(state, key) {
            Some((uid, object)) => {
                let maker = state.maker(key).filter(|_| !object.metadata.contains_key(OWNERS));
                let owner = maker.and_then(|maker| store_key(&maker));
                self.turn.put.extend(draft(key, &object, Some(&uid)).map(|draft| draft.owned_by(owner)));
            }
            None => self.turn.removed.extend(store_key(key)),
        }
    }

    fn keep(&mut self, state: &State, keeper: &ResourceName, drafts: Vec<Draft>) {
        let keys = drafts.iter().map(|draft| draft.key.clone()).collect();
        self.turn.removed.extend(self.keepers.keep(keeper, keys));
        let told = drafts.into_iter().filter(|draft| self.keepers.tells(keeper, &draft.key));
        self.turn.put.extend(told.map(|draft| {
            let owner = project_owner(state, &object_key(&draft.key), keeper);
            draft.owned_by(owner.and_then(|owner| store_key(&owner)))
        }));
    }

    /// A turn that tells of ten thousand resources is made visible part by part: the texts of all of them beside what is
    /// kept of them would be the most memory that a session ever needs.
    fn keep_lean(&mut self, state: &State) {
        const MANY: usize = 1024;
        if self.turn.put.len() > MANY {
            self.write(state);
        }
    }

    fn write(&mut self, state: &State) {
        let Turn { put, removed, pieces } = std::mem::take(&mut self.turn);
        if put.is_empty() && removed.is_empty() && pieces.is_empty() {
            return;
        }
        let uids = removed.iter().filter_map(|key| self.reader.get(key)).map(|gone| gone.uid.to_string());
        let gone = uids.filter(|uid| state.has_owned(uid)).map(|uid| Event::OwnerGone { uid });
        self.following.extend(gone);
        let noted = removed.iter().map(object_key).filter(|key| state.notes(key).is_some());
        self.following.extend(noted.map(deletion));
        self.writer.commit(lilt_host::clock::now(), put, removed, pieces);
    }

    /// Makes the turn visible, and answers those who wrote. Gives what follows from it: the ends of owners that had
    /// something, of notes on what is gone, and of what was made for nobody.
    pub(crate) fn commit(&mut self, state: &State) -> Vec<Event> {
        self.write(state);
        let orphans = std::mem::take(&mut self.orphans);
        self.following.extend(orphans.into_iter().map(deletion));
        for waiting in std::mem::take(&mut self.waiting) {
            let answer = waiting.deleted.or_else(|| self.reader.get(&waiting.key));
            // Whoever asked may have gone.
            let _ = waiting.reply.send(answer.ok_or(Refusal::Missing));
        }
        std::mem::take(&mut self.following)
    }

    /// Whether an object names owners, and none of them is there.
    fn is_orphan(&self, object: &Object) -> bool {
        let owners = object.metadata.get(OWNERS).and_then(Value::as_array);
        let is_there = |owner: &Value| {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            let found = store_key(&ObjectKey::new(text("kind"), text("name")));
            found.and_then(|key| self.reader.get(&key)).is_some_and(|found| *found.uid == *text("uid"))
        };
        owners.is_some_and(|owners| !owners.is_empty() && !owners.iter().any(is_there))
    }

    /// The events that a request comes to, if it may be. It is answered after the turn.
    pub(crate) fn take(&mut self, state: &State, request: WriteRequest) -> Vec<Event> {
        let WriteRequest { key, action, reply } = request;
        let current = self.reader.get(&key);
        let refusal = self.refusal(&key, &action, current.as_ref());
        let is_deletion = matches!(action, Action::Delete { .. });
        let events = match refusal.map_or(Ok(()), Err) {
            Ok(()) => self.events(state, &key, action, current.as_ref()),
            Err(refusal) => Err(refusal),
        };
        match events {
            Ok(events) => {
                let deleted = current.filter(|_| is_deletion);
                self.waiting.push(Waiting { key, deleted, reply });
                events
            }
            Err(refusal) => {
                // Whoever asked may have gone.
                let _ = reply.send(Err(refusal));
                Vec::new()
            }
        }
    }

    fn events(
        &mut self,
        state: &State,
        key: &Key,
        action: Action,
        current: Option<&Snapshot>,
    ) -> Result<Vec<Event>, Refusal> {
        let name = object_key(key);
        let object = match action {
            Action::Delete { keep_owned, .. } => {
                return Ok(vec![Event::ObjectDeleted { key: name, keep_owned }]);
            }
            Action::Create { object } | Action::Replace { object, .. } => object,
        };
        // Most objects that people write are theirs alone.
        let before = || current.and_then(|it| serde_json::from_str(&it.text).ok()).map(Object::read);
        let mut object = Box::new(Object::read(object));
        let uid = current.map_or_else(lilt_store::new_uid, |current| Arc::clone(&current.uid)).to_string();
        if let Some(of) = self.keepers.teller(key)
            && let Some(before) = before()
        {
            let kept::Written { notes, acts } = kept::written(key, &before, &object)?;
            let put = acts.then(|| Event::ObjectPut { key: name.clone(), object, uid });
            let noted = (!notes.is_empty()).then(|| Event::ObjectNoted {
                key: name,
                of: of.clone(),
                notes: Box::new(notes),
            });
            return Ok(put.into_iter().chain(noted).collect());
        }
        if self.is_orphan(&object) {
            self.orphans.push(name.clone());
        }
        // What the store itself wrote is no part of the object.
        let is_ours = |before: Object| before.metadata.get(OWNERS) == object.metadata.get(OWNERS);
        if state.maker(&name).is_some() && before().is_some_and(is_ours) {
            object.metadata.remove(OWNERS);
        }
        Ok(vec![Event::ObjectPut { key: name, object, uid }])
    }

    fn refusal(&self, key: &Key, action: &Action, current: Option<&Snapshot>) -> Option<Refusal> {
        match (action, current) {
            (Action::Create { .. }, Some(_)) => return Some(Refusal::Exists),
            (Action::Replace { .. } | Action::Delete { .. }, None) => return Some(Refusal::Missing),
            (Action::Replace { version, .. } | Action::Delete { version, .. }, Some(current))
                if current.version != *version =>
            {
                return Some(Refusal::Conflict);
            }
            _ => {}
        }
        // A second write in the same turn would not see the first.
        if self.waiting.iter().any(|waiting| waiting.key == *key) {
            return Some(Refusal::Conflict);
        }
        let why = match action {
            Action::Delete { .. } if self.keepers.is_kept(key) => {
                "lilt itself keeps this object: it goes when what it tells of goes"
            }
            Action::Create { .. } if matches!(key.kind, "UIResource" | "UISession" | "Session") => {
                "lilt itself makes objects of this kind: they tell the state"
            }
            _ => return None,
        };
        Some(Refusal::Forbidden(why.to_owned()))
    }
}

/// Whether a resource's objects of this kind are mostly like those of all others.
fn is_alike(kind: &str) -> bool {
    matches!(kind, "ConfigMap" | "ToggleButton" | "UIButton")
}

fn deletion(key: ObjectKey) -> Event {
    Event::ObjectDeleted { key, keep_owned: false }
}

fn object_key(key: &Key) -> ObjectKey {
    ObjectKey::new(key.kind, &*key.name)
}

fn store_key(key: &ObjectKey) -> Option<Key> {
    Some(Key::new(kinds().named(&key.kind)?.name, &key.name))
}

fn draft(key: &ObjectKey, object: &Object, uid: Option<&str>) -> Option<Draft> {
    let metadata = serde_json::to_string(&object.metadata).ok()?;
    let content = serde_json::to_string(&object.content).ok()?;
    Some(Draft::new(store_key(key)?, uid, &metadata, &content))
}

/// An object that has nothing but a status. Of its metadata, who applied what is not a part of the type.
fn told(state: &State, kind: &'static str, metadata: &ObjectMeta, status: &impl Serialize) -> Option<Draft> {
    let key = Key::new(kind, &metadata.name);
    let mut metadata = serde_json::to_value(metadata).ok()?;
    let notes = state.notes(&object_key(&key));
    if let Some(managers) = notes.and_then(|notes| notes.managers.clone()) {
        metadata["managedFields"] = managers;
    }
    let status = serde_json::to_string(status).ok()?;
    let content = format!("{{\"spec\":{{}},\"status\":{status}}}");
    Some(Draft::new(key, None, &metadata.to_string(), &content))
}
