//! The only writer of the store.

use std::sync::{Arc, PoisonError, RwLock};

use lilt_model::timeline::UpdateRecord;
use lilt_model::{ResourceName, Timestamp};
use tokio::sync::watch;

use crate::interner::Interner;
use crate::object::{Body, Draft, Key};
use crate::table::{StagedObject, Table};
use crate::template::Template;
use crate::timeline::Timeline;

/// The data that readers see.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) table: Table,
    pub(crate) timeline: Timeline,
}

/// Stages changes and commits them in one step.
///
/// Staged objects are as compact as stored ones: a turn may change a hundred thousand of them.
#[derive(Debug)]
pub struct Writer {
    contents: Arc<RwLock<Contents>>,
    announce: watch::Sender<u64>,
    templates: Interner<str>,
    /// Shared by objects with the same owner, of which there may be a thousand.
    owners: Interner<Key>,
    staged: Staged,
}

#[derive(Debug, Default)]
struct Staged {
    put: Vec<StagedObject>,
    removed: Vec<Key>,
    fragments: Vec<(Arc<str>, Option<Arc<str>>)>,
    records: Vec<(ResourceName, UpdateRecord)>,
}

impl Writer {
    pub(crate) fn new(contents: Arc<RwLock<Contents>>, announce: watch::Sender<u64>) -> Self {
        let (templates, owners) = (Interner::default(), Interner::default());
        Self { contents, announce, templates, owners, staged: Staged::default() }
    }

    /// Stages a new state of an object.
    pub fn put(&mut self, draft: Draft) {
        let Draft { key, uid, owner, distinct_word, body } = draft;
        let template = match (&body, &distinct_word) {
            (Body::Text(text), Some(word)) => Template::new(text, &key.name, word, &mut self.templates),
            _ => None,
        };
        let body = template.map_or(body, Body::Template);
        let owner = owner.map(|owner| self.owners.intern(owner));
        self.staged.put.push(StagedObject { key, uid, owner, body });
    }

    /// Stages the deletion of an object. In a commit deletions come first.
    pub fn remove(&mut self, key: Key) {
        self.staged.removed.push(key);
    }

    /// Stages the fragment of a resource in the session's list of targets; none removes it.
    pub fn put_fragment(&mut self, resource: Arc<str>, text: Option<Arc<str>>) {
        self.staged.fragments.push((resource, text));
    }

    /// Stages a new or changed record of an update.
    pub fn put_record(&mut self, resource: ResourceName, record: UpdateRecord) {
        self.staged.records.push((resource, record));
    }

    /// Makes all staged changes visible in one step. Equal objects are not changed.
    pub fn commit(&mut self, now: Timestamp) {
        let Staged { put, removed, fragments, records } = std::mem::take(&mut self.staged);
        if put.is_empty() && removed.is_empty() && fragments.is_empty() && records.is_empty() {
            return;
        }
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let Contents { table, timeline } = &mut *contents;
        let before = table.version();
        removed.iter().for_each(|key| table.remove(key));
        put.into_iter().for_each(|object| table.put(now, object));
        fragments.into_iter().for_each(|(resource, text)| table.put_fragment(resource, text));
        // Records have no version: readers get them only on request.
        records.into_iter().for_each(|(resource, record)| timeline.put(resource, record));
        let version = table.version();
        drop(contents);
        if version > before {
            self.announce.send_replace(version);
        }
    }
}
