//! Questions to the loop about what is not in the table, and its answers.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use lilt_model::ResourceName;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Questions that may wait for the loop. Further ones wait before they are sent.
const MAX_PENDING: usize = 4;

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuerySubject {
    /// The whole state of the engine.
    Engine,
    /// What the cluster reported about this resource.
    Notices(ResourceName),
    /// The objects of this resource, as they are in the cluster now.
    Objects(ResourceName),
}

/// A question that waits for an answer.
#[derive(Debug)]
pub struct SessionQuery {
    pub subject: QuerySubject,
    answer: oneshot::Sender<Value>,
}

impl SessionQuery {
    pub fn answer(self, value: Value) {
        // The reader may be gone.
        let _ = self.answer.send(value);
    }

    /// Waits until the reader is gone.
    pub async fn cancelled(&mut self) {
        self.answer.closed().await;
    }
}

/// By resource. Set when the session ends.
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
    /// Waits for the next question.
    pub async fn next(&mut self) -> SessionQuery {
        match self.receiver.recv().await {
            Some(query) => query,
            None => std::future::pending().await,
        }
    }

    /// Leaves what the cluster reported about each resource to those who ask when the loop has ended.
    pub fn leave_notices(&self, notices: Vec<(ResourceName, Value)>) {
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

    /// Returns what the loop left about a resource when it ended.
    pub(crate) fn final_notices(&self, resource: &ResourceName) -> Option<Value> {
        self.final_notices.get()?.get(resource).cloned()
    }
}
