//! What a request carries: nothing, a text, or pieces that are made while they are sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// Pieces that wait to be sent: at most 2 MiB, enough to keep their maker and the connection busy.
const PIECES: usize = 32;

pub(crate) enum Payload {
    /// None when it is sent.
    Whole(Option<Bytes>),
    Pieces(mpsc::Receiver<Bytes>),
}

impl Payload {
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }

    pub(crate) fn whole(text: impl Into<Bytes>) -> Self {
        Self::Whole(Some(text.into()).filter(|text| !text.is_empty()))
    }

    /// Ends when the sender is dropped.
    pub(crate) fn pieces() -> (mpsc::Sender<Bytes>, Self) {
        let (sender, pieces) = mpsc::channel(PIECES);
        (sender, Self::Pieces(pieces))
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Pieces(pieces) => pieces.poll_recv(context).map(|piece| Some(Ok(Frame::data(piece?)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}
