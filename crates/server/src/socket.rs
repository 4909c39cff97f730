//! One page's WebSocket.
//!
//! It has two concurrent halves: the sender reads the store whenever the socket accepts more, the receiver passes requests
//! on. Nothing is queued per change, so a page that does not read costs no more than its socket buffer.

mod buttons;
mod log_follower;

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
use crate::log_query::blocking;
use crate::protocol::{PageMessage, ServerMessage, TICK_INTERVAL};
use crate::{Context, requests};
use buttons::Buttons;
use log_follower::LogFollower;

/// The minimum time between two reads of the store. The page cannot draw faster.
const MIN_INTERVAL: Duration = Duration::from_millis(16);

/// How long a closing server waits for a page to accept the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// The maximum size of a message of the page. They are small.
const MAX_MESSAGE: usize = 64 * 1024;

pub(crate) async fn upgrade(
    State(context): State<Context>,
    authorization: Option<Extension<Authorization>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let revoked = authorization.map(|Extension(authorization)| authorization.revoked).unwrap_or_default();
    // Counted from here on, not from the first poll: the server waits for sockets that are being opened, too.
    let counted = context.sockets.token();
    upgrade.max_message_size(MAX_MESSAGE).on_upgrade(async move |socket| {
        serve_page(context, &revoked, socket).await;
        drop(counted);
    })
}

/// Serves a page until it disconnects, the session ends or the token is replaced.
///
/// axum runs this as a separate task. The server tracks it and waits for its end.
async fn serve_page(context: Context, revoked: &CancellationToken, socket: WebSocket) {
    let (mut sink, stream) = socket.split();
    // The receiver waits if the sender is behind by this many messages, which only the page itself can cause.
    let (commands, pending) = mpsc::channel(8);
    let mut sender = Sender::new(&context, &mut sink);
    let reason = tokio::select! {
        () = context.closing.cancelled() => "the session is ending",
        () = revoked.cancelled() => "the token was replaced",
        () = receive(&context, stream, commands) => return,
        _gone = sender.run(pending) => return,
    };
    let frame = CloseFrame { code: close_code::AWAY, reason: reason.into() };
    // For a page that does not accept it, the connection just ends.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, sink.send(Message::Close(Some(frame)))).await;
}

/// What the receiver asks the sender to do.
enum SenderCommand {
    Send(ServerMessage),
    Follow(Option<LogFollower>),
}

/// Handles messages until the page disconnects.
async fn receive(
    context: &Context,
    mut stream: SplitStream<WebSocket>,
    commands: mpsc::Sender<SenderCommand>,
) {
    let refuse = |message| SenderCommand::Send(ServerMessage::Refused { message });
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(text) = message else { continue };
        let command = match serde_json::from_str::<PageMessage>(&text) {
            Ok(PageMessage::Ask { request }) => match requests::send(context, request).await {
                Ok(()) => continue,
                Err(refusal) => refuse(refusal.message()),
            },
            Ok(PageMessage::Follow { follow, query, from }) => match LogFollower::begin(follow, &query, from)
            {
                Ok(follower) => SenderCommand::Follow(Some(follower)),
                Err(refusal) => refuse(refusal.1),
            },
            Ok(PageMessage::Unfollow) => SenderCommand::Follow(None),
            Err(error) => refuse(format!("not a request: {error}")),
        };
        if commands.send(command).await.is_err() {
            return;
        }
    }
}

struct Sender<'s> {
    context: &'s Context,
    sink: &'s mut SplitSink<WebSocket, Message>,
    /// The revision that the page has.
    revision: u64,
    end: u64,
    follower: Option<LogFollower>,
    buttons: Option<Buttons>,
    /// When the last message was sent.
    last_sent: Instant,
}

impl<'s> Sender<'s> {
    fn new(context: &'s Context, sink: &'s mut SplitSink<WebSocket, Message>) -> Self {
        let buttons = context.has_api.then(|| Buttons::new(context.reader.clone()));
        Self { context, sink, revision: 0, end: 0, follower: None, buttons, last_sent: Instant::now() }
    }

    /// Sends messages until the page disconnects.
    async fn run(&mut self, mut commands: mpsc::Receiver<SenderCommand>) -> Result<(), axum::Error> {
        let reader = &self.context.reader;
        let hello = ServerMessage::Hello {
            version: self.context.version.to_string(),
            session_id: self.context.session_id.to_string(),
            revision: reader.revision(),
            snapshot: self.context.snapshot,
        };
        self.send(&hello).await?;
        self.send_state().await?;
        self.send_extent().await?;
        loop {
            if let Some(buttons) = &mut self.buttons
                && let Some(message) = buttons.next_message()
            {
                self.send(&message).await?;
            }
            let unread = self.follower.as_ref().is_some_and(|it| it.is_behind(reader.logs()));
            tokio::select! {
                biased;
                Some(command) = commands.recv() => {
                    match command {
                        SenderCommand::Send(message) => self.send(&message).await?,
                        SenderCommand::Follow(follower) => self.follower = follower,
                    }
                    // Lines of a new `Follow` are sent at once.
                    self.send_lines().await?;
                    continue;
                }
                () = tokio::time::sleep_until(self.last_sent + TICK_INTERVAL) => {
                    self.send(&ServerMessage::Tick).await?;
                    continue;
                }
                () = std::future::ready(()), if unread => {}
                _ = reader.changed(self.revision) => {}
                _ = reader.logs().grown(self.end) => {}
            }
            if reader.revision() > self.revision {
                self.send_state().await?;
            }
            self.send_lines().await?;
            if reader.logs().end() > self.end {
                self.send_extent().await?;
            }
            tokio::time::sleep(MIN_INTERVAL).await;
        }
    }

    async fn send(&mut self, message: &ServerMessage) -> Result<(), axum::Error> {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        self.sink.send(Message::Text(text.into())).await?;
        self.last_sent = Instant::now();
        Ok(())
    }

    async fn send_state(&mut self) -> Result<(), axum::Error> {
        let changes = self.context.reader.changes_since(self.revision);
        self.revision = changes.revision;
        // Only objects that pages do not show have changed.
        if changes.is_empty() {
            return Ok(());
        }
        let message = ServerMessage::State {
            complete: changes.complete,
            resources: changes.resources,
            removed: changes.removed,
            session: changes.session,
        };
        self.send(&message).await
    }

    async fn send_extent(&mut self) -> Result<(), axum::Error> {
        let logs = self.context.reader.logs();
        self.end = logs.end();
        self.send(&ServerMessage::Log { begin: logs.begin(), end: self.end }).await
    }

    async fn send_lines(&mut self) -> Result<(), axum::Error> {
        let logs = self.context.reader.logs();
        let Some(mut follower) = self.follower.take_if(|it| it.is_behind(logs)) else { return Ok(()) };
        let logs = logs.clone();
        let read = blocking(move || {
            let message = follower.next_message(&logs);
            (follower, message)
        });
        let (follower, message) = read.await.map_err(|_| axum::Error::new("the log could not be read"))?;
        self.follower = Some(follower);
        match message {
            Some(message) => self.send(&message).await,
            None => Ok(()),
        }
    }
}
