//! What comes through a tunnel, and who waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::frames::{self, Decoder, Frame};

/// Bytes that wait for the client of a port; beyond it the network waits,
const BYTES_AHEAD: usize = 1024 * 1024;
/// but not so soon if others wait for the network as well.
const MORE_BYTES_AHEAD: usize = 4 * 1024 * 1024;
/// How long others wait for a client that reads nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a piece takes, however short it is.
const LEAST: usize = 256;
/// A shorter piece is copied: it would hold on to the whole buffer that it was read into.
const SHORT: usize = 8 * 1024;
const READ: usize = 64 * 1024;

/// A port that is about to be opened: where its streams lead.
pub(super) struct Order {
    pub(super) errors: u32,
    pub(super) pair: Pair,
}

pub(super) struct Pair {
    replied: Option<oneshot::Sender<()>>,
    pieces: Option<mpsc::UnboundedSender<Piece>>,
    /// For bytes that wait for the client.
    room: Arc<Semaphore>,
    has_more_room: bool,
    complaint: Option<oneshot::Sender<String>>,
    /// The complaint, as far as it has come.
    text: BytesMut,
}

impl Pair {
    pub(super) fn new(
        replied: oneshot::Sender<()>,
        pieces: mpsc::UnboundedSender<Piece>,
        complaint: oneshot::Sender<String>,
    ) -> Self {
        Self {
            replied: Some(replied),
            pieces: Some(pieces),
            room: Arc::new(Semaphore::new(BYTES_AHEAD)),
            has_more_room: false,
            complaint: Some(complaint),
            text: BytesMut::new(),
        }
    }

    /// Somebody waits for what the port says.
    fn is_heard(&self) -> bool {
        self.pieces.as_ref().is_some_and(|pieces| !pieces.is_closed())
    }

    /// Nobody waits for anything.
    fn is_left(&self) -> bool {
        !self.is_heard() && self.complaint.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

/// What a port says.
pub(super) enum Piece {
    /// They take room until they are taken.
    Bytes(Bytes, OwnedSemaphorePermit),
    /// It has said all.
    End,
    /// It is given up, because nobody read it while others waited.
    Unread,
}

/// Hands what comes to those who wait for it.
pub(super) struct Hearing {
    pub(super) orders: mpsc::Receiver<Order>,
    /// By the number of either stream.
    pub(super) pairs: HashMap<u32, Pair>,
    pub(super) frames: mpsc::Sender<Bytes>,
    pub(super) last_frames: mpsc::UnboundedSender<Bytes>,
    pub(super) closed: Arc<AtomicBool>,
    pub(super) stalled: Arc<AtomicBool>,
}

impl Hearing {
    pub(super) async fn run(mut self, mut reader: impl AsyncRead + Unpin) {
        self.hear(&mut reader).await;
        // Whoever has a port sees that its pieces end without an end.
        self.closed.store(true, Ordering::Release);
    }

    async fn hear(&mut self, reader: &mut (impl AsyncRead + Unpin)) {
        let (mut decoder, mut buffer) = (Decoder::default(), BytesMut::with_capacity(READ));
        loop {
            loop {
                match decoder.decode(&mut buffer) {
                    Ok(Some(frame)) => self.take(frame).await,
                    Ok(None) => break,
                    Err(garbled) => return tracing::debug!(%garbled, "forward: a tunnel ends"),
                }
            }
            buffer.reserve(READ);
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(order) => self.expect(order),
                    None => return,
                },
                read = reader.read_buf(&mut buffer) => match read {
                    Ok(0) => return,
                    Ok(_) => {}
                    Err(error) => return tracing::debug!(%error, "forward: a tunnel is lost"),
                },
            }
        }
    }

    fn expect(&mut self, order: Order) {
        // The pod may have nothing to say to those who left.
        self.pairs.retain(|_, pair| !pair.is_left());
        self.pairs.insert(order.errors, order.pair);
    }

    async fn take(&mut self, frame: Frame) {
        // An order is given before its streams are asked for.
        self.expect_all();
        match frame {
            Frame::Reply { stream } => {
                if let Some((pair, Side::Data)) = self.pair(stream)
                    && let Some(replied) = pair.replied.take()
                {
                    // Who asked may have given up.
                    let _ = replied.send(());
                }
            }
            Frame::Data { stream, bytes } => self.pass_on(stream, bytes).await,
            Frame::End { stream } | Frame::Reset { stream } => self.end(stream),
            // Whoever cannot take the answer now has other signs of life.
            Frame::Ping { id } => drop(self.frames.try_send(frames::ping(id))),
            Frame::GoAway => self.closed.store(true, Ordering::Release),
        }
    }

    async fn pass_on(&mut self, stream: u32, bytes: Bytes) {
        match self.pair(stream) {
            Some((Pair { pieces: Some(_), .. }, Side::Data)) if !bytes.is_empty() => {}
            Some((pair, Side::Errors)) => return pair.text.extend_from_slice(&bytes),
            _ => return,
        }
        let room = self.room(stream, bytes.len()).await;
        self.stalled.store(false, Ordering::Release);
        let Some((pair, _)) = self.pair(stream) else { return };
        let Some(pieces) = &pair.pieces else { return };
        let is_short = bytes.len() < SHORT;
        let piece = match room {
            Some(room) if is_short => Piece::Bytes(Bytes::copy_from_slice(&bytes), room),
            Some(room) => Piece::Bytes(bytes, room),
            None => Piece::Unread,
        };
        let is_given_up = matches!(piece, Piece::Unread);
        // Who does not listen any more does not want it, and has said so to the pod.
        if pieces.send(piece).is_ok() && is_given_up {
            pair.pieces = None;
            let _ = self.last_frames.send(frames::reset(stream));
        }
    }

    /// Room for so many bytes. Who is alone may take as long as it likes to make it; none: it took too long for others.
    async fn room(&mut self, stream: u32, length: usize) -> Option<OwnedSemaphorePermit> {
        let wanted = u32::try_from(length.clamp(LEAST, READ)).expect("invariant: a piece is short");
        loop {
            let is_alone = self.pairs.values().filter(|pair| pair.is_heard()).count() <= 1;
            let (pair, _) = self.pair(stream)?;
            let (room, pieces) = (Arc::clone(&pair.room), pair.pieces.clone()?);
            if let Ok(room) = Arc::clone(&room).try_acquire_many_owned(wanted) {
                return Some(room);
            }
            if !is_alone && !pair.has_more_room {
                pair.has_more_room = true;
                room.add_permits(MORE_BYTES_AHEAD - BYTES_AHEAD);
                continue;
            }
            self.stalled.store(true, Ordering::Release);
            let made = tokio::select! {
                room = room.acquire_many_owned(wanted) => room.ok(),
                // What is thrown away needs none.
                () = pieces.closed() => return None,
                () = tokio::time::sleep(PATIENCE) => None,
            };
            if made.is_some() || !is_alone {
                return made;
            }
            // Somebody may have come meanwhile.
            self.expect_all();
        }
    }

    fn end(&mut self, stream: u32) {
        let Some((pair, side)) = self.pair(stream) else { return };
        match side {
            Side::Data => {
                // Whoever still waits for the reply waits in vain.
                pair.replied = None;
                if let Some(pieces) = pair.pieces.take() {
                    let _ = pieces.send(Piece::End);
                }
            }
            Side::Errors => {
                if let Some(complaint) = pair.complaint.take() {
                    let _ = complaint.send(String::from_utf8_lossy(&pair.text).into_owned());
                }
            }
        }
        if pair.pieces.is_none() && pair.complaint.is_none() {
            self.pairs.remove(&errors_of(stream));
        }
    }

    fn expect_all(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            self.expect(order);
        }
    }

    fn pair(&mut self, stream: u32) -> Option<(&mut Pair, Side)> {
        let errors = errors_of(stream);
        let side = if stream == errors { Side::Errors } else { Side::Data };
        Some((self.pairs.get_mut(&errors)?, side))
    }
}

enum Side {
    Errors,
    Data,
}

/// Streams are 1 and 3, 5 and 7 and so on: the complaints of a port come on the first of two.
pub(super) fn data_of(errors: u32) -> u32 {
    errors + 2
}

fn errors_of(stream: u32) -> u32 {
    if stream % 4 == 3 { stream - 2 } else { stream }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &[u8] = &[7; 32 * 1024];

    /// What hears, with some ports open, and what it would send.
    struct Heard {
        hearing: Hearing,
        pieces: Vec<mpsc::UnboundedReceiver<Piece>>,
        last_frames: mpsc::UnboundedReceiver<Bytes>,
        /// To be kept.
        _others: (mpsc::Sender<Order>, mpsc::Receiver<Bytes>, Vec<oneshot::Receiver<String>>),
    }

    fn heard(ports: &[u32]) -> Heard {
        let (orders, incoming) = mpsc::channel(1);
        let (frames, outgoing) = mpsc::channel(1);
        let (last, last_frames) = mpsc::unbounded_channel();
        let mut hearing = Hearing {
            orders: incoming,
            pairs: HashMap::new(),
            frames,
            last_frames: last,
            closed: Arc::default(),
            stalled: Arc::default(),
        };
        let (mut all_pieces, mut complaints) = (Vec::new(), Vec::new());
        for errors in ports {
            let ((replied, _), (sender, pieces)) = (oneshot::channel(), mpsc::unbounded_channel());
            let (complain, complaint) = oneshot::channel();
            let pair = Pair::new(replied, sender, complain);
            hearing.expect(Order { errors: *errors, pair });
            all_pieces.push(pieces);
            complaints.push(complaint);
        }
        let _others = (orders, outgoing, complaints);
        Heard { hearing, pieces: all_pieces, last_frames, _others }
    }

    /// How many bytes come, and whether it is given up then.
    async fn read_all(pieces: &mut mpsc::UnboundedReceiver<Piece>) -> (usize, bool) {
        let mut length = 0;
        while let Some(piece) = pieces.recv().await {
            match piece {
                Piece::Bytes(bytes, _room) => length += bytes.len(),
                Piece::End => return (length, false),
                Piece::Unread => return (length, true),
            }
        }
        (length, false)
    }

    fn many(stream: u32, length: usize) -> Vec<u8> {
        (0..length / SOME.len()).flat_map(|_| frames::data(stream, SOME)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_given_up_when_another_waits_for_it() {
        let Heard { hearing, mut pieces, mut last_frames, _others } = heard(&[1, 5]);
        let mut bytes = many(3, 2 * MORE_BYTES_AHEAD);
        bytes.extend_from_slice(&frames::data(7, b"hello"));
        bytes.extend_from_slice(&frames::end(7));
        let all = tokio::spawn(async move { hearing.run(bytes.as_slice()).await });
        assert_eq!(read_all(&mut pieces[1]).await, (5, false));
        let (length, is_given_up) = read_all(&mut pieces[0]).await;
        assert!(is_given_up && (BYTES_AHEAD..=MORE_BYTES_AHEAD).contains(&length), "{length} bytes");
        assert_eq!(last_frames.recv().await, Some(frames::reset(3)));
        all.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_alone_may_take_its_time() {
        let Heard { hearing, mut pieces, _others, .. } = heard(&[1]);
        let mut bytes = many(3, 2 * MORE_BYTES_AHEAD);
        bytes.extend_from_slice(&frames::end(3));
        let stalled = Arc::clone(&hearing.stalled);
        let all = tokio::spawn(async move { hearing.run(bytes.as_slice()).await });
        tokio::time::sleep(10 * PATIENCE).await;
        assert!(stalled.load(Ordering::Acquire));
        assert_eq!(read_all(&mut pieces[0]).await, (2 * MORE_BYTES_AHEAD, false));
        all.await.unwrap();
        assert!(!stalled.load(Ordering::Acquire));
    }
}
