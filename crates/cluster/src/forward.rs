//! Connections to ports of pods.
//!
//! Through tunnels where the API server takes them ([`tunnel`]), else one WebSocket per connection ([`socket`]): that is
//! slower, but goes through proxies that know nothing but HTTP.

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

mod frames;
mod hearing;
mod pool;
mod socket;
mod stream;
mod tunnel;

use pool::{Advice, Pool};
use socket::SocketStream;
use stream::TunnelStream;
use tunnel::{Claim, Refusal, Tunnel};

/// Opens ports of pods, one pod at a time as a rule, and keeps what is dear to make.
pub struct Forwarder {
    cluster: Cluster,
    pool: Arc<Pool>,
    /// Connections that wait for the last words of a pod.
    lingering: Arc<AtomicUsize>,
    /// Somebody on the way to the API server refused a tunnel.
    sockets_only: AtomicBool,
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
            sockets_only: AtomicBool::new(false),
        }
    }
}

impl Forwarder {
    /// Opens one connection to a port inside a pod.
    pub async fn open(&self, pod: &PodRef, port: u16) -> Result<PortStream, Failure> {
        let refused = Refused { pod: pod.clone(), port };
        while !self.sockets_only.load(Ordering::Relaxed) {
            let (claim, is_new) = match self.claim(pod).await {
                Ok(claimed) => claimed,
                Err(refusal) => match self.judge(pod, refusal) {
                    Some(failure) => return Err(failure),
                    None => break,
                },
            };
            if let Some(streams) = claim.open_port(port).await {
                let stream = TunnelStream::new(claim, streams, refused, Arc::clone(&self.lingering));
                return Ok(PortStream(Way::Tunnel(Box::new(stream))));
            }
            self.pool.forget(claim.tunnel());
            if is_new {
                let words = format!("the tunnel to the pod {} does not answer", pod.name);
                return Err(Failure::environment(words));
            }
        }
        let stream = self.cluster.open_socket(pod, port).await?;
        Ok(PortStream(Way::Socket(Box::new(stream))))
    }

    /// A tunnel, and whether it is new.
    async fn claim(&self, pod: &PodRef) -> Result<(Claim, bool), Refusal> {
        let _waiting = self.pool.begin_waiting();
        loop {
            let changes = self.pool.changes();
            if let Some(claim) = self.pool.spare(pod) {
                return Ok((claim, false));
            }
            match self.pool.advice(pod) {
                Advice::Make => return Ok((self.make(pod).await?, true)),
                Advice::Share => {
                    if let Some(claim) = self.pool.shared(pod) {
                        return Ok((claim, false));
                    }
                }
                Advice::Wait => {}
            }
            changes.next().await;
        }
    }

    async fn make(&self, pod: &PodRef) -> Result<Claim, Refusal> {
        let _making = self.pool.begin_making();
        let tunnel = Tunnel::open(&self.cluster, pod).await?;
        Ok(self.pool.add(tunnel))
    }

    /// None: a WebSocket may go through where a tunnel does not.
    fn judge(&self, pod: &PodRef, refusal: Refusal) -> Option<Failure> {
        match refusal {
            Refusal::Status(StatusCode::NOT_FOUND, _) => Some(gone(pod)),
            // The pod is not what it was, or its node does not answer: a WebSocket would end there as well.
            Refusal::Status(status, said) if status.is_server_error() => {
                Some(unreachable(pod, status, &said))
            }
            Refusal::Status(status, said) => {
                tracing::debug!(%status, said, "forward: no tunnels here");
                // Rights may be given later; what a proxy takes does not change.
                self.sockets_only.store(status != StatusCode::FORBIDDEN, Ordering::Relaxed);
                None
            }
            Refusal::Error(error) => {
                Some(self.cluster.failure(&format!("forwarding to pod {}", pod.name), &error))
            }
        }
    }
}

fn gone(pod: &PodRef) -> Failure {
    Failure::environment(format!("cannot forward: the pod {} is gone", pod.name))
}

fn unreachable(pod: &PodRef, status: StatusCode, said: &str) -> Failure {
    let said: Option<serde_json::Value> = serde_json::from_str(said).ok();
    let message = said.as_ref().and_then(|said| said["message"].as_str()).unwrap_or_default();
    let mut words = format!("the API server answered {}", status.as_u16());
    if !message.is_empty() {
        words.push_str(&format!(": {message}"));
    }
    Failure::environment(format!("cannot forward to the pod {}", pod.name))
        .detail(words)
        .hint("is the pod running?")
}

/// The connection through the API server broke.
fn lost() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the connection to the pod is lost")
}

/// Which port of which pod, for what is said about it.
struct Refused {
    pod: PodRef,
    port: u16,
}

impl Refused {
    /// The error that carries the failure, and whether it is the port that refuses, not the pod.
    fn error(&self, message: &str) -> (io::Error, bool) {
        let (pod, port, answer) = (self.pod.name.clone(), self.port, message.to_owned());
        let is_refusal = message.contains("refused");
        let error = match is_refusal {
            true => Error::PortRefused { pod, port, answer },
            false => Error::ForwardBroken { pod, port, answer },
        };
        (io::Error::new(io::ErrorKind::ConnectionRefused, Failure::from(error)), is_refusal)
    }

    /// It was given up for the sake of others.
    fn unread(&self) -> io::Error {
        let error = Error::ConnectionGivenUp { pod: self.pod.name.clone(), port: self.port };
        io::Error::new(io::ErrorKind::ConnectionAborted, Failure::from(error))
    }
}

/// Bytes to and from one port of a pod. Closes the connection when dropped.
///
/// A port that nobody listens on is only known after the connection is made: reading then gives an error that
/// carries the [`Failure`], see [`PortStream::failure`].
pub struct PortStream(Way);

enum Way {
    Tunnel(Box<TunnelStream>),
    Socket(Box<SocketStream>),
}

impl std::fmt::Debug for PortStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Way::Tunnel(_) => "PortStream through a tunnel",
            Way::Socket(_) => "PortStream through a WebSocket",
        })
    }
}

impl PortStream {
    /// The failure inside an error that reading gave, if it has one.
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
            Way::Tunnel(stream) => Pin::new(stream).poll_read(context, into),
            Way::Socket(stream) => Pin::new(stream).poll_read(context, into),
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
            Way::Tunnel(stream) => Pin::new(stream).poll_write(context, bytes),
            Way::Socket(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Way::Tunnel(stream) => Pin::new(stream).poll_flush(context),
            Way::Socket(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Way::Tunnel(stream) => Pin::new(stream).poll_shutdown(context),
            Way::Socket(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
