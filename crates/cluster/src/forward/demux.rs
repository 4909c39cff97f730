//! Distributes what arrives through a tunnel to the clients of its ports.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::frames::{self, Decoder, Frame};

/// Buffered bytes of a port. Beyond it the tunnel is not read,
const MAX_BUFFER: usize = 1024 * 1024;
/// unless it has other clients, which allows more.
const MAX_SHARED_BUFFER: usize = 4 * 1024 * 1024;
/// How long other clients wait for one that does not read.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of the buffer a chunk uses at least.
const MIN_PERMITS: usize = 256;
/// Shorter chunks are copied, because they would keep the whole read buffer alive.
const COPY_BELOW: usize = 8 * 1024;
const READ_SIZE: usize = 64 * 1024;

/// A port that is about to be opened, with the receivers of its streams.
pub(super) struct PortRequest {
    pub(super) errors: u32,
    pub(super) streams: PortStreams,
}

pub(super) struct PortStreams {
    replied: Option<oneshot::Sender<()>>,
    events: Option<mpsc::UnboundedSender<PortEvent>>,
    /// The free part of the buffer.
    permits: Arc<Semaphore>,
    has_shared_buffer: bool,
    error_text: Option<oneshot::Sender<String>>,
    /// The error text received so far.
    message: BytesMut,
}

impl PortStreams {
    pub(super) fn new(
        replied: oneshot::Sender<()>,
        events: mpsc::UnboundedSender<PortEvent>,
        error_text: oneshot::Sender<String>,
    ) -> Self {
        Self {
            replied: Some(replied),
            events: Some(events),
            permits: Arc::new(Semaphore::new(MAX_BUFFER)),
            has_shared_buffer: false,
            error_text: Some(error_text),
            message: BytesMut::new(),
        }
    }

    /// Whether a client still reads from the port.
    fn has_reader(&self) -> bool {
        self.events.as_ref().is_some_and(|events| !events.is_closed())
    }

    /// Whether nobody waits for data or an error.
    fn is_abandoned(&self) -> bool {
        !self.has_reader() && self.error_text.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

/// An event of a port.
pub(super) enum PortEvent {
    /// Bytes occupy the buffer until they are taken.
    Bytes(Bytes, OwnedSemaphorePermit),
    /// The pod has closed its side.
    End,
    /// The connection is closed because its client did not read while others waited.
    GivenUp,
}

/// Reads a tunnel and distributes its frames.
pub(super) struct Demux {
    pub(super) requests: mpsc::Receiver<PortRequest>,
    /// By the number of the error stream.
    pub(super) ports: HashMap<u32, PortStreams>,
    pub(super) frames: mpsc::Sender<Bytes>,
    pub(super) closing_frames: mpsc::UnboundedSender<Bytes>,
    pub(super) closed: Arc<AtomicBool>,
    pub(super) stalled: Arc<AtomicBool>,
}

impl Demux {
    pub(super) async fn run(mut self, mut reader: impl AsyncRead + Unpin) {
        self.read_frames(&mut reader).await;
        // Clients see that their events end without [`PortEvent::End`].
        self.closed.store(true, Ordering::Release);
    }

    async fn read_frames(&mut self, reader: &mut (impl AsyncRead + Unpin)) {
        let (mut decoder, mut buffer) = (Decoder::default(), BytesMut::with_capacity(READ_SIZE));
        loop {
            loop {
                match decoder.decode(&mut buffer) {
                    Ok(Some(frame)) => self.handle(frame).await,
                    Ok(None) => break,
                    Err(invalid) => return tracing::debug!(%invalid, "forward: a tunnel ends"),
                }
            }
            buffer.reserve(READ_SIZE);
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.register(request),
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

    fn register(&mut self, request: PortRequest) {
        // The pod may never close the streams of clients that have left.
        self.ports.retain(|_, port| !port.is_abandoned());
        self.ports.insert(request.errors, request.streams);
    }

    async fn handle(&mut self, frame: Frame) {
        // Ports are registered before their streams are requested.
        self.register_all();
        match frame {
            Frame::Reply { stream } => {
                if let Some((port, Side::Data)) = self.port(stream)
                    && let Some(replied) = port.replied.take()
                {
                    // The client may have left.
                    let _ = replied.send(());
                }
            }
            Frame::Data { stream, bytes } => self.deliver(stream, bytes).await,
            Frame::End { stream } | Frame::Reset { stream } => self.finish(stream),
            // If the queue is full, other frames show that we are alive.
            Frame::Ping { id } => drop(self.frames.try_send(frames::ping(id))),
            Frame::GoAway => self.closed.store(true, Ordering::Release),
        }
    }

    async fn deliver(&mut self, stream: u32, bytes: Bytes) {
        match self.port(stream) {
            Some((PortStreams { events: Some(_), .. }, Side::Data)) if !bytes.is_empty() => {}
            Some((port, Side::Errors)) => return port.message.extend_from_slice(&bytes),
            _ => return,
        }
        let permits = self.permits(stream, bytes.len()).await;
        self.stalled.store(false, Ordering::Release);
        let Some((port, _)) = self.port(stream) else { return };
        let Some(events) = &port.events else { return };
        let is_short = bytes.len() < COPY_BELOW;
        let event = match permits {
            Some(permits) if is_short => PortEvent::Bytes(Bytes::copy_from_slice(&bytes), permits),
            Some(permits) => PortEvent::Bytes(bytes, permits),
            None => PortEvent::GivenUp,
        };
        let is_given_up = matches!(event, PortEvent::GivenUp);
        // A client that has left has reset the stream already.
        if events.send(event).is_ok() && is_given_up {
            port.events = None;
            let _ = self.closing_frames.send(frames::reset(stream));
        }
    }

    /// Waits for space in the buffer. A sole client may take any time; none: the client took too long while others
    /// waited.
    async fn permits(&mut self, stream: u32, length: usize) -> Option<OwnedSemaphorePermit> {
        let wanted =
            u32::try_from(length.clamp(MIN_PERMITS, READ_SIZE)).expect("invariant: a chunk is short");
        loop {
            let is_alone = self.ports.values().filter(|port| port.has_reader()).count() <= 1;
            let (port, _) = self.port(stream)?;
            let (permits, events) = (Arc::clone(&port.permits), port.events.clone()?);
            if let Ok(permits) = Arc::clone(&permits).try_acquire_many_owned(wanted) {
                return Some(permits);
            }
            if !is_alone && !port.has_shared_buffer {
                port.has_shared_buffer = true;
                permits.add_permits(MAX_SHARED_BUFFER - MAX_BUFFER);
                continue;
            }
            self.stalled.store(true, Ordering::Release);
            let made = tokio::select! {
                permits = permits.acquire_many_owned(wanted) => permits.ok(),
                // Dropped bytes need no space.
                () = events.closed() => return None,
                () = tokio::time::sleep(READ_TIMEOUT) => None,
            };
            if made.is_some() || !is_alone {
                return made;
            }
            // Other clients may have come meanwhile.
            self.register_all();
        }
    }

    fn finish(&mut self, stream: u32) {
        let Some((port, side)) = self.port(stream) else { return };
        match side {
            Side::Data => {
                // A client that waits for the reply sees the sender dropped.
                port.replied = None;
                if let Some(events) = port.events.take() {
                    let _ = events.send(PortEvent::End);
                }
            }
            Side::Errors => {
                if let Some(error_text) = port.error_text.take() {
                    let _ = error_text.send(String::from_utf8_lossy(&port.message).into_owned());
                }
            }
        }
        if port.events.is_none() && port.error_text.is_none() {
            self.ports.remove(&error_stream(stream));
        }
    }

    fn register_all(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            self.register(request);
        }
    }

    fn port(&mut self, stream: u32) -> Option<(&mut PortStreams, Side)> {
        let errors = error_stream(stream);
        let side = if stream == errors { Side::Errors } else { Side::Data };
        Some((self.ports.get_mut(&errors)?, side))
    }
}

enum Side {
    Errors,
    Data,
}

/// Streams are numbered 1 and 3, 5 and 7 and so on: error stream first, then data stream.
pub(super) fn data_stream(errors: u32) -> u32 {
    errors + 2
}

fn error_stream(stream: u32) -> u32 {
    if stream % 4 == 3 { stream - 2 } else { stream }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &[u8] = &[7; 32 * 1024];

    /// A demultiplexer with some open ports, and the frames that it would send.
    struct TestDemux {
        demux: Demux,
        events: Vec<mpsc::UnboundedReceiver<PortEvent>>,
        closing_frames: mpsc::UnboundedReceiver<Bytes>,
        /// Kept alive.
        _others: (mpsc::Sender<PortRequest>, mpsc::Receiver<Bytes>, Vec<oneshot::Receiver<String>>),
    }

    fn test_demux(ports: &[u32]) -> TestDemux {
        let (requests, incoming) = mpsc::channel(1);
        let (frames, outgoing) = mpsc::channel(1);
        let (last, closing_frames) = mpsc::unbounded_channel();
        let mut demux = Demux {
            requests: incoming,
            ports: HashMap::new(),
            frames,
            closing_frames: last,
            closed: Arc::default(),
            stalled: Arc::default(),
        };
        let (mut all_events, mut error_texts) = (Vec::new(), Vec::new());
        for errors in ports {
            let ((replied, _), (sender, events)) = (oneshot::channel(), mpsc::unbounded_channel());
            let (send_error, error_text) = oneshot::channel();
            let streams = PortStreams::new(replied, sender, send_error);
            demux.register(PortRequest { errors: *errors, streams });
            all_events.push(events);
            error_texts.push(error_text);
        }
        let _others = (requests, outgoing, error_texts);
        TestDemux { demux, events: all_events, closing_frames, _others }
    }

    /// Returns the number of bytes, and whether the connection was given up.
    async fn read_all(events: &mut mpsc::UnboundedReceiver<PortEvent>) -> (usize, bool) {
        let mut length = 0;
        while let Some(event) = events.recv().await {
            match event {
                PortEvent::Bytes(bytes, _permits) => length += bytes.len(),
                PortEvent::End => return (length, false),
                PortEvent::GivenUp => return (length, true),
            }
        }
        (length, false)
    }

    fn many(stream: u32, length: usize) -> Vec<u8> {
        (0..length / SOME.len()).flat_map(|_| frames::data(stream, SOME)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_given_up_when_another_waits_for_it() {
        let TestDemux { demux, mut events, mut closing_frames, _others } = test_demux(&[1, 5]);
        let mut bytes = many(3, 2 * MAX_SHARED_BUFFER);
        bytes.extend_from_slice(&frames::data(7, b"hello"));
        bytes.extend_from_slice(&frames::end(7));
        let all = tokio::spawn(async move { demux.run(bytes.as_slice()).await });
        assert_eq!(read_all(&mut events[1]).await, (5, false));
        let (length, is_given_up) = read_all(&mut events[0]).await;
        assert!(is_given_up && (MAX_BUFFER..=MAX_SHARED_BUFFER).contains(&length), "{length} bytes");
        assert_eq!(closing_frames.recv().await, Some(frames::reset(3)));
        all.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_alone_may_take_its_time() {
        let TestDemux { demux, mut events, _others, .. } = test_demux(&[1]);
        let mut bytes = many(3, 2 * MAX_SHARED_BUFFER);
        bytes.extend_from_slice(&frames::end(3));
        let stalled = Arc::clone(&demux.stalled);
        let all = tokio::spawn(async move { demux.run(bytes.as_slice()).await });
        tokio::time::sleep(10 * READ_TIMEOUT).await;
        assert!(stalled.load(Ordering::Acquire));
        assert_eq!(read_all(&mut events[0]).await, (2 * MAX_SHARED_BUFFER, false));
        all.await.unwrap();
        assert!(!stalled.load(Ordering::Acquire));
    }
}
