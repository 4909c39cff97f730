//! The table of objects: all kinds in one sequence of versions.
//!
//! Every change of an object has its own version. A reader keeps only a version. There are two ways to follow:
//! [`Table::events_since`] returns every change of a kind, for watchers of the object API, and [`Table::changes_since`]
//! returns each changed typed object in its newest state, for the page. A reader that is too far behind starts over.

use std::collections::BTreeMap;
use std::sync::Arc;

use lilt_api::{ObjectKind, UIResource, UISession};
use lilt_model::{ResourceName, Timestamp};

use crate::change_index::ChangeIndex;
use crate::fragments::{FRAGMENTED_KIND, Fragments};
use crate::history::{Expired, History, WatchEvent, WatchEventType};
use crate::object::{Body, Key, Snapshot, Uid};

/// The changes of resources and session since a revision.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub revision: u64,
    /// Whether these are all existing resources, so that others are to be forgotten.
    pub complete: bool,
    pub resources: Vec<Arc<UIResource>>,
    pub removed: Vec<ResourceName>,
    pub session: Option<Arc<UISession>>,
}

impl Changes {
    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        !self.complete && self.resources.is_empty() && self.removed.is_empty() && self.session.is_none()
    }
}

/// A draft in the form in which the table stores it.
#[derive(Debug)]
pub(crate) struct StagedObject {
    pub(crate) key: Key,
    pub(crate) uid: Option<Arc<str>>,
    pub(crate) owner: Option<Arc<Key>>,
    pub(crate) body: Body,
}

#[derive(Debug)]
struct Entry {
    uid: Uid,
    created: Timestamp,
    version: u64,
    /// Its reference is written only when the object is read. Most objects have an owner, and are never read.
    owner: Option<Arc<Key>>,
    body: Body,
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    version: u64,
    kinds: BTreeMap<ObjectKind, BTreeMap<Arc<str>, Entry>>,
    history: History,
    index: ChangeIndex,
    fragments: Fragments,
}

impl Table {
    /// Returns the version of the newest change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Creates or changes an object. An equal object is not a change.
    pub(crate) fn put(&mut self, now: Timestamp, object: StagedObject) {
        let StagedObject { key, uid, owner, body } = object;
        let known = self.kinds.get(&key.kind).and_then(|objects| objects.get_key_value(&key.name));
        let is_same = |entry: &Entry| entry.owner == owner && entry.body.is_same(&body, &key.name);
        if known.is_some_and(|(_, entry)| is_same(entry)) {
            return;
        }
        // Shares the stored name.
        let key = Key { name: known.map_or(key.name, |(name, _)| Arc::clone(name)), ..key };
        let before = known.map(|(_, entry)| self.plain_snapshot(&key, entry));
        let (uid, created) = match &before {
            Some(before) => (before.uid.clone(), before.created),
            None => (uid.map_or_else(Uid::random, Uid::Given), now),
        };
        self.version += 1;
        let entry = Entry { uid, created, version: self.version, owner, body };
        if entry.body.is_typed() {
            self.index.put(key.clone(), before.as_ref().map(|before| before.version), self.version);
        }
        if key.kind != FRAGMENTED_KIND {
            let event_type = if before.is_some() { WatchEventType::Modified } else { WatchEventType::Added };
            self.history.push(WatchEvent { event_type, object: self.plain_snapshot(&key, &entry), before });
        }
        self.kinds.entry(key.kind).or_default().insert(key.name, entry);
    }

    /// Deletes an object, if it exists.
    pub(crate) fn remove(&mut self, key: &Key) {
        let removed = self.kinds.get_mut(&key.kind).and_then(|objects| objects.remove(&key.name));
        let Some(mut entry) = removed else { return };
        let before = self.plain_snapshot(key, &entry);
        self.version += 1;
        entry.version = self.version;
        if entry.body.is_typed() {
            self.index.remove(key.clone(), before.version, self.version);
        }
        let object = self.plain_snapshot(key, &entry);
        self.history.push(WatchEvent { event_type: WatchEventType::Deleted, object, before: Some(before) });
    }

    /// Replaces the fragment of a resource in the session's list.
    pub(crate) fn put_fragment(&mut self, resource: Arc<str>, text: Option<Arc<str>>) {
        if self.fragments.put(resource, text) {
            self.version += 1;
            self.fragments.version = self.version;
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Snapshot> {
        self.entry(key).map(|entry| self.snapshot(key, entry))
    }

    /// Returns the objects of a kind that follow `after`, by name.
    pub(crate) fn list(&self, kind: ObjectKind, after: Option<&str>, limit: usize) -> Vec<Snapshot> {
        let from =
            (after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded), std::ops::Bound::Unbounded);
        let objects = self.kinds.get(&kind).into_iter().flat_map(|objects| objects.range::<str, _>(from));
        let snapshot =
            |(name, entry): (&Arc<str>, &Entry)| self.snapshot(&Key { kind, name: Arc::clone(name) }, entry);
        objects.take(limit).map(snapshot).collect()
    }

    pub(crate) fn count(&self, kind: ObjectKind) -> usize {
        self.kinds.get(&kind).map_or(0, BTreeMap::len)
    }

    /// Returns all changes of objects of a kind after a version.
    pub(crate) fn events_since(
        &self,
        kind: ObjectKind,
        version: u64,
    ) -> Result<Vec<Arc<WatchEvent>>, Expired> {
        if version > self.version || !self.history.covers(version) {
            return Err(Expired { newest: self.version });
        }
        if kind == FRAGMENTED_KIND {
            return Ok(self.fragmented_events(version));
        }
        let events = self.history.since(version).filter(|event| event.object.key.kind == kind);
        Ok(events.cloned().collect())
    }

    /// Returns the newest state of the fragmented objects, if it is newer than a version.
    fn fragmented_events(&self, version: u64) -> Vec<Arc<WatchEvent>> {
        let newer = self.list(FRAGMENTED_KIND, None, usize::MAX);
        let newer = newer.into_iter().filter(|object| object.version > version);
        let modified = |object| WatchEvent { event_type: WatchEventType::Modified, object, before: None };
        newer.map(|object| Arc::new(modified(object))).collect()
    }

    /// Returns the typed objects that changed after a version.
    ///
    /// Returns all of them for version 0, and for a version that is too old or of another session.
    pub(crate) fn changes_since(&self, version: u64) -> Changes {
        let mut changes = Changes { revision: self.version, ..Changes::default() };
        if version == 0 || version > self.version || !self.index.covers(version) {
            changes.complete = true;
            self.index.changed_since(0).for_each(|key| self.add_to(&mut changes, key));
            return changes;
        }
        self.index.changed_since(version).for_each(|key| self.add_to(&mut changes, key));
        let removed = self.index.deleted_since(version).filter(|key| self.entry(key).is_none());
        changes.removed = removed.map(|key| ResourceName::new(&*key.name)).collect();
        changes
    }

    fn add_to(&self, changes: &mut Changes, key: &Key) {
        match self.entry(key).map(|entry| &entry.body) {
            Some(Body::Resource(resource)) => changes.resources.push(Arc::clone(&resource.object)),
            Some(Body::Session(session)) => changes.session = Some(Arc::clone(&session.object)),
            _ => {}
        }
    }

    pub(crate) fn entry_body(&self, key: &Key) -> Option<&Body> {
        self.entry(key).map(|entry| &entry.body)
    }

    fn entry(&self, key: &Key) -> Option<&Entry> {
        self.kinds.get(&key.kind)?.get(&key.name)
    }

    fn snapshot(&self, key: &Key, entry: &Entry) -> Snapshot {
        let mut snapshot = self.plain_snapshot(key, entry);
        if key.kind == FRAGMENTED_KIND {
            snapshot.version = entry.version.max(self.fragments.version);
            snapshot.body = Body::Text(self.fragments.append_to(&entry.body.text(&key.name)));
        }
        snapshot
    }

    fn plain_snapshot(&self, key: &Key, entry: &Entry) -> Snapshot {
        let owner = entry.owner.as_ref();
        Snapshot {
            key: key.clone(),
            version: entry.version,
            uid: entry.uid.clone(),
            created: entry.created,
            owner: owner.and_then(|owner| Some((Arc::clone(owner), self.entry(owner)?.uid.clone()))),
            body: entry.body.clone(),
            text: std::sync::OnceLock::new(),
        }
    }
}
