//! Queries to the loop about data that is not in the table.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use lilt_model::ResourceName;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// How many queries may wait for the loop. Further ones wait before they are sent.
const MAX_PENDING: usize = 4;

/// The subject of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuerySubject {
    /// The whole state of the engine.
    Engine,
    /// What the cluster reported about this resource: Kubernetes events.
    Notices(ResourceName),
    /// The objects of this resource, as they are in the cluster now.
    Objects(ResourceName),
}

/// A query that waits for its answer.
#[derive(Debug)]
pub struct SessionQuery {
    pub subject: QuerySubject,
    answer: oneshot::Sender<Value>,
}

impl SessionQuery {
    pub fn answer(self, value: Value) {
        // The reader may no longer wait.
        let _ = self.answer.send(value);
    }

    /// Waits until the reader no longer waits for the answer.
    pub async fn cancelled(&mut self) {
        self.answer.closed().await;
    }
}

/// The notices of each resource. Set when the session ends.
type FinalNotices = Arc<OnceLock<BTreeMap<ResourceName, Value>>>;

pub(crate) fn channel() -> (QuerySender, SessionQueries) {
    let (sender, receiver) = mpsc::channel(MAX_PENDING);
    let final_notices = FinalNotices::default();
    let queries = SessionQueries { receiver, final_notices: Arc::clone(&final_notices) };
    (QuerySender { sender, final_notices }, queries)
}

/// The end of the channel that the loop holds.
#[derive(Debug)]
pub struct SessionQueries {
    receiver: mpsc::Receiver<SessionQuery>,
    final_notices: FinalNotices,
}

impl SessionQueries {
    /// Waits for the next query.
    pub async fn next(&mut self) -> SessionQuery {
        match self.receiver.recv().await {
            Some(query) => query,
            None => std::future::pending().await,
        }
    }

    /// Stores what the cluster reported about each resource, for queries after the loop has ended.
    pub fn store_final_notices(&self, notices: Vec<(ResourceName, Value)>) {
        // A session ends once.
        let _ = self.final_notices.set(notices.into_iter().collect());
    }
}

/// The end of the channel that readers hold.
#[derive(Clone, Debug)]
pub(crate) struct QuerySender {
    sender: mpsc::Sender<SessionQuery>,
    final_notices: FinalNotices,
}

impl QuerySender {
    /// Returns the loop's answer; none if it has ended.
    pub(crate) async fn ask(&self, subject: QuerySubject) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(SessionQuery { subject, answer }).await.ok()?;
        answered.await.ok()
    }

    /// Returns the notices of a resource at the end of the loop.
    pub(crate) fn final_notices(&self, resource: &ResourceName) -> Option<Value> {
        self.final_notices.get()?.get(resource).cloned()
    }
}
