//! Requests to change an object. The loop, which owns all state, decides and replies.

use serde_json::Value;
use tokio::sync::oneshot;

use crate::object::{Key, Snapshot};

#[derive(Debug)]
pub struct WriteRequest {
    pub key: Key,
    pub action: Action,
    pub reply: oneshot::Sender<Result<Snapshot, Refusal>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Fails if an object of this name exists.
    Create { object: Value },
    /// Fails unless the object has this version, so that no other change is overwritten.
    Replace { version: u64, object: Value },
    /// Deletes its dependents, too, unless `keep_owned`.
    Delete { version: u64, keep_owned: bool },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Exists,
    Missing,
    /// The object has another version.
    Conflict,
    /// Only lilt writes this object. Has the reason.
    Forbidden(String),
    /// A value is not allowed.
    Invalid {
        field: &'static str,
        value: String,
        why: String,
    },
    /// The session is ending.
    Ending,
}
