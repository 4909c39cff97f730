//! The objects of the API: what the engine tells of them goes into the store, what people write goes to the engine.

mod keepers;

use std::sync::Arc;

use lilt_engine::{
    Event, State, project_object, project_resource_objects, project_session_objects, project_targets,
};
use lilt_model::ResourceName;
use lilt_model::api::kinds::kinds;
use lilt_model::api::{Object, ObjectKey, UIResource, UISession};
use lilt_store::{Action, ApiReader, ApiWriter, Draft, Key, Refusal, Snapshot, WriteRequest};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use keepers::Keepers;

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
        }
    }

    /// A resource as it is now, with all objects that tell of it.
    pub(crate) fn tell_resource(
        &mut self,
        state: &State,
        name: &ResourceName,
        resource: Option<&UIResource>,
    ) {
        let mut drafts: Vec<Draft> = Vec::new();
        if let Some(resource) = resource {
            drafts.extend(told("UIResource", &resource.metadata.name, &resource.metadata, &resource.status));
        }
        drafts.extend(
            project_resource_objects(state, name).into_iter().filter_map(|it| draft(&it.0, &it.1, None)),
        );
        self.keep(name, drafts);
        if !name.is_tiltfile() {
            let targets: Vec<String> = project_targets(state, name).iter().map(Value::to_string).collect();
            self.turn.pieces.push((Arc::from(name.as_str()), Some(Arc::from(targets.join(",")))));
        }
    }

    pub(crate) fn tell_session(&mut self, state: &State, session: &UISession) {
        let mut drafts: Vec<Draft> =
            told("UISession", &session.metadata.name, &session.metadata, &session.status)
                .into_iter()
                .collect();
        drafts.extend(project_session_objects(state).into_iter().filter_map(|it| draft(&it.0, &it.1, None)));
        self.keep(&ResourceName::new(""), drafts);
    }

    /// An object that was made, as it is now.
    pub(crate) fn tell_object(&mut self, state: &State, key: &ObjectKey) {
        match project_object(state, key) {
            Some((uid, object)) => self.turn.put.extend(draft(key, &object, Some(&uid))),
            None => self.turn.removed.extend(store_key(key)),
        }
    }

    fn keep(&mut self, owner: &ResourceName, drafts: Vec<Draft>) {
        let keys = drafts.iter().map(|draft| draft.key.clone()).collect();
        self.turn.removed.extend(self.keepers.keep(owner, keys));
        let told = drafts.into_iter().filter(|draft| self.keepers.tells(owner, &draft.key));
        self.turn.put.extend(told);
    }

    /// Makes the turn visible, and answers those who wrote. Gives what follows from it: the ends of owners that had
    /// something (`has_owned`), and of what was made for nobody.
    pub(crate) fn commit(&mut self, has_owned: impl Fn(&str) -> bool) -> Vec<Event> {
        let Turn { put, removed, pieces } = std::mem::take(&mut self.turn);
        if put.is_empty() && removed.is_empty() && pieces.is_empty() && self.waiting.is_empty() {
            return Vec::new();
        }
        let uids = removed.iter().filter_map(|key| self.reader.get(key)).map(|gone| gone.uid.to_string());
        let gone = uids.filter(|uid| has_owned(uid)).map(|uid| Event::OwnerGone { uid });
        let mut following: Vec<Event> = gone.collect();
        let orphans = std::mem::take(&mut self.orphans).into_iter();
        following.extend(orphans.map(|key| Event::ObjectDeleted { key, keep_owned: false }));
        self.writer.commit(lilt_host::clock::now(), put, removed, pieces);
        for waiting in std::mem::take(&mut self.waiting) {
            let answer = waiting.deleted.or_else(|| self.reader.get(&waiting.key));
            // Whoever asked may have gone.
            let _ = waiting.reply.send(answer.ok_or(Refusal::Missing));
        }
        following
    }

    /// Whether an object names owners, and none of them is there.
    fn is_orphan(&self, object: &Object) -> bool {
        let owners = object.metadata.get("ownerReferences").and_then(Value::as_array);
        let is_there = |owner: &Value| {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            let found = store_key(&ObjectKey::new(text("kind"), text("name")));
            found.and_then(|key| self.reader.get(&key)).is_some_and(|found| *found.uid == *text("uid"))
        };
        owners.is_some_and(|owners| !owners.is_empty() && !owners.iter().any(is_there))
    }

    /// The event that a request comes to, if it may be. It is answered after the turn.
    pub(crate) fn take(&mut self, request: WriteRequest) -> Option<Event> {
        let WriteRequest { key, action, reply } = request;
        let current = self.reader.get(&key);
        if let Some(refusal) = self.refusal(&key, &action, current.as_ref()) {
            let _ = reply.send(Err(refusal));
            return None;
        }
        let name = ObjectKey::new(key.kind, &*key.name);
        let (event, deleted) = match action {
            Action::Create { object } | Action::Replace { object, .. } => {
                let object = Box::new(Object::read(object));
                if self.is_orphan(&object) {
                    self.orphans.push(name.clone());
                }
                let uid = current.map_or_else(lilt_store::new_uid, |current| current.uid).to_string();
                (Event::ObjectPut { key: name, object, uid }, None)
            }
            Action::Delete { keep_owned, .. } => (Event::ObjectDeleted { key: name, keep_owned }, current),
        };
        self.waiting.push(Waiting { key, deleted, reply });
        Some(event)
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
        let kept = self.keepers.is_kept(key);
        if let Some(why) = fixed_part(key, action, current).filter(|_| kept) {
            return Some(Refusal::Forbidden(why.to_owned()));
        }
        let deletes = matches!(action, Action::Delete { .. });
        let means_something = !deletes && matches!(key.kind, "ConfigMap" | "Tiltfile" | "UIButton");
        let own_kind = matches!(key.kind, "UIResource" | "UISession" | "Session");
        let forbidden = (kept && !means_something) || (own_kind && !kept);
        forbidden.then(|| Refusal::Forbidden("lilt itself keeps this object".to_owned()))
    }
}

fn store_key(key: &ObjectKey) -> Option<Key> {
    Some(Key::new(kinds().named(&key.kind)?.name, &key.name))
}

fn draft(key: &ObjectKey, object: &Object, uid: Option<&str>) -> Option<Draft> {
    let metadata = serde_json::to_string(&object.metadata).ok()?;
    let content = serde_json::to_string(&object.content).ok()?;
    Some(Draft::new(store_key(key)?, uid, &metadata, &content))
}

/// An object that has nothing but a status.
fn told(kind: &'static str, name: &str, metadata: &impl Serialize, status: &impl Serialize) -> Option<Draft> {
    let metadata = serde_json::to_string(metadata).ok()?;
    let status = serde_json::to_string(status).ok()?;
    let content = format!("{{\"spec\":{{}},\"status\":{status}}}");
    Some(Draft::new(Key::new(kind, name), None, &metadata, &content))
}

/// Of objects that lilt keeps and that may be written, what must stay as it is, if it would not; in words.
fn fixed_part(key: &Key, action: &Action, current: Option<&Snapshot>) -> Option<&'static str> {
    let (Action::Replace { object, .. }, Some(current)) = (action, current) else { return None };
    let (pointer, words) = match key.kind {
        "Tiltfile" => ("/spec/path", "the Tiltfile of a session stays where it is"),
        "UIButton" => ("/spec", "lilt itself keeps this button: it can be clicked, and not be changed"),
        _ => return None,
    };
    let current: Value = serde_json::from_str(&current.text).unwrap_or_default();
    (object.pointer(pointer) != current.pointer(pointer)).then_some(words)
}
