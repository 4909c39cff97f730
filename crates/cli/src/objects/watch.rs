//! The changes of objects, one after the other.

use serde_json::Value;

use super::connection::Stream;
use super::problem::Problem;
use super::request::{Api, Place, Shape};

/// What happened to an object.
#[derive(Debug)]
pub(crate) struct Event {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`
    pub(crate) what: String,
    pub(crate) object: Value,
}

impl Event {
    /// Whether this watcher was too slow and has to begin anew.
    pub(crate) fn is_expired(&self) -> bool {
        self.what == "ERROR" && self.object.get("code").and_then(Value::as_u64) == Some(410)
    }
}

pub(crate) struct Events {
    stream: Stream,
    /// What has come and is no whole line yet.
    begun: Vec<u8>,
}

impl Events {
    pub(crate) async fn of(api: &Api, place: &Place, shape: Shape) -> Result<Self, Problem> {
        Ok(Self { stream: api.watch(place, shape).await?, begun: Vec::new() })
    }

    /// The next one; none when the session ends.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Problem> {
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

fn read(line: &[u8]) -> Result<Event, Problem> {
    let strange = |error: serde_json::Error| {
        Problem::words(format!("unable to decode an event from the watch stream: {error}"))
    };
    let mut event: Value = serde_json::from_slice(line).map_err(strange)?;
    let what = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Event { what, object: event["object"].take() })
}
