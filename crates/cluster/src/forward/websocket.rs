//! A connection to a port of a pod over its own WebSocket.
//!
//! The protocol cannot close one direction alone. So the end of the client's data is not passed on: the pod's
//! response is read for a while, then the connection is closed.

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

use super::{PortErrors, pod_gone};
use crate::connect::Cluster;

/// How long the pod may be silent after our side has finished writing.
const LINGER: Duration = Duration::from_secs(10);

pub(super) struct WebSocketStream {
    stream: DuplexStream,
    forwarder: Portforwarder,
    error: Option<BoxFuture<'static, Option<String>>>,
    errors: PortErrors,
    /// Set once our side has finished writing.
    linger: Option<Pin<Box<Sleep>>>,
}

impl Drop for WebSocketStream {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

impl Cluster {
    /// Opens one connection to a port inside a pod.
    pub(super) async fn open_websocket(&self, pod: &PodRef, port: u16) -> Result<WebSocketStream, Failure> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let mut forwarder = match pods.portforward(&pod.name, &[port]).await {
            Ok(forwarder) => forwarder,
            Err(error) => return Err(self.forward_failure(pod, &error)),
        };
        let stream =
            forwarder.take_stream(port).expect("invariant: a forwarder has the port it was made for");
        let error = forwarder.take_error(port).map(FutureExt::boxed);
        Ok(WebSocketStream {
            stream,
            forwarder,
            error,
            errors: PortErrors { pod: pod.clone(), port },
            linger: None,
        })
    }

    fn forward_failure(&self, pod: &PodRef, error: &kube::Error) -> Failure {
        match crate::error::code(error) {
            Some(404) => pod_gone(pod),
            Some(403) => self.forbidden(&format!("to forward ports of pod {}", pod.name), error),
            Some(code) => Failure::environment(format!("cannot forward to the pod {}", pod.name))
                .detail(format!("the API server answered {code}"))
                .hint("is the pod running?"),
            None => self.failure(&format!("forwarding to pod {}", pod.name), error),
        }
    }
}

impl WebSocketStream {
    /// Returns the pod's error. The end of the error stream without one is no error.
    fn poll_error(&mut self, context: &mut Context<'_>) -> Option<io::Error> {
        let error = self.error.as_mut()?;
        match error.as_mut().poll(context) {
            Poll::Ready(message) => {
                self.error = None;
                message.map(|message| self.errors.error(&message).0)
            }
            Poll::Pending => None,
        }
    }
}

impl AsyncRead for WebSocketStream {
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
        if let Some(error) = this.poll_error(context) {
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

impl AsyncWrite for WebSocketStream {
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

    /// Only recorded: passing it on would close both directions, and the response would be lost.
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            self.linger = Some(Box::pin(tokio::time::sleep(LINGER)));
        }
        Poll::Ready(Ok(()))
    }
}
