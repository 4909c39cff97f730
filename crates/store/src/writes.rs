//! Asking the session to change an object. The loop that owns all state decides; whoever asks waits for its answer.

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
    /// There must be none of this name.
    Create { object: Value },
    /// There must be one at this version; so nothing that somebody else wrote meanwhile is lost.
    Replace { version: u64, object: Value },
    /// What belongs to it goes with it, unless that is to be kept.
    Delete { version: u64, keep_owned: bool },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Exists,
    Missing,
    /// It is at another version.
    Conflict,
    /// Only lilt itself writes this; why.
    Forbidden(String),
    /// A value that cannot be.
    Invalid {
        field: &'static str,
        value: String,
        why: String,
    },
    /// The session is ending.
    Ending,
}
