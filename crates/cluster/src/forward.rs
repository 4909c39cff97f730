//! A connection to a port of a pod.
//!
//! One WebSocket per connection: that is how kube speaks. The protocol cannot close one direction alone, so a client
//! that has said all it wants to say is answered for a while before the connection closes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use lilt_model::Failure;
use lilt_model::cluster::PodRef;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::connect::Cluster;

/// How long the pod may be silent after our side has finished writing.
const LINGER: Duration = Duration::from_secs(10);

/// Bytes to and from one port of a pod. Closes the connection when dropped.
///
/// A port that nobody listens on is only known after the connection is made: reading then gives an error that
/// carries the [`Failure`], see [`PortStream::failure`].
pub struct PortStream {
    stream: DuplexStream,
    forwarder: Portforwarder,
    refusal: Option<BoxFuture<'static, Option<String>>>,
    pod: PodRef,
    port: u16,
    /// Set once our side has finished writing.
    linger: Option<Pin<Box<Sleep>>>,
}

impl std::fmt::Debug for PortStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortStream").field("pod", &self.pod).field("port", &self.port).finish()
    }
}

impl Drop for PortStream {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

impl Cluster {
    /// Opens one connection to a port inside a pod.
    pub async fn open_port(&self, pod: &PodRef, port: u16) -> Result<PortStream, Failure> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let mut forwarder = match pods.portforward(&pod.name, &[port]).await {
            Ok(forwarder) => forwarder,
            Err(error) => return Err(self.forward_failure(pod, &error)),
        };
        let stream =
            forwarder.take_stream(port).expect("invariant: a forwarder has the port it was made for");
        let refusal = forwarder.take_error(port).map(FutureExt::boxed);
        Ok(PortStream { stream, forwarder, refusal, pod: pod.clone(), port, linger: None })
    }

    fn forward_failure(&self, pod: &PodRef, error: &kube::Error) -> Failure {
        match crate::error::code(error) {
            Some(404) => Failure::environment(format!("cannot forward: the pod {} is gone", pod.name)),
            Some(403) => self.forbidden(&format!("to forward ports of pod {}", pod.name), error),
            Some(code) => Failure::environment(format!("cannot forward to the pod {}", pod.name))
                .detail(format!("the API server answered {code}"))
                .hint("is the pod running?"),
            None => self.failure(&format!("forwarding to pod {}", pod.name), error),
        }
    }
}

impl PortStream {
    /// The failure inside an error that reading gave, if it has one.
    pub fn failure(error: &io::Error) -> Option<&Failure> {
        error.get_ref()?.downcast_ref()
    }

    fn refused(&self, message: &str) -> io::Error {
        let PodRef { name, .. } = &self.pod;
        let failure = if message.contains("refused") {
            Failure::environment(format!("nobody listens on port {} in the pod {name}", self.port))
                .detail(message.to_owned())
                .hint("is the server still starting, or does it listen on another port or on another address than localhost?")
        } else {
            Failure::environment(format!("the forward to port {} of the pod {name} broke", self.port))
                .detail(message.to_owned())
        };
        io::Error::new(io::ErrorKind::ConnectionRefused, failure)
    }

    /// What the pod's side says went wrong. Its end without a word is no error.
    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Option<io::Error> {
        let refusal = self.refusal.as_mut()?;
        match refusal.as_mut().poll(context) {
            Poll::Ready(message) => {
                self.refusal = None;
                message.map(|message| self.refused(&message))
            }
            Poll::Pending => None,
        }
    }
}

impl AsyncRead for PortStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = into.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        let got_bytes = into.filled().len() > before;
        if let Poll::Ready(Ok(())) = read
            && got_bytes
        {
            if let Some(linger) = &mut this.linger {
                linger.as_mut().reset(Instant::now() + LINGER);
            }
            return read;
        }
        if let Some(error) = this.poll_refusal(context) {
            return Poll::Ready(Err(error));
        }
        if read.is_pending()
            && let Some(linger) = &mut this.linger
        {
            ready!(linger.as_mut().poll(context));
            return Poll::Ready(Ok(()));
        }
        read
    }
}

impl AsyncWrite for PortStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Only remembers it: passing it on would close both directions, and the answer would be lost.
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            self.linger = Some(Box::pin(tokio::time::sleep(LINGER)));
        }
        Poll::Ready(Ok(()))
    }
}
