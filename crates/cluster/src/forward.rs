//! Forwards connections to ports of pods.
//!
//! Uses SPDY connections that are reused ([`tunnel`]) where the API server accepts them, else one WebSocket for each
//! connection ([`websocket`]), which passes proxies that only support HTTP.
//!
//! What the SPDY connections buy, measured by `examples/port_forward.rs` on a busy test bed: connecting and requesting a
//! small file takes 2 ms instead of 11 ms, and 100 MB take 0.29 to 0.32 s instead of 0.30 to 0.38 s. 200 concurrent requests
//! do not get faster (2.8 s and 2.4 s).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http::StatusCode;
use lilt_model::Failure;
use lilt_model::cluster::PodRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connect::Cluster;
use crate::error::Error;

mod demux;
mod frames;
mod pool;
mod stream;
mod tunnel;
mod websocket;

use pool::{Action, Pool};
use stream::TunnelStream;
use tunnel::{Lease, OpenError, Tunnel};
use websocket::WebSocketStream;

/// Opens ports, usually of one pod at a time, and keeps tunnels for reuse.
pub struct Forwarder {
    cluster: Cluster,
    pool: Arc<Pool>,
    /// Connections that wait for the last bytes of a pod.
    lingering: Arc<AtomicUsize>,
    /// The API server or a proxy rejected a tunnel.
    websockets_only: AtomicBool,
}

impl std::fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarder").field("tunnels", &self.pool.len()).finish()
    }
}

impl Cluster {
    pub fn forwarder(&self) -> Forwarder {
        Forwarder {
            cluster: self.clone(),
            pool: Pool::new(),
            lingering: Arc::default(),
            websockets_only: AtomicBool::new(false),
        }
    }

    /// Returns a forwarder that never uses tunnels, to compare both.
    pub fn websocket_forwarder(&self) -> Forwarder {
        Forwarder { websockets_only: AtomicBool::new(true), ..self.forwarder() }
    }
}

impl Forwarder {
    /// Opens one connection to a port inside a pod.
    pub async fn open(&self, pod: &PodRef, port: u16) -> Result<PortStream, Failure> {
        let errors = PortErrors { pod: pod.clone(), port };
        while !self.websockets_only.load(Ordering::Relaxed) {
            let (lease, is_new) = match self.lease(pod).await {
                Ok(claimed) => claimed,
                Err(refusal) => match self.classify(pod, refusal) {
                    Some(failure) => return Err(failure),
                    None => break,
                },
            };
            if let Some(streams) = lease.open_port(port).await {
                let stream = TunnelStream::new(lease, streams, errors, Arc::clone(&self.lingering));
                return Ok(PortStream(Transport::Tunnel(Box::new(stream))));
            }
            self.pool.forget(lease.tunnel());
            if is_new {
                let answer = format!("the tunnel to the pod {} does not answer", pod.name);
                return Err(Failure::environment(answer));
            }
        }
        let stream = self.cluster.open_websocket(pod, port).await?;
        Ok(PortStream(Transport::WebSocket(Box::new(stream))))
    }

    /// Returns a tunnel, and whether it is new.
    async fn lease(&self, pod: &PodRef) -> Result<(Lease, bool), OpenError> {
        let _waiting = self.pool.begin_waiting();
        loop {
            let changes = self.pool.changes();
            if let Some(lease) = self.pool.lease_spare(pod) {
                return Ok((lease, false));
            }
            match self.pool.next_action(pod) {
                Action::Open => return Ok((self.open_tunnel(pod).await?, true)),
                Action::Share => {
                    if let Some(lease) = self.pool.lease_shared(pod) {
                        return Ok((lease, false));
                    }
                }
                Action::Wait => {}
            }
            changes.next().await;
        }
    }

    async fn open_tunnel(&self, pod: &PodRef) -> Result<Lease, OpenError> {
        let _opening = self.pool.begin_opening();
        let tunnel = Tunnel::open(&self.cluster, pod).await?;
        Ok(self.pool.add(tunnel))
    }

    /// Translates the error; none if a WebSocket may work where a tunnel does not.
    fn classify(&self, pod: &PodRef, refusal: OpenError) -> Option<Failure> {
        match refusal {
            OpenError::Status(StatusCode::NOT_FOUND, _) => Some(pod_gone(pod)),
            // The pod has changed, or its node does not respond: a WebSocket would fail, too.
            OpenError::Status(status, body) if status.is_server_error() => {
                Some(unreachable(pod, status, &body))
            }
            OpenError::Status(status, body) => {
                tracing::debug!(%status, body, "forward: no tunnels here");
                // Permissions may be granted later; what a proxy supports does not change.
                self.websockets_only.store(status != StatusCode::FORBIDDEN, Ordering::Relaxed);
                None
            }
            OpenError::Error(error) => {
                Some(self.cluster.failure(&format!("forwarding to pod {}", pod.name), &error))
            }
        }
    }
}

fn pod_gone(pod: &PodRef) -> Failure {
    Failure::environment(format!("cannot forward: the pod {} is gone", pod.name))
}

fn unreachable(pod: &PodRef, status: StatusCode, body: &str) -> Failure {
    let body: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message = body.as_ref().and_then(|body| body["message"].as_str()).unwrap_or_default();
    let mut answer = format!("the API server answered {}", status.as_u16());
    if !message.is_empty() {
        answer.push_str(&format!(": {message}"));
    }
    Failure::environment(format!("cannot forward to the pod {}", pod.name))
        .detail(answer)
        .hint("is the pod running?")
}

/// The connection to the API server was lost.
fn connection_lost() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the connection to the pod is lost")
}

/// Creates the errors of a port.
struct PortErrors {
    pod: PodRef,
    port: u16,
}

impl PortErrors {
    /// Returns the error with its failure, and whether the port rather than the pod refused the connection.
    fn error(&self, message: &str) -> (io::Error, bool) {
        let (pod, port, answer) = (self.pod.name.clone(), self.port, message.to_owned());
        let is_refusal = message.contains("refused");
        let error = match is_refusal {
            true => Error::PortRefused { pod, port, answer },
            false => Error::ForwardBroken { pod, port, answer },
        };
        (io::Error::new(io::ErrorKind::ConnectionRefused, Failure::from(error)), is_refusal)
    }

    /// The connection was closed for the sake of others.
    fn given_up(&self) -> io::Error {
        let error = Error::ConnectionGivenUp { pod: self.pod.name.clone(), port: self.port };
        io::Error::new(io::ErrorKind::ConnectionAborted, Failure::from(error))
    }
}

/// Bytes to and from a port of a pod. Closes the connection when dropped.
///
/// That nothing listens on a port is only known after the connection is established: reading then returns an error
/// that contains the [`Failure`], see [`PortStream::failure`].
pub struct PortStream(Transport);

enum Transport {
    Tunnel(Box<TunnelStream>),
    WebSocket(Box<WebSocketStream>),
}

impl std::fmt::Debug for PortStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Transport::Tunnel(_) => "PortStream through a tunnel",
            Transport::WebSocket(_) => "PortStream through a WebSocket",
        })
    }
}

impl PortStream {
    /// Returns the failure in an error of reading, if there is one.
    pub fn failure(error: &io::Error) -> Option<&Failure> {
        error.get_ref()?.downcast_ref()
    }
}

impl AsyncRead for PortStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Transport::Tunnel(stream) => Pin::new(stream).poll_read(context, into),
            Transport::WebSocket(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for PortStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Transport::Tunnel(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::WebSocket(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Transport::Tunnel(stream) => Pin::new(stream).poll_flush(context),
            Transport::WebSocket(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Transport::Tunnel(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::WebSocket(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
