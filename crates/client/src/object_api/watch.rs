//! The changes of objects, one after the other.

use serde_json::Value;

use super::connection::ResponseStream;
use super::error::ApiError;
use super::request::{Api, ApiPath, ObjectForm};

/// What happened to an object.
#[derive(Debug)]
pub struct ObjectEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`
    pub what: String,
    pub object: Value,
}

impl ObjectEvent {
    /// Whether this watcher was too slow and has to begin anew.
    pub fn is_expired(&self) -> bool {
        self.what == "ERROR" && self.object.get("code").and_then(Value::as_u64) == Some(410)
    }
}

/// The changes of the objects at a path.
pub struct WatchStream {
    stream: ResponseStream,
    /// What has come and is no whole line yet.
    begun: Vec<u8>,
}

impl std::fmt::Debug for WatchStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchStream").finish_non_exhaustive()
    }
}

impl WatchStream {
    pub async fn of(api: &Api, path: &ApiPath, form: ObjectForm) -> Result<Self, ApiError> {
        Ok(Self { stream: api.watch(path, form).await?, begun: Vec::new() })
    }

    /// The next one; none when the session ends.
    pub async fn next(&mut self) -> Result<Option<ObjectEvent>, ApiError> {
        loop {
            if let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                return Ok(Some(read(&line)?));
            }
            match self.stream.next().await? {
                Some(piece) => self.begun.extend_from_slice(&piece),
                None => return Ok(None),
            }
        }
    }
}

fn read(line: &[u8]) -> Result<ObjectEvent, ApiError> {
    let strange = |error: serde_json::Error| {
        ApiError::Malformed(format!("unable to decode an event from the watch stream: {error}"))
    };
    let mut event: Value = serde_json::from_slice(line).map_err(strange)?;
    let what = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(ObjectEvent { what, object: event["object"].take() })
}
