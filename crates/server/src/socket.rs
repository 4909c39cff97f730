//! One page's WebSocket.
//!
//! Two halves that run side by side: the sender reads the store whenever the socket can take more, the receiver
//! passes requests on. Nothing is queued per change, so a page that does not read costs its socket buffer and no more.

mod buttons;
mod following;

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::auth::Authorization;
use crate::protocol::{PageMessage, QUIET, ServerMessage};
use crate::question::blocking;
use crate::{Context, requests};
use buttons::Buttons;
use following::Following;

/// Between two reads of the store; the page cannot draw faster.
const MIN_INTERVAL: Duration = Duration::from_millis(16);

/// How long a closing server waits for a page to take the goodbye.
const GOODBYE: Duration = Duration::from_millis(200);

/// The page's messages are small.
const LONGEST_REQUEST: usize = 64 * 1024;

pub(crate) async fn upgrade(
    State(context): State<Context>,
    authorization: Option<Extension<Authorization>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let revoked = authorization.map(|Extension(authorization)| authorization.revoked).unwrap_or_default();
    // From here on, not from the first poll: the server waits for sockets that are just being opened, too.
    let counted = context.sockets.token();
    upgrade.max_message_size(LONGEST_REQUEST).on_upgrade(async move |socket| {
        converse(context, &revoked, socket).await;
        drop(counted);
    })
}

/// axum runs this as a task of its own; it ends with the token, which the server's future holds and waits for.
async fn converse(context: Context, revoked: &CancellationToken, socket: WebSocket) {
    let (mut sink, stream) = socket.split();
    // The receiver waits when the sender has not yet dealt with its last turns: that is the page's own doing.
    let (turns, pending) = mpsc::channel(8);
    let mut sender = Sender::new(&context, &mut sink);
    let reason = tokio::select! {
        () = context.closing.cancelled() => "the session is ending",
        () = revoked.cancelled() => "the token was replaced",
        () = receive(&context, stream, turns) => return,
        _gone = sender.run(pending) => return,
    };
    let frame = CloseFrame { code: close_code::AWAY, reason: reason.into() };
    // A page that does not take it sees the connection end instead.
    let _ = tokio::time::timeout(GOODBYE, sink.send(Message::Close(Some(frame)))).await;
}

/// What a message of the page means for the sender.
enum Turn {
    Say(ServerMessage),
    Follow(Option<Following>),
}

/// Ends when the page is gone.
async fn receive(context: &Context, mut stream: SplitStream<WebSocket>, turns: mpsc::Sender<Turn>) {
    let refuse = |message| Turn::Say(ServerMessage::Refused { message });
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(text) = message else { continue };
        let turn = match serde_json::from_str::<PageMessage>(&text) {
            Ok(PageMessage::Ask { request }) => match requests::ask(context, request).await {
                Ok(()) => continue,
                Err(refusal) => refuse(refusal.message()),
            },
            Ok(PageMessage::Follow { follow, query, from }) => match Following::begin(follow, &query, from) {
                Ok(following) => Turn::Follow(Some(following)),
                Err(refusal) => refuse(refusal.1),
            },
            Ok(PageMessage::Unfollow) => Turn::Follow(None),
            Err(error) => refuse(format!("not a request: {error}")),
        };
        if turns.send(turn).await.is_err() {
            return;
        }
    }
}

struct Sender<'s> {
    context: &'s Context,
    sink: &'s mut SplitSink<WebSocket, Message>,
    /// What the page knows.
    revision: u64,
    end: u64,
    following: Option<Following>,
    buttons: Option<Buttons>,
    /// When the last message was sent.
    last_sent: Instant,
}

impl<'s> Sender<'s> {
    fn new(context: &'s Context, sink: &'s mut SplitSink<WebSocket, Message>) -> Self {
        let buttons = context.has_api.then(|| Buttons::new(context.reader.clone()));
        Self { context, sink, revision: 0, end: 0, following: None, buttons, last_sent: Instant::now() }
    }

    /// Ends when the page is gone.
    async fn run(&mut self, mut turns: mpsc::Receiver<Turn>) -> Result<(), axum::Error> {
        let reader = &self.context.reader;
        let hello = ServerMessage::Hello {
            version: self.context.version.to_string(),
            session_id: self.context.session_id.to_string(),
            revision: reader.revision(),
            snapshot: self.context.snapshot,
        };
        self.put(&hello).await?;
        self.put_state().await?;
        self.put_extent().await?;
        loop {
            if let Some(buttons) = &mut self.buttons
                && let Some(message) = buttons.next_message()
            {
                self.put(&message).await?;
            }
            let unread = self.following.as_ref().is_some_and(|it| it.is_behind(reader.logs()));
            tokio::select! {
                biased;
                Some(turn) = turns.recv() => {
                    match turn {
                        Turn::Say(message) => self.put(&message).await?,
                        Turn::Follow(following) => self.following = following,
                    }
                    // What is asked for is answered at once.
                    self.put_lines().await?;
                    continue;
                }
                () = tokio::time::sleep_until(self.last_sent + QUIET) => {
                    self.put(&ServerMessage::Tick).await?;
                    continue;
                }
                () = std::future::ready(()), if unread => {}
                _ = reader.changed(self.revision) => {}
                _ = reader.logs().grown(self.end) => {}
            }
            if reader.revision() > self.revision {
                self.put_state().await?;
            }
            self.put_lines().await?;
            if reader.logs().end() > self.end {
                self.put_extent().await?;
            }
            tokio::time::sleep(MIN_INTERVAL).await;
        }
    }

    async fn put(&mut self, message: &ServerMessage) -> Result<(), axum::Error> {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        self.sink.send(Message::Text(text.into())).await?;
        self.last_sent = Instant::now();
        Ok(())
    }

    async fn put_state(&mut self) -> Result<(), axum::Error> {
        let changes = self.context.reader.changes_since(self.revision);
        self.revision = changes.revision;
        // Objects that pages do not show have changed.
        if changes.is_empty() {
            return Ok(());
        }
        let message = ServerMessage::State {
            complete: changes.complete,
            resources: changes.resources,
            removed: changes.removed,
            session: changes.session,
        };
        self.put(&message).await
    }

    async fn put_extent(&mut self) -> Result<(), axum::Error> {
        let logs = self.context.reader.logs();
        self.end = logs.end();
        self.put(&ServerMessage::Log { begin: logs.begin(), end: self.end }).await
    }

    async fn put_lines(&mut self) -> Result<(), axum::Error> {
        let logs = self.context.reader.logs();
        let Some(mut following) = self.following.take_if(|it| it.is_behind(logs)) else { return Ok(()) };
        let logs = logs.clone();
        let read = blocking(move || {
            let message = following.next_message(&logs);
            (following, message)
        });
        let (following, message) = read.await.map_err(|_| axum::Error::new("the log could not be read"))?;
        self.following = Some(following);
        match message {
            Some(message) => self.put(&message).await,
            None => Ok(()),
        }
    }
}
