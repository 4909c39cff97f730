//! One connection to a pod through the API server, on which one port after another can be opened.
//!
//! Making it takes a TLS handshake and three programs that connect to each other; opening a port on it takes one
//! exchange. Its streams have no flow control of their own: one that nobody reads holds up the others. So one client has
//! it alone, unless there are many at once ([`Tunnel::share`]); those that have closed their side may still be waiting for
//! the last word of the pod. One that holds up others for long is given up.

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
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::frames;
use super::hearing::{Hearing, Order, Pair, Piece, data_of};
use super::pool::Pool;
use crate::connect::Cluster;

/// A tunnel may have died without a word; a new one is tried then.
const REPLY: Duration = Duration::from_secs(5);
/// Frames that wait for the network: enough to keep it busy, few enough that a client feels it.
const FRAMES_AHEAD: usize = 16;
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
    last_frames: mpsc::UnboundedSender<Bytes>,
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

/// The two ways of an open port.
pub(super) struct Streams {
    pub(super) id: u32,
    pub(super) pieces: mpsc::UnboundedReceiver<Piece>,
    /// Empty when all went well.
    pub(super) complaint: oneshot::Receiver<String>,
    pub(super) frames: mpsc::Sender<Bytes>,
}

/// The right to open a port; the tunnel is free for the next client when it is dropped.
pub(super) struct Claim {
    tunnel: Tunnel,
    pool: Arc<Pool>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.tunnel.0.clients.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.pool.freed();
        }
    }
}

impl Tunnel {
    pub(super) async fn open(cluster: &Cluster, pod: &PodRef) -> Result<Self, Refusal> {
        let (reader, writer) = tokio::io::split(upgrade(cluster, pod).await?);
        let (frames, outgoing) = mpsc::channel(FRAMES_AHEAD);
        let (last_frames, outgoing_last) = mpsc::unbounded_channel();
        let (orders, incoming) = mpsc::channel(FRAMES_AHEAD);
        let (closed, stalled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let hearing = Hearing {
            orders: incoming,
            pairs: HashMap::new(),
            frames: frames.clone(),
            last_frames: last_frames.clone(),
            closed: Arc::clone(&closed),
            stalled: Arc::clone(&stalled),
        };
        let tasks = [tokio::spawn(hearing.run(reader)), tokio::spawn(speak(writer, outgoing, outgoing_last))];
        Ok(Self(Arc::new(Inner {
            pod: pod.clone(),
            frames,
            last_frames,
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

    /// The last frame of a stream. It goes out after what is on its way, also when there is no room for more.
    pub(super) fn send_last(&self, frame: Bytes) {
        let is_full = self.0.frames.capacity() == 0;
        // Where much waits already, or nobody writes any more, new ports would only wait as well.
        if self.0.last_frames.send(frame).is_err() || is_full {
            self.close();
        }
    }

    /// None if another client has it.
    pub(super) fn claim(&self, pool: &Arc<Pool>) -> Option<Claim> {
        let claimed = self.0.clients.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        claimed.is_ok().then(|| Claim { tunnel: self.clone(), pool: Arc::clone(pool) })
    }

    /// Whoever else has it.
    pub(super) fn share(&self, pool: &Arc<Pool>) -> Claim {
        self.0.clients.fetch_add(1, Ordering::AcqRel);
        Claim { tunnel: self.clone(), pool: Arc::clone(pool) }
    }
}

impl Claim {
    pub(super) fn tunnel(&self) -> &Tunnel {
        &self.tunnel
    }

    /// Opens a port; none if the tunnel turns out to be dead.
    pub(super) async fn open_port(&self, port: u16) -> Option<Streams> {
        let Inner { frames, orders, next, turn, .. } = &*self.tunnel.0;
        let (replied, reply) = oneshot::channel();
        let (sender, pieces) = mpsc::unbounded_channel();
        let (complain, complaint) = oneshot::channel();
        let pair = Pair::new(replied, sender, complain);
        let exchange = async {
            let turn = turn.acquire().await.ok()?;
            let errors = next.fetch_add(4, Ordering::Relaxed);
            orders.send(Order { errors, pair }).await.ok()?;
            frames.send(opening(errors, port)).await.ok()?;
            drop(turn);
            reply.await.ok()?;
            Some(data_of(errors))
        };
        let half_open = HalfOpen(&self.tunnel);
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

/// Writes frames in the order they come, until the tunnel is dropped or broken.
async fn speak(
    mut writer: impl AsyncWrite + Unpin,
    mut frames: mpsc::Receiver<Bytes>,
    mut last_frames: mpsc::UnboundedReceiver<Bytes>,
) {
    let (mut batch, mut last) = (Vec::new(), Vec::new());
    loop {
        tokio::select! {
            count = frames.recv_many(&mut batch, FRAMES_AHEAD) => if count == 0 { return },
            frame = last_frames.recv() => match frame {
                Some(frame) => last.push(frame),
                None => return,
            },
        }
        while let Ok(frame) = last_frames.try_recv() {
            last.push(frame);
        }
        // What its stream has said is among these, if it is not written already.
        batch.extend(std::iter::from_fn(|| frames.try_recv().ok()).take(FRAMES_AHEAD));
        if write(&mut writer, batch.drain(..).chain(last.drain(..))).await.is_err() {
            return;
        }
    }
}

async fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    frames: impl Iterator<Item = Bytes>,
) -> std::io::Result<()> {
    for frame in frames {
        writer.write_all(&frame).await?;
    }
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn last_frames_go_out_also_when_much_waits_and_after_it() {
        let ((frames, outgoing), (last, outgoing_last)) =
            (mpsc::channel(FRAMES_AHEAD), mpsc::unbounded_channel());
        let mut expected = Vec::new();
        while let Ok(()) = frames.try_send(frames::data(3, &[7; 1000])) {
            expected.extend_from_slice(&frames::data(3, &[7; 1000]));
        }
        last.send(frames::end(3)).unwrap();
        expected.extend_from_slice(&frames::end(3));
        let (mut reader, writer) = tokio::io::duplex(1000);
        let writing = tokio::spawn(speak(writer, outgoing, outgoing_last));
        let mut written = vec![0; expected.len()];
        reader.read_exact(&mut written).await.unwrap();
        assert!(written == expected);
        drop((frames, last));
        writing.await.unwrap();
    }
}
