//! The changes of objects, one by one.

use serde_json::Value;

use super::connection::ResponseStream;
use super::error::ApiError;
use super::request::{Api, ApiPath, ObjectForm};

/// What happened to an object.
#[derive(Debug)]
pub struct ObjectEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`
    pub event_type: String,
    pub object: Value,
}

impl ObjectEvent {
    /// Returns whether this watcher was too slow and has to list the objects again.
    pub fn is_expired(&self) -> bool {
        self.event_type == "ERROR" && self.object.get("code").and_then(Value::as_u64) == Some(410)
    }
}

/// The changes of the objects at a path.
pub struct WatchStream {
    stream: ResponseStream,
    /// The beginning of a line.
    buffer: Vec<u8>,
}

impl std::fmt::Debug for WatchStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchStream").finish_non_exhaustive()
    }
}

impl WatchStream {
    pub async fn open(api: &Api, path: &ApiPath, form: ObjectForm) -> Result<Self, ApiError> {
        Ok(Self { stream: api.watch(path, form).await?, buffer: Vec::new() })
    }

    /// Returns the next event; none when the session ends.
    pub async fn next(&mut self) -> Result<Option<ObjectEvent>, ApiError> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(parse_event(&line)?));
            }
            match self.stream.next_chunk().await? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

fn parse_event(line: &[u8]) -> Result<ObjectEvent, ApiError> {
    let malformed = |error: serde_json::Error| {
        ApiError::Malformed(format!("unable to decode an event from the watch stream: {error}"))
    };
    let mut event: Value = serde_json::from_slice(line).map_err(malformed)?;
    let event_type = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(ObjectEvent { event_type, object: event["object"].take() })
}
