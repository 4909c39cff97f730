//! The reading end of the store.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use lilt_api::{ObjectKind, UIResource};
use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;
use serde_json::Value;
use tokio::sync::watch;

use crate::history::{Expired, WatchEvent};
use crate::logs::LogReader;
use crate::object::{Body, Key, Snapshot};
use crate::query::{QuerySender, QuerySubject};
use crate::table::Changes;
use crate::writer::Contents;

#[derive(Clone, Debug)]
pub struct Reader {
    contents: Arc<RwLock<Contents>>,
    announced: watch::Receiver<u64>,
    queries: QuerySender,
    logs: LogReader,
}

impl Reader {
    pub(crate) fn new(
        contents: Arc<RwLock<Contents>>,
        announced: watch::Receiver<u64>,
        queries: QuerySender,
        logs: LogReader,
    ) -> Self {
        Self { contents, announced, queries, logs }
    }

    fn contents(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the version of the newest change of any object.
    pub fn revision(&self) -> u64 {
        *self.announced.borrow()
    }

    /// Waits until there is a revision after this one. Never returns once the writer is gone.
    pub async fn changed(&self, after: u64) -> u64 {
        let mut announced = self.announced.clone();
        let found = announced.wait_for(|revision| *revision > after).await.map(|found| *found);
        match found {
            Ok(found) => found,
            Err(_) => std::future::pending().await,
        }
    }

    /// Returns the resources and session that changed after a revision, in their newest state; all of them for revision 0.
    pub fn changes_since(&self, after: u64) -> Changes {
        self.contents().table.changes_since(after)
    }

    pub fn resource(&self, name: &str) -> Option<Arc<UIResource>> {
        match self.contents().table.entry_body(&Key::new(ObjectKind::UIResource, name)) {
            Some(Body::Resource(resource)) => Some(Arc::clone(&resource.object)),
            _ => None,
        }
    }

    pub fn get(&self, key: &Key) -> Option<Snapshot> {
        self.contents().table.get(key)
    }

    /// Returns the objects of a kind that follow `after`, by name, and the revision of this state.
    pub fn list(&self, kind: ObjectKind, after: Option<&str>, limit: usize) -> (u64, Vec<Snapshot>) {
        let contents = self.contents();
        (contents.table.version(), contents.table.list(kind, after, limit))
    }

    /// Returns how many objects of a kind there are.
    pub fn count(&self, kind: ObjectKind) -> usize {
        self.contents().table.count(kind)
    }

    /// Returns all changes of objects of a kind after a revision, and the revision up to which they are complete.
    pub fn events_since(&self, kind: ObjectKind, after: u64) -> Result<(u64, Vec<Arc<WatchEvent>>), Expired> {
        let contents = self.contents();
        Ok((contents.table.version(), contents.table.events_since(kind, after)?))
    }

    /// Returns the last change of each object of a kind after a revision, by name.
    pub fn last_events_since(
        &self,
        kind: ObjectKind,
        after: u64,
    ) -> Result<(u64, Vec<Arc<WatchEvent>>), Expired> {
        let (revision, events) = self.events_since(kind, after)?;
        let last: BTreeMap<_, _> =
            events.into_iter().map(|event| (Arc::clone(&event.object.key.name), event)).collect();
        Ok((revision, last.into_values().collect()))
    }

    /// Returns the update records of one resource, or of all, oldest first.
    pub fn timeline(&self, resource: Option<&str>) -> Vec<(ResourceName, Vec<UpdateRecord>)> {
        self.contents().timeline.read(resource)
    }

    /// Queries the loop for the state of the engine; none if it has ended.
    pub async fn engine_state(&self) -> Option<Value> {
        self.queries.ask(QuerySubject::Engine).await
    }

    /// Queries the loop for what the cluster reported about a resource. If the loop has ended, returns what it stored at its
    /// end, if anything.
    pub async fn notices(&self, resource: ResourceName) -> Option<Value> {
        match self.queries.ask(QuerySubject::Notices(resource.clone())).await {
            Some(notices) => Some(notices),
            None => self.queries.final_notices(&resource),
        }
    }

    /// Queries the loop for the current objects of a resource in the cluster; none if it has ended.
    pub async fn cluster_objects(&self, resource: ResourceName) -> Option<Value> {
        self.queries.ask(QuerySubject::Objects(resource)).await
    }

    pub fn logs(&self) -> &LogReader {
        &self.logs
    }
}
