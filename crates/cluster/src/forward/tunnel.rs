//! One SPDY connection to a pod through the API server, on which ports are opened one after another.
//!
//! Establishing it takes a TLS handshake and connections between API server, kubelet and container runtime; opening a
//! port on it takes one round trip.
//!
//! Its streams have no flow control: one that nobody reads holds up the others. So each client has a tunnel of its
//! own, unless there are many clients ([`Tunnel::share`]). Clients that have finished writing do not count. A client
//! that holds up others for long loses its connection.

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

use super::demux::{Demux, PortEvent, PortRequest, PortStreams, data_stream};
use super::frames;
use super::pool::Pool;
use crate::connect::Cluster;

/// A tunnel may be dead without an error; then another one is opened.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// Frames waiting to be sent: enough to keep the connection busy, few enough for back pressure.
const FRAMES_BUFFERED: usize = 16;
/// Why a tunnel could not be opened.
pub(super) enum OpenError {
    /// The API server's response.
    Status(StatusCode, String),
    Error(kube::Error),
}

#[derive(Clone)]
pub(super) struct Tunnel(Arc<Inner>);

struct Inner {
    pod: PodRef,
    frames: mpsc::Sender<Bytes>,
    closing_frames: mpsc::UnboundedSender<Bytes>,
    requests: mpsc::Sender<PortRequest>,
    /// The number of leases.
    clients: AtomicUsize,
    /// One of the clients does not read.
    stalled: Arc<AtomicBool>,
    /// Opens no more ports, because it is broken or about to close.
    closed: Arc<AtomicBool>,
    /// Held while a port is opened, so that stream numbers are sent in order.
    opening_permit: Semaphore,
    next: AtomicU32,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// The streams of an open port.
pub(super) struct Streams {
    pub(super) id: u32,
    pub(super) events: mpsc::UnboundedReceiver<PortEvent>,
    /// Empty if there was no error.
    pub(super) error_text: oneshot::Receiver<String>,
    pub(super) frames: mpsc::Sender<Bytes>,
}

/// The right to open a port. The tunnel is free for the next client when it is dropped.
pub(super) struct Lease {
    tunnel: Tunnel,
    pool: Arc<Pool>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.tunnel.0.clients.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.pool.release();
        }
    }
}

impl Tunnel {
    pub(super) async fn open(cluster: &Cluster, pod: &PodRef) -> Result<Self, OpenError> {
        let (reader, writer) = tokio::io::split(upgrade(cluster, pod).await?);
        let (frames, outgoing) = mpsc::channel(FRAMES_BUFFERED);
        let (closing_frames, outgoing_closing) = mpsc::unbounded_channel();
        let (requests, incoming) = mpsc::channel(FRAMES_BUFFERED);
        let (closed, stalled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let demux = Demux {
            requests: incoming,
            ports: HashMap::new(),
            frames: frames.clone(),
            closing_frames: closing_frames.clone(),
            closed: Arc::clone(&closed),
            stalled: Arc::clone(&stalled),
        };
        let tasks =
            [tokio::spawn(demux.run(reader)), tokio::spawn(write_frames(writer, outgoing, outgoing_closing))];
        Ok(Self(Arc::new(Inner {
            pod: pod.clone(),
            frames,
            closing_frames,
            requests,
            clients: AtomicUsize::new(0),
            stalled,
            closed,
            opening_permit: Semaphore::new(1),
            next: AtomicU32::new(1),
            _tasks: tasks.map(AbortOnDropHandle::new),
        })))
    }

    pub(super) fn is_for(&self, pod: &PodRef) -> bool {
        self.0.pod == *pod
    }

    pub(super) fn is_same(&self, other: &Tunnel) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Opens no more ports; open ones stay.
    pub(super) fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.clients() > 0
    }

    pub(super) fn clients(&self) -> usize {
        self.0.clients.load(Ordering::Acquire)
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.0.stalled.load(Ordering::Acquire)
    }

    /// Sends the last frame of a stream, after pending frames, even if the queue is full.
    pub(super) fn send_closing(&self, frame: Bytes) {
        let is_full = self.0.frames.capacity() == 0;
        // New ports would wait behind the full queue, or nobody sends any more.
        if self.0.closing_frames.send(frame).is_err() || is_full {
            self.close();
        }
    }

    /// Leases the tunnel exclusively; none if another client has it.
    pub(super) fn lease(&self, pool: &Arc<Pool>) -> Option<Lease> {
        let claimed = self.0.clients.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        claimed.is_ok().then(|| Lease { tunnel: self.clone(), pool: Arc::clone(pool) })
    }

    /// Leases the tunnel together with other clients.
    pub(super) fn share(&self, pool: &Arc<Pool>) -> Lease {
        self.0.clients.fetch_add(1, Ordering::AcqRel);
        Lease { tunnel: self.clone(), pool: Arc::clone(pool) }
    }
}

impl Lease {
    pub(super) fn tunnel(&self) -> &Tunnel {
        &self.tunnel
    }

    /// Opens a port; none if the tunnel is dead.
    pub(super) async fn open_port(&self, port: u16) -> Option<Streams> {
        let Inner { frames, requests, next, opening_permit, .. } = &*self.tunnel.0;
        let (replied, reply) = oneshot::channel();
        let (sender, events) = mpsc::unbounded_channel();
        let (send_error, error_text) = oneshot::channel();
        let streams = PortStreams::new(replied, sender, send_error);
        let exchange = async {
            let opening_permit = opening_permit.acquire().await.ok()?;
            let errors = next.fetch_add(4, Ordering::Relaxed);
            requests.send(PortRequest { errors, streams }).await.ok()?;
            frames.send(opening(errors, port)).await.ok()?;
            drop(opening_permit);
            reply.await.ok()?;
            Some(data_stream(errors))
        };
        let half_open = HalfOpen(&self.tunnel);
        let id = tokio::time::timeout(REPLY_TIMEOUT, exchange).await.ok().flatten();
        id.map(|id| {
            std::mem::forget(half_open);
            Streams { id, events, error_text, frames: frames.clone() }
        })
    }
}

/// Encodes the frames that open the two streams of a port.
fn opening(errors: u32, port: u16) -> Bytes {
    let (number, request) = (port.to_string(), errors.to_string());
    let kind = |kind| [("streamtype", kind), ("port", number.as_str()), ("requestid", request.as_str())];
    let mut opening = BytesMut::new();
    frames::open(&mut opening, errors, &kind("error"));
    opening.extend_from_slice(&frames::end(errors));
    frames::open(&mut opening, data_stream(errors), &kind("data"));
    opening.freeze()
}

/// A port that is being opened. If that is cancelled, the tunnel cannot be used any more.
struct HalfOpen<'a>(&'a Tunnel);

impl Drop for HalfOpen<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn upgrade(cluster: &Cluster, pod: &PodRef) -> Result<TokioIo<Upgraded>, OpenError> {
    let path = format!("/api/v1/namespaces/{}/pods/{}/portforward", pod.namespace, pod.name);
    let request = Request::post(path)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "SPDY/3.1")
        .header("X-Stream-Protocol-Version", "portforward.k8s.io")
        .body(Body::empty())
        .expect("invariant: names of pods are fit for addresses");
    let response = cluster.client.send(request).await.map_err(OpenError::Error)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (status, body) = (response.status(), response.into_body());
        let body = body.collect_bytes().await.unwrap_or_default();
        return Err(OpenError::Status(status, String::from_utf8_lossy(&body).into_owned()));
    }
    let upgraded = hyper::upgrade::on(response)
        .await
        .map_err(|error| OpenError::Error(kube::Error::HyperError(error)))?;
    Ok(TokioIo::new(upgraded))
}

/// Sends frames in order until the tunnel is dropped or broken.
async fn write_frames(
    mut writer: impl AsyncWrite + Unpin,
    mut frames: mpsc::Receiver<Bytes>,
    mut closing_frames: mpsc::UnboundedReceiver<Bytes>,
) {
    let (mut batch, mut last) = (Vec::new(), Vec::new());
    loop {
        tokio::select! {
            count = frames.recv_many(&mut batch, FRAMES_BUFFERED) => if count == 0 { return },
            frame = closing_frames.recv() => match frame {
                Some(frame) => last.push(frame),
                None => return,
            },
        }
        while let Ok(frame) = closing_frames.try_recv() {
            last.push(frame);
        }
        // Pending data of the closed streams is among these, if it is not sent already.
        batch.extend(std::iter::from_fn(|| frames.try_recv().ok()).take(FRAMES_BUFFERED));
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
        let ((frames, outgoing), (last, outgoing_closing)) =
            (mpsc::channel(FRAMES_BUFFERED), mpsc::unbounded_channel());
        let mut expected = Vec::new();
        while let Ok(()) = frames.try_send(frames::data(3, &[7; 1000])) {
            expected.extend_from_slice(&frames::data(3, &[7; 1000]));
        }
        last.send(frames::end(3)).unwrap();
        expected.extend_from_slice(&frames::end(3));
        let (mut reader, writer) = tokio::io::duplex(1000);
        let writing = tokio::spawn(write_frames(writer, outgoing, outgoing_closing));
        let mut written = vec![0; expected.len()];
        reader.read_exact(&mut written).await.unwrap();
        assert!(written == expected);
        drop((frames, last));
        writing.await.unwrap();
    }
}
