//! The reading end of the store.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use lilt_api::{ObjectKind, UIResource, UISession};
use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;
use serde_json::Value;
use tokio::sync::watch;

use crate::history::{Expired, WatchEvent};
use crate::logs::LogReader;
use crate::object::{Body, Key, Snapshot};
use crate::query::{QuerySender, QuerySubject};
use crate::writer::Contents;

/// What changed of resources and session since a revision.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub revision: u64,
    /// These are all that exist: forget others.
    pub complete: bool,
    pub resources: Vec<Arc<UIResource>>,
    pub removed: Vec<ResourceName>,
    pub session: Option<Arc<UISession>>,
}

impl Changes {
    /// Returns whether a reader that knows the former revision learns nothing from this.
    pub fn is_empty(&self) -> bool {
        !self.complete && self.resources.is_empty() && self.removed.is_empty() && self.session.is_none()
    }
}

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

    /// The version of the newest change of any object.
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

    /// Returns what changed of resources and session after a revision, each as it is now; everything after revision 0.
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

    /// Returns the objects of a kind by name, from behind `after` on, and the revision at which this is so.
    pub fn list(&self, kind: ObjectKind, after: Option<&str>, limit: usize) -> (u64, Vec<Snapshot>) {
        let contents = self.contents();
        (contents.table.version(), contents.table.list(kind, after, limit))
    }

    /// Returns how many objects of a kind there are.
    pub fn count(&self, kind: ObjectKind) -> usize {
        self.contents().table.count(kind)
    }

    /// Returns every change of objects of a kind after a revision, and the revision up to which these are all.
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

    /// Returns what updates of one resource, or of all, did, and when; each from the oldest on.
    pub fn timeline(&self, resource: Option<&str>) -> Vec<(ResourceName, Vec<UpdateRecord>)> {
        self.contents().timeline.read(resource)
    }

    /// Asks the loop for the whole state of the engine; none if it has ended.
    pub async fn engine_state(&self) -> Option<Value> {
        self.queries.ask(QuerySubject::Engine).await
    }

    /// Asks the loop what the cluster reported about a resource. If the loop has ended this is what it left; none if it
    /// left nothing.
    pub async fn notices(&self, resource: ResourceName) -> Option<Value> {
        match self.queries.ask(QuerySubject::Notices(resource.clone())).await {
            Some(notices) => Some(notices),
            None => self.queries.final_notices(&resource),
        }
    }

    /// Asks the loop for the objects of a resource as they are in the cluster now; none if it has ended.
    pub async fn cluster_objects(&self, resource: ResourceName) -> Option<Value> {
        self.queries.ask(QuerySubject::Objects(resource)).await
    }

    pub fn logs(&self) -> &LogReader {
        &self.logs
    }
}
