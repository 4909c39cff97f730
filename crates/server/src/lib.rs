//! The web port: page, WebSocket and commands.
//!
//! Reads the store and sends [`Request`]s, without knowing how they are carried out. Every route is behind
//! [`origin_check`], so that pages of other sites cannot read or control a session, and all routes except the page's files
//! are behind [`auth`]. A slow reader costs nothing: it gets the newest state when it reads, never a queue of changes.

mod api;
mod assets;
mod auth;
mod connections;
pub mod count;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod html;
mod inspect;
pub mod lines;
mod listen;
mod log_query;
pub mod logs;
mod origin_check;
pub mod protocol;
mod proxy;
mod requests;
mod routes;
mod sessions;
mod socket;
pub mod view;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use lilt_model::request::Request;
use lilt_model::{Failure, Timestamp};
use lilt_store::{Reader, WriteRequest};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use api::{Credentials, openapi};
pub use auth::owner::{Auth, AuthOwner, SaveToken, Warn};
pub use connections::OpenFileLimit;
pub use inspect::{ResourceTimeline, Timeline};
pub use listen::{BindError, Listener, bind};
pub use origin_check::is_further_host;
pub use proxy::ProxiedApi;
pub use sessions::RunningSession;

/// Access control and other options of the web port.
#[derive(Debug, Default)]
pub struct ServeOptions {
    /// Names by which browsers may address the server in addition to `localhost`, `127.0.0.1` and `[::1]`, such as the
    /// user's `--host`. `name` means this server's own port.
    pub allowed_hosts: Vec<String>,
    /// Names of proxies and tunnels in front of it, which may use HTTPS: `name`, or `name:port` for another port than this
    /// server's own and the default one. See [`is_further_host`].
    pub further_hosts: Vec<String>,
    /// The command that starts this server, such as `lilt up`, for hints about its flags.
    pub command: String,
    /// See [`OpenFileLimit`]; none: no limit is known.
    pub open_files: Option<OpenFileLimit>,
    /// lilt's own version, shown on the page.
    pub version: String,
    /// Owns the token that browsers and scripts need. None: no token is needed, for users with their own access control in
    /// front of it.
    pub auth: Option<AuthOwner>,
    /// The object API, for the page.
    pub api: Option<ProxiedApi>,
    /// Returns the running sessions of this user.
    pub sessions: Option<fn() -> Vec<RunningSession>>,
    /// The time of the snapshot, if the server shows a snapshot.
    pub snapshot: Option<Timestamp>,
}

/// The state that all routes share.
#[derive(Clone, Debug)]
struct Context {
    reader: Reader,
    /// Whether the object API is available, which handles clicks of buttons.
    has_api: bool,
    /// The host's clock. None for a snapshot, which needs none.
    clock: Option<fn() -> Timestamp>,
    sessions: Option<fn() -> Vec<RunningSession>>,
    auth: Option<Auth>,
    port: u16,
    requests: mpsc::Sender<Request>,
    version: Arc<str>,
    /// Identifies the session, so that pages that reconnect notice another one.
    session_id: Arc<str>,
    snapshot: Option<Timestamp>,
    /// Cancelled to close the WebSockets.
    closing: CancellationToken,
    /// Tracks the open WebSockets.
    sockets: TaskTracker,
}

/// Serves the web port until cancelled. When this future ends or is dropped, all connections are closed.
pub async fn serve(
    listener: Listener,
    options: ServeOptions,
    reader: Reader,
    requests: mpsc::Sender<Request>,
    cancel: CancellationToken,
) {
    let closing = cancel.child_token();
    let _closes_sockets_when_dropped = closing.clone().drop_guard();
    let sockets = TaskTracker::new();
    let port = listener.port();
    let allowed = origin_check::Allowed::new(&options.allowed_hosts, &options.further_hosts, port)
        .with_command(&options.command);
    let version: Arc<str> = options.version.into();
    let context = Context {
        reader,
        has_api: options.api.is_some(),
        clock: options.api.as_ref().map(|api| api.clock),
        sessions: options.sessions,
        auth: options.auth.as_ref().map(AuthOwner::auth),
        port,
        requests,
        version: Arc::clone(&version),
        session_id: random_id().into(),
        snapshot: options.snapshot,
        closing: closing.clone(),
        sockets: sockets.clone(),
    };
    let auth = auth::AuthCheck::new(context.auth.clone(), port);
    let reader = context.reader.clone();
    let api = options.api.map(|api| proxy::routes(api, reader, version, closing));
    let router = routes::router(context, allowed, auth, api);
    let owner = async {
        match options.auth {
            Some(owner) => owner.run().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = connections::accept(listener, router, options.open_files, cancel) => {}
        () = owner => {}
    }
    sockets.close();
    sockets.wait().await;
}

fn random_id() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Options of the object API's port.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    pub credentials: Credentials,
    /// The host's clock.
    pub clock: fn() -> Timestamp,
    /// See [`OpenFileLimit`]; none: no limit is known.
    pub open_files: Option<OpenFileLimit>,
    /// lilt's own version.
    pub version: String,
}

/// Serves the object API until cancelled. When this future ends or is dropped, all connections are closed.
pub async fn serve_api(
    listener: TcpListener,
    options: ApiOptions,
    reader: Reader,
    writes: mpsc::Sender<WriteRequest>,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let closing = cancel.child_token();
    let _closes_watches_when_dropped = closing.clone().drop_guard();
    let api = api::Api { reader, writes, clock: options.clock, version: options.version.into(), closing };
    let listener = Listener::try_from(listener)
        .map_err(|error| Failure::environment(format!("cannot use the port of the API: {error}")))?;
    api::serve(listener, api::router(api), options.credentials, options.open_files, cancel).await
}
