//! An open port of a tunnel as bytes to read and write.
//!
//! Container runtimes end both directions a second after one has ended. So a client that has said all it wants to say is
//! not told of: it is answered for a while, and then the connection closes.

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

use super::frames;
use super::hearing::Piece;
use super::tunnel::{Claim, Streams, Tunnel};
use super::{Refused, lost};

/// How long a complaint may come after the end of what a port says.
const LATE: Duration = Duration::from_secs(1);
/// How long the pod may be silent after our side has finished writing,
const LINGER: Duration = Duration::from_secs(10);
/// and how long if so many connections wait for a last word already: most clients are simply gone.
const LINGERING: usize = 32;
const BRIEF_LINGER: Duration = Duration::from_secs(1);

pub(super) struct TunnelStream {
    id: u32,
    pieces: mpsc::UnboundedReceiver<Piece>,
    complaint: Option<oneshot::Receiver<String>>,
    frames: PollSender<Bytes>,
    /// Lives as long as its streams do, also when it is kept for nobody else.
    tunnel: Tunnel,
    /// Credentials back when our side has said all: what is left needs nobody's patience.
    claim: Option<Claim>,
    current: Bytes,
    /// Since the pod has said all.
    ended: Option<Pin<Box<Sleep>>>,
    /// Since our side has.
    linger: Option<Linger>,
    lingering: Arc<AtomicUsize>,
    refused: Refused,
}

/// A wait for the pod's last words.
struct Linger {
    patience: Duration,
    over: Pin<Box<Sleep>>,
    others: Arc<AtomicUsize>,
}

impl Linger {
    fn begin(others: &Arc<AtomicUsize>) -> Self {
        let crowded = others.fetch_add(1, Ordering::Relaxed) >= LINGERING;
        let patience = if crowded { BRIEF_LINGER } else { LINGER };
        Self { patience, over: Box::pin(tokio::time::sleep(patience)), others: Arc::clone(others) }
    }

    fn heard(&mut self) {
        self.over.as_mut().reset(Instant::now() + self.patience);
    }
}

impl Drop for Linger {
    fn drop(&mut self) {
        self.others.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TunnelStream {
    pub(super) fn new(claim: Claim, streams: Streams, refused: Refused, lingering: Arc<AtomicUsize>) -> Self {
        Self {
            id: streams.id,
            pieces: streams.pieces,
            complaint: Some(streams.complaint),
            frames: PollSender::new(streams.frames),
            tunnel: claim.tunnel().clone(),
            claim: Some(claim),
            current: Bytes::new(),
            ended: None,
            linger: None,
            lingering,
            refused,
        }
    }

    /// What the pod's side says went wrong; ready when it has nothing to say.
    fn poll_complaint(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(complaint) = &mut self.complaint else { return Poll::Ready(Ok(())) };
        let said = ready!(Pin::new(complaint).poll(context));
        self.complaint = None;
        match said {
            Ok(text) if !text.is_empty() => {
                let (error, is_refusal) = self.refused.error(&text);
                // A pod whose network is gone complains about every port: not once more through here.
                if !is_refusal {
                    self.tunnel.close();
                }
                Poll::Ready(Err(error))
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Nothing has come: a complaint may, and patience may end. All are asked, so that each wakes us.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(Err(error)) = self.poll_complaint(context) {
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
        while this.current.is_empty() && this.ended.is_none() {
            match this.pieces.poll_recv(context) {
                Poll::Ready(Some(Piece::Bytes(bytes, _room))) => this.current = bytes,
                Poll::Ready(Some(Piece::End)) => this.ended = Some(Box::pin(tokio::time::sleep(LATE))),
                Poll::Ready(Some(Piece::Unread)) => return Poll::Ready(Err(this.refused.unread())),
                Poll::Ready(None) => return Poll::Ready(Err(lost())),
                Poll::Pending => return this.poll_silence(context),
            }
            if let Some(linger) = &mut this.linger {
                linger.heard();
            }
        }
        if !this.current.is_empty() {
            let length = this.current.len().min(into.remaining());
            into.put_slice(&this.current[..length]);
            this.current.advance(length);
            return Poll::Ready(Ok(()));
        }
        match (this.poll_complaint(context), &mut this.ended) {
            (Poll::Ready(result), _) => Poll::Ready(result),
            (Poll::Pending, Some(late)) => late.as_mut().poll(context).map(Ok),
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
        let part = &bytes[..bytes.len().min(frames::LONGEST_DATA)];
        ready!(self.frames.poll_reserve(context)).map_err(|_| lost())?;
        let frame = frames::data(self.id, part);
        self.frames.send_item(frame).map_err(|_| lost())?;
        Poll::Ready(Ok(part.len()))
    }

    /// Frames are on their way by themselves.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Only remembers it. The tunnel is free for the next client.
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            self.linger = Some(Linger::begin(&self.lingering));
            self.claim = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        // One that goes on is to stop at once.
        let last = if self.ended.is_some() { frames::end(self.id) } else { frames::reset(self.id) };
        self.frames.abort_send();
        self.tunnel.send_last(last);
    }
}
