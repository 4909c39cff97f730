//! The current objects with a revision each.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use lilt_api::{UIResource, UISession};
use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::logs::LogReader;
use crate::timeline::Timeline;

/// How many deletions are remembered; a reader that is further behind starts anew.
const REMEMBERED_REMOVALS: usize = 4096;

/// What one turn of the loop changed, committed in one step.
#[derive(Debug, Default)]
pub struct Commit {
    pub resources: Vec<Arc<UIResource>>,
    pub removed: Vec<ResourceName>,
    pub session: Option<UISession>,
    /// Records of updates that are new or changed.
    pub timeline: Vec<(ResourceName, UpdateRecord)>,
}

impl Commit {
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
            && self.removed.is_empty()
            && self.session.is_none()
            && self.timeline.is_empty()
    }
}

/// What changed since a revision.
#[derive(Clone, Debug)]
pub struct Changes {
    pub revision: u64,
    /// These are all objects there are: forget what you know.
    pub complete: bool,
    pub resources: Vec<Arc<UIResource>>,
    pub removed: Vec<ResourceName>,
    pub session: Option<Arc<UISession>>,
}

#[derive(Debug, Default)]
struct Objects {
    revision: u64,
    resources: HashMap<ResourceName, (u64, Arc<UIResource>)>,
    /// Each resource once, with the revision of its last change.
    by_revision: BTreeSet<(u64, ResourceName)>,
    /// Deletions in order of revision.
    removals: BTreeMap<u64, Vec<ResourceName>>,
    removal_count: usize,
    /// Readers at or after this revision know of every deletion that was forgotten.
    removals_known_from: u64,
    session: Option<(u64, Arc<UISession>)>,
    timeline: Timeline,
    /// What the cluster had reported when the writer ended.
    last_notices: BTreeMap<ResourceName, Value>,
}

/// Makes an empty store. The writer is unique.
pub fn open(logs: LogReader) -> (Writer, Reader) {
    let objects = Arc::new(RwLock::new(Objects::default()));
    let (announce, announced) = watch::channel(0);
    let (inspect, inspections) = mpsc::channel(INSPECTIONS);
    let reader = Reader { objects: Arc::clone(&objects), announced, inspect, logs };
    (Writer { objects, announce, inspections }, reader)
}

/// Questions that may wait for the loop's answer; who asks more waits.
const INSPECTIONS: usize = 4;

/// What somebody wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All that the writer knows.
    All,
    /// What the cluster reported about this resource.
    Notices(ResourceName),
    /// The objects of this resource, as the cluster has them now.
    Objects(ResourceName),
}

/// Somebody wants to see more than what was committed.
#[derive(Debug)]
pub struct Inspection {
    pub wanted: Wanted,
    answer: oneshot::Sender<Value>,
}

impl Inspection {
    pub fn answer(self, value: Value) {
        // Who asked may be gone.
        let _ = self.answer.send(value);
    }

    /// Waits until who asked is gone.
    pub async fn given_up(&mut self) {
        self.answer.closed().await;
    }
}

#[derive(Debug)]
pub struct Writer {
    objects: Arc<RwLock<Objects>>,
    announce: watch::Sender<u64>,
    inspections: mpsc::Receiver<Inspection>,
}

impl Writer {
    /// Waits for somebody who wants to see more than what was committed.
    pub async fn inspected(&mut self) -> Inspection {
        match self.inspections.recv().await {
            Some(inspection) => inspection,
            None => std::future::pending().await,
        }
    }

    /// Makes all of it visible at once; objects equal to what is there are no change.
    pub fn commit(&self, commit: Commit) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let revision = objects.revision + 1;
        let mut changed = false;
        for name in commit.removed {
            changed |= objects.remove(name, revision);
        }
        for resource in commit.resources {
            changed |= objects.put(resource, revision);
        }
        if let Some(session) = commit.session {
            changed |= objects.put_session(session, revision);
        }
        for (resource, record) in commit.timeline {
            // Readers ask for it when somebody wants to see it: no new revision.
            objects.timeline.put(resource, record);
        }
        if !changed {
            return;
        }
        objects.revision = revision;
        drop(objects);
        self.announce.send_replace(revision);
    }
}

impl Writer {
    /// Last words, for those who ask when the writer is gone: what the cluster reported about each resource.
    pub fn leave_notices(&self, notices: Vec<(ResourceName, Value)>) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.last_notices = notices.into_iter().collect();
    }
}

impl Objects {
    fn put(&mut self, resource: Arc<UIResource>, revision: u64) -> bool {
        let name = ResourceName::new(&resource.metadata.name);
        if let Some((old, known)) = self.resources.get(&name) {
            if *known == resource {
                return false;
            }
            self.by_revision.remove(&(*old, name.clone()));
        }
        self.by_revision.insert((revision, name.clone()));
        self.resources.insert(name, (revision, resource));
        true
    }

    fn put_session(&mut self, session: UISession, revision: u64) -> bool {
        if self.session.as_ref().is_some_and(|(_, known)| **known == session) {
            return false;
        }
        self.session = Some((revision, Arc::new(session)));
        true
    }

    fn remove(&mut self, name: ResourceName, revision: u64) -> bool {
        let Some((old, _)) = self.resources.remove(&name) else { return false };
        self.by_revision.remove(&(old, name.clone()));
        self.removals.entry(revision).or_default().push(name);
        self.removal_count += 1;
        while self.removal_count > REMEMBERED_REMOVALS {
            let Some((oldest, names)) = self.removals.pop_first() else { break };
            self.removal_count -= names.len();
            self.removals_known_from = oldest;
        }
        true
    }

    fn all(&self) -> Changes {
        Changes {
            revision: self.revision,
            complete: true,
            resources: self.resources.values().map(|(_, resource)| Arc::clone(resource)).collect(),
            removed: Vec::new(),
            session: self.session.as_ref().map(|(_, session)| Arc::clone(session)),
        }
    }

    fn since(&self, after: u64) -> Changes {
        if after == 0 || after < self.removals_known_from || after > self.revision {
            return self.all();
        }
        let resources = self.by_revision.range((after + 1, ResourceName::new(""))..);
        let removed = self.removals.range(after + 1..).flat_map(|(_, names)| names);
        Changes {
            revision: self.revision,
            complete: false,
            resources: resources
                .filter_map(|(_, name)| Some(Arc::clone(&self.resources.get(name)?.1)))
                .collect(),
            // One that was deleted and made anew is not gone.
            removed: removed.filter(|name| !self.resources.contains_key(*name)).cloned().collect(),
            session: self
                .session
                .as_ref()
                .filter(|(at, _)| *at > after)
                .map(|(_, session)| Arc::clone(session)),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Reader {
    objects: Arc<RwLock<Objects>>,
    announced: watch::Receiver<u64>,
    inspect: mpsc::Sender<Inspection>,
    logs: LogReader,
}

impl Reader {
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

    /// What changed after this revision; 0 asks for everything.
    pub fn changes_since(&self, after: u64) -> Changes {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).since(after)
    }

    pub fn resource(&self, name: &str) -> Option<Arc<UIResource>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.resources.get(name).map(|(_, resource)| Arc::clone(resource))
    }

    /// What updates of one resource, or of all, did, and when; each from the oldest on.
    pub fn timeline(&self, resource: Option<&str>) -> Vec<(ResourceName, Vec<UpdateRecord>)> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).timeline.read(resource)
    }

    /// Asks the writer for all that it knows; none if it is gone.
    pub async fn inspect(&self) -> Option<Value> {
        self.ask_writer(Wanted::All).await
    }

    /// Asks the writer what the cluster reported about a resource. Of one that is gone it is what it left; none if it left
    /// nothing.
    pub async fn notices(&self, resource: ResourceName) -> Option<Value> {
        match self.ask_writer(Wanted::Notices(resource.clone())).await {
            Some(told) => Some(told),
            None => {
                let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
                objects.last_notices.get(&resource).cloned()
            }
        }
    }

    /// Asks the writer how the objects of a resource are now; none if it is gone.
    pub async fn objects(&self, resource: ResourceName) -> Option<Value> {
        self.ask_writer(Wanted::Objects(resource)).await
    }

    async fn ask_writer(&self, wanted: Wanted) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        self.inspect.send(Inspection { wanted, answer }).await.ok()?;
        answered.await.ok()
    }

    pub fn logs(&self) -> &LogReader {
        &self.logs
    }
}
