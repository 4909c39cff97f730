//! Accepts and serves connections. None outlives [`accept`].

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::Listener;

/// The pause after a failed accept (mostly for lack of file descriptors), so that the loop does not spin.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// How many connections may be open without a request that passed the token check. Beyond it, the oldest is closed:
/// clients with a token pass the check at once, so others cannot lock them out.
const MAX_UNAUTHENTICATED: usize = 256;

/// With a low limit of open files, the divisor of their share for these connections: there are two such ports, and
/// builds, forwards and logs need files, too.
const SHARE_OF_OPEN_FILES: u64 = 8;

/// With fewer, a single browser would close its own connections.
const MIN_UNAUTHENTICATED: usize = 16;

/// Returns how many files this process may have open; none if there is no limit.
pub type OpenFileLimit = fn() -> Option<u64>;

fn max_unauthenticated(open_files: Option<u64>) -> usize {
    let share = open_files.map(|limit| usize::try_from(limit / SHARE_OF_OPEN_FILES).unwrap_or(usize::MAX));
    share.map_or(MAX_UNAUTHENTICATED, |share| share.clamp(MIN_UNAUTHENTICATED, MAX_UNAUTHENTICATED))
}

/// The timeout for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// The timeout for the rest of a response when the session has ended. A client that reads gets it at once.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

pub(crate) async fn accept(
    listener: Listener,
    router: Router,
    open_files: Option<OpenFileLimit>,
    cancel: CancellationToken,
) {
    let ending = cancel.clone();
    accept_with(listener, open_files, cancel, |stream, client| {
        serve_connection(stream, router.clone(), ending.clone(), client)
    })
    .await;
}

/// Accepts connections with TLS, and closes others.
pub(crate) async fn accept_tls(
    listener: Listener,
    acceptor: TlsAcceptor,
    router: Router,
    open_files: Option<OpenFileLimit>,
    cancel: CancellationToken,
) {
    let ending = cancel.clone();
    accept_with(listener, open_files, cancel, |stream, client| {
        let (acceptor, router, ending) = (acceptor.clone(), router.clone(), ending.clone());
        async move {
            match tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => serve_connection(stream, router, ending, client).await,
                Ok(Err(error)) => tracing::debug!(%error, "a client did not speak TLS with us"),
                Err(_) => tracing::debug!("a client took too long to speak TLS"),
            }
        }
    })
    .await;
}

/// The address of the client. An extension of every request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(SocketAddr);

impl Peer {
    /// Returns whether the client, or the tunnel or proxy in front of it, runs on this machine.
    pub(crate) fn is_local(self) -> bool {
        self.0.ip().to_canonical().is_loopback()
    }
}

/// Whether a connection has had a request that passed the token check. An extension of every request.
#[derive(Clone, Debug, Default)]
struct Admission(Arc<AdmissionState>);

#[derive(Debug, Default)]
struct AdmissionState {
    is_admitted: AtomicBool,
    /// Closes the connection.
    close: CancellationToken,
}

/// Records that a request passed the token check. Must directly follow that check.
pub(crate) async fn admit(request: Request, next: Next) -> Response {
    if let Some(admission) = request.extensions().get::<Admission>() {
        admission.0.is_admitted.store(true, Ordering::Relaxed);
    }
    next.run(request).await
}

/// The open connections without such a request, oldest first.
#[derive(Debug, Default)]
struct Unauthenticated(VecDeque<Weak<AdmissionState>>);

impl Unauthenticated {
    fn add(&mut self, most: usize) -> Admission {
        if self.0.len() >= most {
            let is_open = |state: &Weak<AdmissionState>| {
                state.upgrade().is_some_and(|state| !state.is_admitted.load(Ordering::Relaxed))
            };
            self.0.retain(is_open);
        }
        while self.0.len() >= most {
            if let Some(oldest) = self.0.pop_front().and_then(|state| state.upgrade()) {
                oldest.close.cancel();
            }
        }
        let admission = Admission::default();
        self.0.push_back(Arc::downgrade(&admission.0));
        admission
    }
}

async fn accept_with<F>(
    listener: Listener,
    open_files: Option<OpenFileLimit>,
    cancel: CancellationToken,
    serve: impl Fn(TcpStream, (Peer, Admission)) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut unauthenticated = Unauthenticated::default();
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    // Small messages must not be delayed.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "cannot set TCP_NODELAY");
                    }
                    // A session raises the limit while it starts, so it is read each time.
                    let most = max_unauthenticated(open_files.and_then(|limit| limit()));
                    let admission = unauthenticated.add(most);
                    let closed = admission.0.close.clone();
                    let served = serve(stream, (Peer(peer), admission));
                    connections.spawn(closed.run_until_cancelled_owned(served));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN_TIMEOUT, ended).await.is_err() {
        connections.shutdown().await;
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    ending: CancellationToken,
    (peer, admission): (Peer, Admission),
) {
    let router = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(admission.clone());
        router.call(request)
    });
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unauthenticated_connections_get_a_share_of_the_open_files() {
        for (limit, most) in
            [(None, 256), (Some(1 << 20), 256), (Some(1024), 128), (Some(256), 32), (Some(64), 16)]
        {
            assert_eq!(max_unauthenticated(limit), most, "{limit:?}");
        }
    }

    #[test]
    fn oldest_connection_is_closed_beyond_a_small_cap() {
        let mut unauthenticated = Unauthenticated::default();
        let added: Vec<Admission> = (0..20).map(|_| unauthenticated.add(16)).collect();
        let closed = added.iter().filter(|admission| admission.0.close.is_cancelled()).count();
        assert_eq!((closed, added[3].0.close.is_cancelled()), (4, true));
    }

    #[test]
    fn mapped_loopback_address_is_local() {
        for (address, is_local) in
            [("127.0.0.9:1", true), ("[::1]:1", true), ("[::ffff:127.0.0.1]:1", true), ("10.0.0.1:1", false)]
        {
            assert_eq!(Peer(address.parse().unwrap()).is_local(), is_local, "{address}");
        }
    }
}
