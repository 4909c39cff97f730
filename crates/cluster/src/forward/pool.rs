//! The tunnels of a forwarder: who may use which.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lilt_model::cluster::PodRef;
use tokio::sync::watch;
use tokio::time::Instant;

use super::tunnel::{Claim, Tunnel};

/// Tunnels that are kept for clients to come.
const SPARE: usize = 2;
/// So many clients have one each, and none holds up another. The next ones share.
const ALONE: usize = 100;
/// So many are made at once.
const AT_ONCE: usize = 8;
/// So many wait for their turn, as a pool of connections does. More are a burst, of clients that share what is there:
/// making a tunnel for each of two hundred would take longer than all they want to know.
const PATIENT: usize = 50;
/// How long a burst lasts after that.
const BURST: Duration = Duration::from_secs(1);

pub(super) struct Pool {
    /// Who waits for a tunnel waits for a change here.
    tunnels: watch::Sender<Vec<Tunnel>>,
    /// Tunnels that are being made.
    making: AtomicUsize,
    /// Clients that have none yet.
    waiting: AtomicUsize,
    /// As the latest value: nobody waits for it.
    burst_until: watch::Sender<Instant>,
}

/// What to do for a client if no tunnel is free.
pub(super) enum Advice {
    Make,
    Share,
    Wait,
}

impl Pool {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            tunnels: watch::Sender::new(Vec::new()),
            making: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            burst_until: watch::Sender::new(Instant::now()),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.tunnels.borrow().len()
    }

    /// To be had before looking for a tunnel, so that none is missed.
    pub(super) fn changes(&self) -> Changes {
        Changes(self.tunnels.subscribe())
    }

    /// A tunnel to this pod that nobody uses. Those to others are of no more use.
    pub(super) fn spare(self: &Arc<Self>, pod: &PodRef) -> Option<Claim> {
        let claim = self.tunnels.borrow().iter().filter(|it| flows(it, pod)).find_map(|it| it.claim(self));
        self.keep(|tunnel| tunnel.leads_to(pod));
        claim
    }

    /// Those who do not read count for nothing: nobody can share with them.
    pub(super) fn advice(&self, pod: &PodRef) -> Advice {
        let making = self.making.load(Ordering::Acquire);
        let there = making + self.tunnels.borrow().iter().filter(|it| flows(it, pod)).count();
        if there >= ALONE || (there >= AT_ONCE && self.is_burst()) {
            Advice::Share
        } else if making >= AT_ONCE {
            Advice::Wait
        } else {
            Advice::Make
        }
    }

    fn is_burst(&self) -> bool {
        let is_crowded = self.waiting.load(Ordering::Acquire) > PATIENT;
        let now = Instant::now();
        let was_burst = now < *self.burst_until.borrow();
        if is_crowded {
            self.burst_until.send_replace(now + BURST);
            if !was_burst {
                self.tunnels.send_modify(|_| {});
            }
        }
        is_crowded || was_burst
    }

    /// The tunnel with the fewest clients; none: all are still being made.
    pub(super) fn shared(self: &Arc<Self>, pod: &PodRef) -> Option<Claim> {
        let tunnels = self.tunnels.borrow();
        let flowing = tunnels.iter().filter(|it| flows(it, pod));
        flowing.min_by_key(|tunnel| tunnel.clients()).map(|it| it.share(self))
    }

    pub(super) fn add(self: &Arc<Self>, tunnel: Tunnel) -> Claim {
        let claim = tunnel.claim(self).expect("invariant: nobody else knows a new tunnel");
        self.tunnels.send_modify(|tunnels| tunnels.push(tunnel));
        claim
    }

    pub(super) fn forget(&self, tunnel: &Tunnel) {
        self.tunnels.send_modify(|tunnels| tunnels.retain(|it| !it.is_same(tunnel)));
    }

    /// Nobody has one of them any more.
    pub(super) fn freed(&self) {
        self.keep(|_| true);
        self.tunnels.send_modify(|_| {});
    }

    /// Only those of use, and of those that nobody uses only a few.
    fn keep(&self, is_of_use: impl Fn(&Tunnel) -> bool) {
        self.tunnels.send_if_modified(|tunnels| {
            let (before, mut spare) = (tunnels.len(), 0);
            tunnels.retain(|tunnel| {
                let is_spare = !tunnel.is_taken();
                spare += usize::from(is_spare);
                !tunnel.is_closed() && (!is_spare || (is_of_use(tunnel) && spare <= SPARE))
            });
            tunnels.len() != before
        });
    }

    pub(super) fn begin_waiting(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Waiting(self)
    }

    pub(super) fn begin_making(&self) -> Making<'_> {
        self.making.fetch_add(1, Ordering::AcqRel);
        Making(self)
    }
}

fn flows(tunnel: &Tunnel, pod: &PodRef) -> bool {
    tunnel.leads_to(pod) && !tunnel.is_closed() && !tunnel.is_stalled()
}

/// A tunnel is being made. Those who wait for one look again when it is there, and when it will not be.
pub(super) struct Making<'p>(&'p Pool);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.making.fetch_sub(1, Ordering::AcqRel);
        self.0.tunnels.send_modify(|_| {});
    }
}

/// A client has no tunnel yet.
pub(super) struct Waiting<'p>(&'p Pool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

pub(super) struct Changes(watch::Receiver<Vec<Tunnel>>);

impl Changes {
    /// Until there is another tunnel, one less, or one is free.
    pub(super) async fn next(mut self) {
        // It cannot be closed: the sender is the forwarder's.
        let _ = self.0.changed().await;
    }
}
