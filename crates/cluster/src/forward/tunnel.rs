//! One connection to a pod through the API server, on which one port after another can be opened.
//!
//! Making it takes a TLS handshake and three programs that connect to each other; opening a port on it takes one
//! exchange. Its streams have no flow control of their own: one that nobody reads holds up the others. So one client has
//! it alone, unless there are many at once ([`Tunnel::share`]); those that have closed their side may still be waiting for
//! the last word of the pod.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, UPGRADE};
use http::{Request, StatusCode};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use lilt_model::cluster::PodRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::frames::{self, Decoder, Frame};
use crate::connect::Cluster;

/// A tunnel may have died without a word; a new one is tried then.
const REPLY: Duration = Duration::from_secs(5);
/// Frames that wait for the network: enough to keep it busy, few enough that a client feels it.
const FRAMES_AHEAD: usize = 16;
/// Pieces that wait for the client of a port; beyond it the network waits.
pub(super) const PIECES_AHEAD: usize = 16;
const READ: usize = 64 * 1024;

/// Why there is no tunnel.
pub(super) enum Refusal {
    /// The API server answered so.
    Status(StatusCode, String),
    Error(kube::Error),
}

#[derive(Clone)]
pub(super) struct Tunnel(Arc<Inner>);

struct Inner {
    pod: PodRef,
    frames: mpsc::Sender<Bytes>,
    orders: mpsc::Sender<Order>,
    /// How many have it.
    clients: AtomicUsize,
    /// One of them does not read.
    stalled: Arc<AtomicBool>,
    /// No new ports: it is broken, or about to end.
    closed: Arc<AtomicBool>,
    /// Streams are asked for one after another, so that their numbers go out in order.
    turn: Semaphore,
    next: AtomicU32,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// A port that is about to be opened: where its streams lead.
struct Order {
    errors: u32,
    pair: Pair,
}

struct Pair {
    replied: Option<oneshot::Sender<()>>,
    pieces: Option<mpsc::Sender<Piece>>,
    complaint: Option<oneshot::Sender<String>>,
    /// The complaint, as far as it has come.
    text: BytesMut,
}

/// What a port says.
pub(super) enum Piece {
    Bytes(Bytes),
    /// It has said all.
    End,
}

/// The two ways of an open port.
pub(super) struct Streams {
    pub(super) id: u32,
    pub(super) pieces: mpsc::Receiver<Piece>,
    /// Empty when all went well.
    pub(super) complaint: oneshot::Receiver<String>,
    pub(super) frames: mpsc::Sender<Bytes>,
}

/// The right to open a port; the tunnel is free for the next client when it is dropped.
pub(super) struct Claim(Tunnel);

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.0.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Tunnel {
    pub(super) async fn open(cluster: &Cluster, pod: &PodRef) -> Result<Self, Refusal> {
        let (reader, writer) = tokio::io::split(upgrade(cluster, pod).await?);
        let (frames, outgoing) = mpsc::channel(FRAMES_AHEAD);
        let (orders, incoming) = mpsc::channel(FRAMES_AHEAD);
        let (closed, stalled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let hearing = Hearing {
            orders: incoming,
            pairs: HashMap::new(),
            frames: frames.clone(),
            closed: Arc::clone(&closed),
            stalled: Arc::clone(&stalled),
        };
        let tasks = [tokio::spawn(hearing.run(reader)), tokio::spawn(speak(writer, outgoing))];
        Ok(Self(Arc::new(Inner {
            pod: pod.clone(),
            frames,
            orders,
            clients: AtomicUsize::new(0),
            stalled,
            closed,
            turn: Semaphore::new(1),
            next: AtomicU32::new(1),
            _tasks: tasks.map(AbortOnDropHandle::new),
        })))
    }

    pub(super) fn leads_to(&self, pod: &PodRef) -> bool {
        self.0.pod == *pod
    }

    pub(super) fn is_same(&self, other: &Tunnel) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Opens no more ports; those that are open go on.
    pub(super) fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }

    pub(super) fn is_taken(&self) -> bool {
        self.clients() > 0
    }

    pub(super) fn clients(&self) -> usize {
        self.0.clients.load(Ordering::Acquire)
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.0.stalled.load(Ordering::Acquire)
    }

    /// None if another client has it.
    pub(super) fn claim(&self) -> Option<Claim> {
        let claimed = self.0.clients.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        claimed.is_ok().then(|| Claim(self.clone()))
    }

    /// Whoever else has it.
    pub(super) fn share(&self) -> Claim {
        self.0.clients.fetch_add(1, Ordering::AcqRel);
        Claim(self.clone())
    }
}

impl Claim {
    pub(super) fn tunnel(&self) -> &Tunnel {
        &self.0
    }

    /// Opens a port; none if the tunnel turns out to be dead.
    pub(super) async fn open_port(&self, port: u16) -> Option<Streams> {
        let Inner { frames, orders, next, turn, .. } = &*self.0.0;
        let (replied, reply) = oneshot::channel();
        let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
        let (complain, complaint) = oneshot::channel();
        let pair = Pair {
            replied: Some(replied),
            pieces: Some(sender),
            complaint: Some(complain),
            text: BytesMut::new(),
        };
        let exchange = async {
            let turn = turn.acquire().await.ok()?;
            let errors = next.fetch_add(4, Ordering::Relaxed);
            orders.send(Order { errors, pair }).await.ok()?;
            frames.send(opening(errors, port)).await.ok()?;
            drop(turn);
            reply.await.ok()?;
            Some(data_of(errors))
        };
        let half_open = HalfOpen(&self.0);
        let id = tokio::time::timeout(REPLY, exchange).await.ok().flatten();
        id.map(|id| {
            std::mem::forget(half_open);
            Streams { id, pieces, complaint, frames: frames.clone() }
        })
    }
}

/// Asks for the two streams of a port.
fn opening(errors: u32, port: u16) -> Bytes {
    let (number, request) = (port.to_string(), errors.to_string());
    let kind = |kind| [("streamtype", kind), ("port", number.as_str()), ("requestid", request.as_str())];
    let mut opening = BytesMut::new();
    frames::open(&mut opening, errors, &kind("error"));
    opening.extend_from_slice(&frames::end(errors));
    frames::open(&mut opening, data_of(errors), &kind("data"));
    opening.freeze()
}

/// A port that is asked for and not there yet. Who gives up then leaves a tunnel that is good for nobody.
struct HalfOpen<'a>(&'a Tunnel);

impl Drop for HalfOpen<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn upgrade(cluster: &Cluster, pod: &PodRef) -> Result<TokioIo<Upgraded>, Refusal> {
    let path = format!("/api/v1/namespaces/{}/pods/{}/portforward", pod.namespace, pod.name);
    let request = Request::post(path)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "SPDY/3.1")
        .header("X-Stream-Protocol-Version", "portforward.k8s.io")
        .body(Body::empty())
        .expect("invariant: names of pods are fit for addresses");
    let response = cluster.client.send(request).await.map_err(Refusal::Error)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (status, body) = (response.status(), response.into_body());
        let said = body.collect_bytes().await.unwrap_or_default();
        return Err(Refusal::Status(status, String::from_utf8_lossy(&said).into_owned()));
    }
    let upgraded =
        hyper::upgrade::on(response).await.map_err(|error| Refusal::Error(kube::Error::HyperError(error)))?;
    Ok(TokioIo::new(upgraded))
}

type Connection = TokioIo<Upgraded>;

/// Writes frames in the order they come.
async fn speak(mut writer: WriteHalf<Connection>, mut frames: mpsc::Receiver<Bytes>) {
    while let Some(frame) = frames.recv().await {
        if write(&mut writer, frame, &mut frames).await.is_err() {
            return;
        }
    }
}

async fn write(
    writer: &mut WriteHalf<Connection>,
    first: Bytes,
    frames: &mut mpsc::Receiver<Bytes>,
) -> std::io::Result<()> {
    writer.write_all(&first).await?;
    while let Ok(frame) = frames.try_recv() {
        writer.write_all(&frame).await?;
    }
    writer.flush().await
}

/// Hands what comes to those who wait for it.
struct Hearing {
    orders: mpsc::Receiver<Order>,
    /// By the number of either stream.
    pairs: HashMap<u32, Pair>,
    frames: mpsc::Sender<Bytes>,
    closed: Arc<AtomicBool>,
    stalled: Arc<AtomicBool>,
}

impl Hearing {
    async fn run(mut self, mut reader: ReadHalf<Connection>) {
        self.hear(&mut reader).await;
        // Whoever has a port sees that its pieces end without an end.
        self.closed.store(true, Ordering::Release);
    }

    async fn hear(&mut self, reader: &mut ReadHalf<Connection>) {
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
        self.pairs.insert(order.errors, order.pair);
    }

    async fn take(&mut self, frame: Frame) {
        // An order is given before its streams are asked for.
        while let Ok(order) = self.orders.try_recv() {
            self.expect(order);
        }
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
            Frame::End { stream } | Frame::Reset { stream } => self.end(stream).await,
            // Whoever cannot take the answer now has other signs of life.
            Frame::Ping { id } => drop(self.frames.try_send(frames::ping(id))),
            Frame::GoAway => self.closed.store(true, Ordering::Release),
        }
    }

    async fn pass_on(&mut self, stream: u32, bytes: Bytes) {
        let stalled = Arc::clone(&self.stalled);
        match self.pair(stream) {
            Some((Pair { pieces: Some(pieces), .. }, Side::Data)) if !bytes.is_empty() => {
                // Who does not listen any more does not want it.
                if let Err(TrySendError::Full(piece)) = pieces.try_send(Piece::Bytes(bytes)) {
                    stalled.store(true, Ordering::Release);
                    let _ = pieces.send(piece).await;
                    stalled.store(false, Ordering::Release);
                }
            }
            Some((pair, Side::Errors)) => pair.text.extend_from_slice(&bytes),
            _ => {}
        }
    }

    async fn end(&mut self, stream: u32) {
        let Some((pair, side)) = self.pair(stream) else { return };
        match side {
            Side::Data => {
                // Whoever still waits for the reply waits in vain.
                pair.replied = None;
                if let Some(pieces) = pair.pieces.take() {
                    let _ = pieces.send(Piece::End).await;
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
fn data_of(errors: u32) -> u32 {
    errors + 2
}

fn errors_of(stream: u32) -> u32 {
    if stream % 4 == 3 { stream - 2 } else { stream }
}
