//! Accepting connections, all of them owned: none outlives [`accept`].

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::Listener;

/// After a failed accept (out of file descriptors, mostly), so that the loop does not spin.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// How long a client may take for its request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a client may take for the rest of an answer when the session has ended. Whoever reads at all gets it at once.
const LAST_WORDS: Duration = Duration::from_millis(500);

pub(crate) async fn accept(listener: Listener, router: Router, cancel: CancellationToken) {
    let ending = cancel.clone();
    accept_with(listener, cancel, |stream| serve_connection(stream, router.clone(), ending.clone())).await;
}

/// The same with TLS. Whoever does not speak it is not answered.
pub(crate) async fn accept_tls(
    listener: Listener,
    acceptor: TlsAcceptor,
    router: Router,
    cancel: CancellationToken,
) {
    let ending = cancel.clone();
    accept_with(listener, cancel, |stream| {
        let (acceptor, router, ending) = (acceptor.clone(), router.clone(), ending.clone());
        async move {
            match tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => serve_connection(stream, router, ending).await,
                Ok(Err(error)) => tracing::debug!(%error, "a client did not speak TLS with us"),
                Err(_) => tracing::debug!("a client took too long to speak TLS"),
            }
        }
    })
    .await;
}

async fn accept_with<F>(listener: Listener, cancel: CancellationToken, serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    // Small messages must not wait for more to come.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "cannot set TCP_NODELAY");
                    }
                    connections.spawn(serve(stream));
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
    if tokio::time::timeout(LAST_WORDS, ended).await.is_err() {
        connections.shutdown().await;
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    ending: CancellationToken,
) {
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
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
