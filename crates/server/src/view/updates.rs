//! `GET /ws/view`: Tilt's WebSocket, for its scripts. First the whole view, then what changed, at most five times a second.
//!
//! The first message has the newest lines only, as many as Tilt keeps; every line is at `/api/view` and `/api/logs`. A
//! client that cannot send its token in a header sends the one of `/api/websocket_token` in the query (see [`crate::auth`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{SinkExt, StreamExt};
use lilt_api::ObjectKind;
use lilt_model::Timestamp;
use lilt_model::log::Line;
use lilt_store::{Expired, Filter, LogReader, Reader, WatchEvent, WatchEventType};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{KINDS, segment, started, whole_state};
use crate::Context;
use crate::auth::Authorization;
use crate::question::blocking;

/// Between two messages, as in Tilt.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// Tells a client behind a dead connection apart from a quiet one.
const PING_EVERY: Duration = Duration::from_secs(20);

/// What Tilt keeps of a log, in bytes.
const MAX_LOG: usize = 2_000_000;

/// Lines fetched at once.
const PAGE: usize = 1_000;

/// Clients of this socket send nothing that is read.
const MAX_MESSAGE: usize = 64 * 1024;

/// `GET /api/websocket_token`
pub(crate) async fn token(State(context): State<Context>) -> Response {
    // A session without a token takes any.
    let token = context.auth.map_or_else(|| "none".to_owned(), |auth| auth.keys().socket_token().to_owned());
    ([(header::CONTENT_TYPE, "text/plain")], token).into_response()
}

pub(crate) async fn upgrade(
    State(context): State<Context>,
    authorization: Option<Extension<Authorization>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let counted = context.sockets.token();
    let revoked = authorization.map(|Extension(authorization)| authorization.revoked).unwrap_or_default();
    upgrade.max_message_size(MAX_MESSAGE).on_upgrade(async move |socket| {
        send_updates(&context, &revoked, socket).await;
        drop(counted);
    })
}

/// Ends with the client, with the session, or when the token is replaced.
async fn send_updates(context: &Context, revoked: &CancellationToken, socket: WebSocket) {
    let (mut sink, mut stream) = socket.split();
    let disconnected = async { while let Some(Ok(_)) = stream.next().await {} };
    let sending = async {
        let mut known = Known::default();
        let mut ping = tokio::time::interval(PING_EVERY);
        loop {
            let message = match known.next_view(context).await {
                Some(view) => Message::Text(view.to_string().into()),
                None => Message::Ping(Default::default()),
            };
            if sink.send(message).await.is_err() {
                return;
            }
            tokio::time::sleep(MIN_INTERVAL).await;
            tokio::select! {
                () = known.changed(context) => {}
                _ = ping.tick() => {}
            }
        }
    };
    tokio::select! {
        () = context.closing.cancelled() => {}
        () = revoked.cancelled() => {}
        () = disconnected => {}
        () = sending => {}
    }
}

/// What the client knows.
#[derive(Default)]
struct Known {
    /// None: nothing yet.
    revision: Option<u64>,
    /// The line that it has not got yet.
    next: u64,
}

impl Known {
    async fn changed(&self, context: &Context) {
        tokio::select! {
            _ = context.reader.changed(self.revision.unwrap_or_default()) => {}
            _ = context.reader.logs().grown(self.next) => {}
        }
    }

    /// Returns what is new; none if a view shows nothing of it.
    async fn next_view(&mut self, context: &Context) -> Option<Value> {
        let mut view = match self.revision {
            None => self.whole(context),
            Some(revision) => self.changes(context, revision),
        };
        let lines = self.lines(context).await;
        if view.is_empty() && lines.is_empty() {
            return None;
        }
        if let Some(begin) = lines.first().map(|line| line.seq) {
            view.insert("logList".to_owned(), log_list(&lines, begin, self.next));
        }
        view.insert("tiltStartTime".to_owned(), json!(started(&context.reader)));
        Some(Value::Object(view))
    }

    fn whole(&mut self, context: &Context) -> Map<String, Value> {
        // Before reading: what changes meanwhile is sent again.
        self.revision = Some(context.reader.revision());
        match whole_state(&context.reader) {
            Value::Object(view) => view,
            _ => Map::new(),
        }
    }

    fn changes(&mut self, context: &Context, revision: u64) -> Map<String, Value> {
        let mut view = Map::new();
        let now = context.clock.map_or(Timestamp(0), |clock| clock());
        let mut changes = context.reader.changes_since(revision);
        if changes.complete {
            return self.whole(context);
        }
        self.revision = Some(changes.revision);
        if let Some(session) = changes.session {
            view.insert("uiSession".to_owned(), json!(session));
        }
        changes.resources.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        let mut resources: Vec<Value> = changes.resources.iter().map(|resource| json!(resource)).collect();
        resources.extend(changes.removed.iter().map(|name| removed(name.as_str(), now)));
        if !resources.is_empty() {
            view.insert("uiResources".to_owned(), Value::Array(resources));
        }
        for (kind, field) in KINDS {
            // Too far behind: start over.
            let Ok(changed) = changed(&context.reader, kind, revision, now) else {
                return self.whole(context);
            };
            if !changed.is_empty() {
                view.insert(field.to_owned(), Value::Array(changed));
            }
        }
        view
    }

    /// The next lines; if there are too many, the newest of them.
    async fn lines(&mut self, context: &Context) -> Vec<Line> {
        let logs = context.reader.logs().clone();
        let next = self.next;
        // Dropped with this future when the client leaves: nobody waits for the lines then.
        let cancel = CancellationToken::new();
        let _ends_reading = cancel.clone().drop_guard();
        let found = blocking(move || {
            logs.store_partial();
            let end = logs.end();
            (newest_lines(&logs, next, end, &cancel), end)
        });
        // A panic while reading the log is a bug of the server, and no reason to send lines twice.
        let Ok((lines, end)) = found.await else { return Vec::new() };
        self.next = end;
        lines
    }
}

/// The newest lines between two, [`MAX_LOG`] bytes of them and no more than a line beyond. Fewer when cancelled.
fn newest_lines(logs: &LogReader, from: u64, end: u64, cancel: &CancellationToken) -> Vec<Line> {
    let mut lines: VecDeque<Line> = VecDeque::new();
    let (mut room, mut before) = (MAX_LOG, end);
    while before > from && room > 0 && !cancel.is_cancelled() {
        let Some(found) = logs.take_back(&Filter::default(), before, PAGE) else { break };
        before = found.next;
        for line in found.iter().rev() {
            if room == 0 || line.seq < from {
                return lines.into();
            }
            room = room.saturating_sub(line.text.len());
            lines.push_front(line.to_line());
        }
    }
    lines.into()
}

/// Returns the objects that changed after a revision, each as it is now.
fn changed(reader: &Reader, kind: ObjectKind, after: u64, now: Timestamp) -> Result<Vec<Value>, Expired> {
    let (_, events) = reader.last_events_since(kind, after)?;
    let value = |event: &Arc<WatchEvent>| match event.event_type {
        WatchEventType::Deleted => removed(&event.object.key.name, now),
        // The store holds nothing but objects.
        WatchEventType::Added | WatchEventType::Modified => {
            serde_json::from_str(event.object.text()).unwrap_or_default()
        }
    };
    Ok(events.iter().map(value).collect())
}

fn log_list(lines: &[Line], begin: u64, end: u64) -> Value {
    let spans: Map<String, Value> = lines
        .iter()
        .map(|line| {
            let resource = line.resource.as_ref().map(ToString::to_string).unwrap_or_default();
            (line.span.to_string(), json!({ "manifestName": resource }))
        })
        .collect();
    let segments: Vec<Value> = lines.iter().map(segment).collect();
    json!({ "spans": spans, "segments": segments, "fromCheckpoint": begin, "toCheckpoint": end })
}

/// An object that was deleted, as Tilt sends it.
fn removed(name: &str, now: Timestamp) -> Value {
    json!({ "metadata": { "name": name, "deletionTimestamp": now }, "spec": {}, "status": {} })
}

#[cfg(test)]
mod tests {
    use lilt_model::SpanId;
    use lilt_model::log::Source;
    use lilt_store::LogWriter;

    use super::*;

    #[test]
    fn newest_lines_are_bounded_by_bytes() {
        let (writer, logs) = LogWriter::open(None, || Timestamp(7));
        let mut span = writer.span(SpanId::new("a"), None, Source::Runtime);
        for _ in 0..400 {
            span.write(&[&[b'x'; 50_000][..], b"\n"].concat());
        }
        let cancel = CancellationToken::new();
        let lines = newest_lines(&logs, 0, 400, &cancel);
        assert_eq!(lines.iter().map(|line| line.seq).collect::<Vec<_>>(), (360..400).collect::<Vec<_>>());
        let few = newest_lines(&logs, 397, 400, &cancel);
        assert_eq!(few.iter().map(|line| line.seq).collect::<Vec<_>>(), [397, 398, 399]);
        cancel.cancel();
        assert_eq!(newest_lines(&logs, 0, 400, &cancel), []);
    }
}
