//! The body of a request: empty, a whole text, or chunks that are created while they are sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// Chunks waiting to be sent: at most 2 MiB, enough to keep both sides busy.
const CHUNKS_BUFFERED: usize = 32;

pub(crate) enum Payload {
    /// None once it is sent.
    Whole(Option<Bytes>),
    Chunks(mpsc::Receiver<Bytes>),
}

impl Payload {
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }

    pub(crate) fn whole(text: impl Into<Bytes>) -> Self {
        Self::Whole(Some(text.into()).filter(|text| !text.is_empty()))
    }

    /// Ends when the sender is dropped.
    pub(crate) fn chunks() -> (mpsc::Sender<Bytes>, Self) {
        let (sender, chunks) = mpsc::channel(CHUNKS_BUFFERED);
        (sender, Self::Chunks(chunks))
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
            Self::Chunks(chunks) => chunks.poll_recv(context).map(|chunk| Some(Ok(Frame::data(chunk?)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Chunks(_) => SizeHint::default(),
        }
    }
}
