//! One page's WebSocket.
//!
//! Two halves that run side by side: the sender looks at the store whenever the socket can take more, the receiver
//! passes requests on. Nothing is queued per change, so a page that does not read costs its socket buffer and no more.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use lilt_model::log::Line;
use lilt_model::request::Request;
use lilt_store::LogReader;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::protocol::{LINES_AT_START, LINES_PER_MESSAGE, PageMessage, ServerMessage};
use crate::{Context, requests};

/// Between two looks at the store; the page cannot draw faster.
const PACE: Duration = Duration::from_millis(16);

/// Tells a page behind a dead connection apart from a quiet one.
const PING_EVERY: Duration = Duration::from_secs(20);

/// How long a closing server waits for a page to take the goodbye.
const GOODBYE: Duration = Duration::from_millis(200);

/// Where a log message is full: a single line may have a megabyte.
const BYTES_PER_MESSAGE: usize = 1024 * 1024;

/// Lines read at once, so that long ones are not all in memory before the limit is noticed.
const LINES_PER_READ: usize = 100;

/// The page's messages are small.
const LONGEST_REQUEST: usize = 64 * 1024;

/// What a page that comes back knows.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Resume {
    session: Option<String>,
    from: Option<u64>,
}

pub(crate) async fn upgrade(
    State(context): State<Context>,
    Query(resume): Query<Resume>,
    upgrade: WebSocketUpgrade,
) -> Response {
    // From here on, not from the first poll: the server waits for sockets that are just being opened, too.
    let counted = context.sockets.token();
    upgrade.max_message_size(LONGEST_REQUEST).on_upgrade(async move |socket| {
        converse(context, resume, socket).await;
        drop(counted);
    })
}

/// axum runs this as a task of its own; it ends with the token, which the server's future holds and waits for.
async fn converse(context: Context, resume: Resume, socket: WebSocket) {
    let (mut sink, stream) = socket.split();
    // The receiver waits when the sender has not yet dealt with its last replies: that is the page's own doing.
    let (replies, pending) = mpsc::channel(8);
    tokio::select! {
        () = context.closing.cancelled() => {}
        () = receive(&context, stream, replies) => return,
        _gone = send(&context, &resume, &mut sink, pending) => return,
    }
    let frame = CloseFrame { code: close_code::AWAY, reason: "the session is ending".into() };
    // A page that does not take it sees the connection end instead.
    let _ = tokio::time::timeout(GOODBYE, sink.send(Message::Close(Some(frame)))).await;
}

/// Ends when the page is gone.
async fn receive(
    context: &Context,
    mut stream: SplitStream<WebSocket>,
    replies: mpsc::Sender<ServerMessage>,
) {
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(text) = message else { continue };
        let reply = match serde_json::from_str::<PageMessage>(&text) {
            Ok(PageMessage::Trigger { resource }) => {
                match requests::ask(context, Request::Trigger { resource }).await {
                    Ok(()) => continue,
                    Err(refusal) => ServerMessage::Refused { message: refusal.message() },
                }
            }
            Ok(PageMessage::Earlier { before }) => earlier(context.reader.logs(), before),
            Err(error) => ServerMessage::Refused { message: format!("not a request: {error}") },
        };
        if replies.send(reply).await.is_err() {
            return;
        }
    }
}

/// Ends when the page is gone.
async fn send(
    context: &Context,
    resume: &Resume,
    sink: &mut SplitSink<WebSocket, Message>,
    mut replies: mpsc::Receiver<ServerMessage>,
) -> Result<(), axum::Error> {
    let reader = &context.reader;
    let logs = reader.logs();
    let hello = ServerMessage::Hello {
        version: context.version.to_string(),
        session_id: context.session_id.to_string(),
        revision: reader.revision(),
    };
    put(sink, &hello).await?;
    let mut revision = put_state(context, sink, 0).await?;
    let mut next_line = first_line(context, resume);
    let mut ping = tokio::time::interval(PING_EVERY);
    loop {
        tokio::select! {
            _ = reader.changed(revision) => {}
            _ = logs.grown(next_line) => {}
            Some(reply) = replies.recv() => {
                put(sink, &reply).await?;
                continue;
            }
            _ = ping.tick() => {
                sink.send(Message::Ping(Default::default())).await?;
                continue;
            }
        }
        if reader.revision() > revision {
            revision = put_state(context, sink, revision).await?;
        }
        if logs.end() > next_line {
            next_line = put_lines(logs, sink, next_line).await?;
        }
        tokio::time::sleep(PACE).await;
    }
}

async fn put(sink: &mut SplitSink<WebSocket, Message>, message: &ServerMessage) -> Result<(), axum::Error> {
    let text = serde_json::to_string(message).map_err(axum::Error::new)?;
    sink.send(Message::Text(text.into())).await
}

async fn put_state(
    context: &Context,
    sink: &mut SplitSink<WebSocket, Message>,
    after: u64,
) -> Result<u64, axum::Error> {
    let changes = context.reader.changes_since(after);
    let revision = changes.revision;
    let message = ServerMessage::State {
        complete: changes.complete,
        resources: changes.resources,
        removed: changes.removed,
        session: changes.session,
    };
    put(sink, &message).await?;
    Ok(revision)
}

async fn put_lines(
    logs: &LogReader,
    sink: &mut SplitSink<WebSocket, Message>,
    from: u64,
) -> Result<u64, axum::Error> {
    let known_end = logs.end();
    let lines = read(logs, from, LINES_PER_MESSAGE);
    // Nothing there means that those lines are no longer kept.
    let end = lines.last().map_or(known_end, |line| line.seq + 1);
    put(sink, &ServerMessage::Logs { lines, end }).await?;
    Ok(end)
}

fn first_line(context: &Context, resume: &Resume) -> u64 {
    let end = context.reader.logs().end();
    let recent = end.saturating_sub(LINES_AT_START);
    let same_session = resume.session.as_deref() == Some(&*context.session_id);
    match resume.from {
        Some(from) if same_session && (recent..=end).contains(&from) => from,
        _ => recent,
    }
}

fn earlier(logs: &LogReader, before: u64) -> ServerMessage {
    let before = before.min(logs.end());
    let count = LINES_PER_MESSAGE.min(usize::try_from(before).unwrap_or(LINES_PER_MESSAGE));
    let mut lines = Vec::new();
    let mut bytes = 0;
    // Backwards, so that what is left out when the message is full is the oldest.
    let mut begin = before;
    let oldest = before - count as u64;
    while begin > oldest && bytes < BYTES_PER_MESSAGE {
        let from = begin.saturating_sub(LINES_PER_READ as u64).max(oldest);
        let mut part = logs.read(from, usize::try_from(begin - from).unwrap_or(LINES_PER_READ));
        // A read of what is no longer kept gives later lines.
        part.retain(|line| line.seq < begin);
        if part.is_empty() {
            break;
        }
        bytes += part.iter().map(|line| line.text.len()).sum::<usize>();
        part.append(&mut lines);
        lines = part;
        begin = from;
    }
    ServerMessage::EarlierLogs { lines, before }
}

fn read(logs: &LogReader, from: u64, at_most: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut bytes = 0;
    while lines.len() < at_most && bytes < BYTES_PER_MESSAGE {
        let next = lines.last().map_or(from, |line| line.seq + 1);
        let part = logs.read(next, LINES_PER_READ.min(at_most - lines.len()));
        if part.is_empty() {
            break;
        }
        bytes += part.iter().map(|line| line.text.len()).sum::<usize>();
        lines.extend(part);
    }
    lines
}
