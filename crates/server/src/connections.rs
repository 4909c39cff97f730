//! Accepting connections, all of them owned: none outlives [`accept`].

use std::collections::VecDeque;
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

/// After a failed accept (out of file descriptors, mostly), so that the loop does not spin.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// How many connections may be open without a request that passed the token check. The oldest makes room for a new one:
/// clients with a token pass the check at once, so others cannot keep them out.
const MOST_UNAUTHENTICATED: usize = 256;

/// How long a client may take for its request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a client may take for the rest of an answer when the session has ended. Whoever reads at all gets it at once.
const LAST_WORDS: Duration = Duration::from_millis(500);

pub(crate) async fn accept(listener: Listener, router: Router, cancel: CancellationToken) {
    let ending = cancel.clone();
    accept_with(listener, cancel, |stream, admission| {
        serve_connection(stream, router.clone(), ending.clone(), admission)
    })
    .await;
}

/// The same with TLS. Whoever does not speak it is not answered.
pub(crate) async fn accept_tls(
    listener: Listener,
    acceptor: TlsAcceptor,
    router: Router,
    cancel: CancellationToken,
) {
    let ending = cancel.clone();
    accept_with(listener, cancel, |stream, admission| {
        let (acceptor, router, ending) = (acceptor.clone(), router.clone(), ending.clone());
        async move {
            match tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => serve_connection(stream, router, ending, admission).await,
                Ok(Err(error)) => tracing::debug!(%error, "a client did not speak TLS with us"),
                Err(_) => tracing::debug!("a client took too long to speak TLS"),
            }
        }
    })
    .await;
}

/// Whether a connection has had a request that passed the token check. Every request carries it.
#[derive(Clone, Debug, Default)]
struct Admission(Arc<AdmissionState>);

#[derive(Debug, Default)]
struct AdmissionState {
    is_admitted: AtomicBool,
    /// Closes the connection.
    close: CancellationToken,
}

/// Notes that a request passed the token check. Belongs directly behind that check.
pub(crate) async fn admit(request: Request, next: Next) -> Response {
    if let Some(admission) = request.extensions().get::<Admission>() {
        admission.0.is_admitted.store(true, Ordering::Relaxed);
    }
    next.run(request).await
}

/// The connections that are open without such a request, oldest first.
#[derive(Debug, Default)]
struct Unauthenticated(VecDeque<Weak<AdmissionState>>);

impl Unauthenticated {
    fn add(&mut self) -> Admission {
        if self.0.len() >= MOST_UNAUTHENTICATED {
            let is_open = |state: &Weak<AdmissionState>| {
                state.upgrade().is_some_and(|state| !state.is_admitted.load(Ordering::Relaxed))
            };
            self.0.retain(is_open);
        }
        while self.0.len() >= MOST_UNAUTHENTICATED {
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
    cancel: CancellationToken,
    serve: impl Fn(TcpStream, Admission) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut unauthenticated = Unauthenticated::default();
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    // Small messages must not wait for more to come.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "cannot set TCP_NODELAY");
                    }
                    let admission = unauthenticated.add();
                    let closed = admission.0.close.clone();
                    connections.spawn(closed.run_until_cancelled_owned(serve(stream, admission)));
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
    admission: Admission,
) {
    let router = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
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
