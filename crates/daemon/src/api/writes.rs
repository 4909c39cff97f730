//! Validates writes of clients of the object API, and turns them into events.

use lilt_api::{OWNER_REFERENCES, Object, ObjectKind};
use lilt_engine::{Event, State};
use lilt_store::{Action, Key, Refusal, Snapshot, WriteRequest};
use serde_json::Value;
use tokio::sync::oneshot;

use super::managed::{self, ManagedWrite};
use super::{Objects, object_key};

/// A write that is answered when its turn is committed.
pub(super) struct PendingWrite {
    pub(super) key: Key,
    /// The object before it was deleted.
    pub(super) deleted: Option<Snapshot>,
    pub(super) reply: oneshot::Sender<Result<Snapshot, Refusal>>,
}

impl Objects {
    /// Returns the events of a write. A rejected write is answered and has none.
    pub(crate) fn write(&mut self, state: &State, request: WriteRequest) -> Vec<Event> {
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
                self.pending.push(PendingWrite { key, deleted, reply });
                events
            }
            Err(refusal) => {
                // The client may have disconnected.
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
        // Parsed only where needed: most objects that clients write are not managed.
        let before = || current.and_then(|it| serde_json::from_str(it.text()).ok()).map(Object::read);
        let mut object = Box::new(Object::read(object));
        let uid = current.map_or_else(lilt_store::new_uid, Snapshot::uid).to_string();
        if let Some(of) = self.publishers.publisher(key)
            && let Some(before) = before()
        {
            let ManagedWrite { notes, is_action } = managed::check(key, &before, &object)?;
            let put = is_action.then(|| Event::ObjectPut { key: name.clone(), object, uid });
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
        // Drops owner references that the store itself added.
        let from_store =
            |before: Object| before.metadata.get(OWNER_REFERENCES) == object.metadata.get(OWNER_REFERENCES);
        if state.declaring_tiltfile(&name).is_some() && before().is_some_and(from_store) {
            object.metadata.remove(OWNER_REFERENCES);
        }
        Ok(vec![Event::ObjectPut { key: name, object, uid }])
    }

    /// Returns whether an object has owner references, and none of the owners exists.
    fn is_orphan(&self, object: &Object) -> bool {
        let owners = object.metadata.get(OWNER_REFERENCES).and_then(Value::as_array);
        let exists = |owner: &Value| {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            let key = ObjectKind::named(text("kind")).map(|kind| Key::new(kind, text("name")));
            key.and_then(|key| self.reader.get(&key)).is_some_and(|found| *found.uid() == *text("uid"))
        };
        owners.is_some_and(|owners| !owners.is_empty() && !owners.iter().any(exists))
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
        // A second write in the same turn would not include the first.
        if self.pending.iter().any(|pending| pending.key == *key) {
            return Some(Refusal::Conflict);
        }
        let why = match action {
            Action::Delete { .. } if self.publishers.publisher(key).is_some() => {
                "lilt itself keeps this object: it goes when what it tells of goes"
            }
            Action::Create { .. }
                if matches!(
                    key.kind,
                    ObjectKind::UIResource | ObjectKind::UISession | ObjectKind::Session
                ) =>
            {
                "lilt itself makes objects of this kind: they tell the state"
            }
            _ => return None,
        };
        Some(Refusal::Forbidden(why.to_owned()))
    }
}
