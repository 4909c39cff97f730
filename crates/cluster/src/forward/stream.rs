//! An open port of a tunnel as a byte stream.
//!
//! Container runtimes close both directions a second after one was closed. So the end of the client's data is not
//! passed on: the pod's response is read for a while, then the connection is closed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::PollSender;

use super::demux::PortEvent;
use super::frames;
use super::tunnel::{Lease, Streams, Tunnel};
use super::{PortErrors, connection_lost};

/// How long to wait for an error after the pod has closed its side.
const ERROR_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the pod may be silent after our side has finished writing,
const LINGER: Duration = Duration::from_secs(10);
/// and how long if many connections linger already: most of their clients are gone.
const MAX_LINGERING: usize = 32;
const BRIEF_LINGER: Duration = Duration::from_secs(1);

pub(super) struct TunnelStream {
    id: u32,
    events: mpsc::UnboundedReceiver<PortEvent>,
    error_text: Option<oneshot::Receiver<String>>,
    frames: PollSender<Bytes>,
    /// Keeps the tunnel open until its streams are closed.
    tunnel: Tunnel,
    /// Released when our side has finished writing: the rest of the response cannot hold up others.
    lease: Option<Lease>,
    buffered: Bytes,
    /// Set once the pod has closed its side.
    ended: Option<Pin<Box<Sleep>>>,
    /// Set once our side has finished writing.
    linger: Option<Linger>,
    lingering: Arc<AtomicUsize>,
    errors: PortErrors,
}

/// Waits for the last bytes of the pod.
struct Linger {
    timeout: Duration,
    over: Pin<Box<Sleep>>,
    others: Arc<AtomicUsize>,
}

impl Linger {
    fn begin(others: &Arc<AtomicUsize>) -> Self {
        let crowded = others.fetch_add(1, Ordering::Relaxed) >= MAX_LINGERING;
        let timeout = if crowded { BRIEF_LINGER } else { LINGER };
        Self { timeout, over: Box::pin(tokio::time::sleep(timeout)), others: Arc::clone(others) }
    }

    fn reset(&mut self) {
        self.over.as_mut().reset(Instant::now() + self.timeout);
    }
}

impl Drop for Linger {
    fn drop(&mut self) {
        self.others.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TunnelStream {
    pub(super) fn new(
        lease: Lease,
        streams: Streams,
        errors: PortErrors,
        lingering: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            id: streams.id,
            events: streams.events,
            error_text: Some(streams.error_text),
            frames: PollSender::new(streams.frames),
            tunnel: lease.tunnel().clone(),
            lease: Some(lease),
            buffered: Bytes::new(),
            ended: None,
            linger: None,
            lingering,
            errors,
        }
    }

    /// Returns the pod's error; ready without one if there is none.
    fn poll_error_text(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(error_text) = &mut self.error_text else { return Poll::Ready(Ok(())) };
        let said = ready!(Pin::new(error_text).poll(context));
        self.error_text = None;
        match said {
            Ok(text) if !text.is_empty() => {
                let (error, is_refusal) = self.errors.error(&text);
                // A pod without a network reports an error for every port: do not use this tunnel again.
                if !is_refusal {
                    self.tunnel.close();
                }
                Poll::Ready(Err(error))
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Polls what may happen without data: an error, or the end of lingering. Both are polled, so that each wakes the
    /// task.
    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(Err(error)) = self.poll_error_text(context) {
            return Poll::Ready(Err(error));
        }
        match &mut self.linger {
            Some(linger) => linger.over.as_mut().poll(context).map(Ok),
            None => Poll::Pending,
        }
    }
}

impl AsyncRead for TunnelStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.buffered.is_empty() && this.ended.is_none() {
            match this.events.poll_recv(context) {
                Poll::Ready(Some(PortEvent::Bytes(bytes, _permits))) => this.buffered = bytes,
                Poll::Ready(Some(PortEvent::End)) => {
                    this.ended = Some(Box::pin(tokio::time::sleep(ERROR_TIMEOUT)));
                }
                Poll::Ready(Some(PortEvent::GivenUp)) => return Poll::Ready(Err(this.errors.given_up())),
                Poll::Ready(None) => return Poll::Ready(Err(connection_lost())),
                Poll::Pending => return this.poll_idle(context),
            }
            if let Some(linger) = &mut this.linger {
                linger.reset();
            }
        }
        if !this.buffered.is_empty() {
            let length = this.buffered.len().min(into.remaining());
            into.put_slice(&this.buffered[..length]);
            this.buffered.advance(length);
            return Poll::Ready(Ok(()));
        }
        match (this.poll_error_text(context), &mut this.ended) {
            (Poll::Ready(result), _) => Poll::Ready(result),
            (Poll::Pending, Some(timeout)) => timeout.as_mut().poll(context).map(Ok),
            (Poll::Pending, None) => Poll::Pending,
        }
    }
}

impl AsyncWrite for TunnelStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let part = &bytes[..bytes.len().min(frames::MAX_DATA)];
        ready!(self.frames.poll_reserve(context)).map_err(|_| connection_lost())?;
        let frame = frames::data(self.id, part);
        self.frames.send_item(frame).map_err(|_| connection_lost())?;
        Poll::Ready(Ok(part.len()))
    }

    /// Frames are sent without flushing.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Only recorded. The tunnel is free for the next client.
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            self.linger = Some(Linger::begin(&self.lingering));
            self.lease = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        // A stream that has not ended is reset.
        let last = if self.ended.is_some() { frames::end(self.id) } else { frames::reset(self.id) };
        self.frames.abort_send();
        self.tunnel.send_closing(last);
    }
}
