//! `GET /ws/view`: Tilt's WebSocket, for its scripts. Sends the whole view, then changes at most five times a second.
//!
//! The first message has only the newest lines, as many as Tilt keeps. All lines are at `/api/view` and `/api/logs`. A
//! client that cannot send its token in a header sends that of `/api/websocket_token` in the query (see [`crate::auth`]).

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
use crate::log_query::blocking;

/// The minimum time between two messages, as in Tilt.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// The interval of pings, which detect dead connections.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// The size of the log in bytes that Tilt keeps.
const MAX_LOG: usize = 2_000_000;

/// How many lines are read at once.
const PAGE: usize = 1_000;

/// The maximum size of messages of clients, which are ignored.
const MAX_MESSAGE: usize = 64 * 1024;

/// `GET /api/websocket_token`
pub(crate) async fn token(State(context): State<Context>) -> Response {
    // A session without a token accepts any.
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

/// Sends the view and its changes until the client disconnects, the session ends or the token is replaced.
async fn send_updates(context: &Context, revoked: &CancellationToken, socket: WebSocket) {
    let (mut sink, mut stream) = socket.split();
    let disconnected = async { while let Some(Ok(_)) = stream.next().await {} };
    let sending = async {
        let mut known = ClientState::default();
        let mut ping = tokio::time::interval(PING_INTERVAL);
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

/// The state that the client has.
#[derive(Default)]
struct ClientState {
    /// None before the first message.
    revision: Option<u64>,
    /// The first line that was not sent.
    next: u64,
}

impl ClientState {
    async fn changed(&self, context: &Context) {
        tokio::select! {
            _ = context.reader.changed(self.revision.unwrap_or_default()) => {}
            _ = context.reader.logs().grown(self.next) => {}
        }
    }

    /// Returns the changes; none if the view does not change.
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
        // Read first: changes meanwhile are sent again.
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
            // Too far behind, so start over.
            let Ok(changed) = changed(&context.reader, kind, revision, now) else {
                return self.whole(context);
            };
            if !changed.is_empty() {
                view.insert(field.to_owned(), Value::Array(changed));
            }
        }
        view
    }

    /// Returns the next lines; if there are too many, the newest of them.
    async fn lines(&mut self, context: &Context) -> Vec<Line> {
        let logs = context.reader.logs().clone();
        let next = self.next;
        // Cancelled when this future is dropped because the client disconnects.
        let cancel = CancellationToken::new();
        let _ends_reading = cancel.clone().drop_guard();
        let found = blocking(move || {
            logs.store_partial();
            let end = logs.end();
            (newest_lines(&logs, next, end, &cancel), end)
        });
        // After a panic while reading the log, no lines are sent twice.
        let Ok((lines, end)) = found.await else { return Vec::new() };
        self.next = end;
        lines
    }
}

/// Returns the newest lines in a range, up to [`MAX_LOG`] bytes and a line more. Fewer if cancelled.
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

/// Returns the objects that changed after a revision, in their newest state.
fn changed(reader: &Reader, kind: ObjectKind, after: u64, now: Timestamp) -> Result<Vec<Value>, Expired> {
    let (_, events) = reader.last_events_since(kind, after)?;
    let value = |event: &Arc<WatchEvent>| match event.event_type {
        WatchEventType::Deleted => removed(&event.object.key.name, now),
        // All objects of the store are valid.
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

/// Returns a deleted object as Tilt sends it.
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
