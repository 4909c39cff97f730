//! An open port of a tunnel as bytes to read and write.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Sleep;
use tokio_util::sync::PollSender;

use super::frames;
use super::tunnel::{Claim, Piece, Streams};
use super::{Refused, lost};

/// How long a complaint may come after the end of what a port says.
const LATE: Duration = Duration::from_secs(1);

pub(super) struct TunnelStream {
    id: u32,
    pieces: mpsc::Receiver<Piece>,
    complaint: Option<oneshot::Receiver<String>>,
    frames: PollSender<Bytes>,
    /// Given back when our side has said all: what is left needs nobody's patience.
    claim: Option<Claim>,
    current: Bytes,
    ended: Option<Pin<Box<Sleep>>>,
    finished: bool,
    refused: Refused,
}

impl TunnelStream {
    pub(super) fn new(claim: Claim, streams: Streams, refused: Refused) -> Self {
        Self {
            id: streams.id,
            pieces: streams.pieces,
            complaint: Some(streams.complaint),
            frames: PollSender::new(streams.frames),
            claim: Some(claim),
            current: Bytes::new(),
            ended: None,
            finished: false,
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
                if !is_refusal && let Some(claim) = &self.claim {
                    claim.tunnel().close();
                }
                Poll::Ready(Err(error))
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
        frame: impl FnOnce(u32) -> Bytes,
    ) -> Poll<io::Result<()>> {
        ready!(self.frames.poll_reserve(context)).map_err(|_| lost())?;
        self.frames.send_item(frame(self.id)).map_err(|_| lost())?;
        Poll::Ready(Ok(()))
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
                Poll::Ready(Some(Piece::Bytes(bytes))) => this.current = bytes,
                Poll::Ready(Some(Piece::End)) => this.ended = Some(Box::pin(tokio::time::sleep(LATE))),
                Poll::Ready(None) => return Poll::Ready(Err(lost())),
                Poll::Pending => {
                    // Both are asked, so that either wakes us.
                    return match this.poll_complaint(context) {
                        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                        _ => Poll::Pending,
                    };
                }
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
        ready!(self.poll_frame(context, |id| frames::data(id, part)))?;
        Poll::Ready(Ok(part.len()))
    }

    /// Frames are on their way by themselves.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Closes our direction; the pod may go on to answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.finished {
            ready!(self.poll_frame(context, frames::end))?;
            self.finished = true;
            self.claim = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        if self.ended.is_some() && self.finished {
            return;
        }
        // The pod is to stop at once. If even that does not go out, nothing else would.
        self.frames.abort_send();
        let told =
            self.frames.get_ref().is_some_and(|frames| frames.try_send(frames::reset(self.id)).is_ok());
        if !told && let Some(claim) = &self.claim {
            claim.tunnel().close();
        }
    }
}
