//! The tunnels of a forwarder, and which client may use which.
//!
//! Clients that need a tunnel wait for changes of the pool, so its whole state is in one `watch` channel. The lease of a
//! tunnel and the guards below change it when they are dropped.

use std::sync::Arc;
use std::time::Duration;

use lilt_model::cluster::PodRef;
use tokio::sync::watch;
use tokio::time::Instant;

use super::tunnel::{Lease, Tunnel};

/// Unused tunnels that are kept.
const MAX_SPARE: usize = 2;
/// So many clients have a tunnel of their own and cannot hold up another. Further ones share.
const MAX_EXCLUSIVE: usize = 100;
/// So many tunnels are opened at once.
const MAX_OPENING: usize = 8;
/// So many clients wait, like those of a connection pool. More are a burst and share existing tunnels: opening one for each of
/// two hundred would take longer than serving them all.
const MAX_WAITING: usize = 50;
/// How long a burst lasts after that.
const BURST_DURATION: Duration = Duration::from_secs(1);

pub(super) struct Pool {
    state: watch::Sender<State>,
}

#[derive(Default)]
struct State {
    tunnels: Vec<Tunnel>,
    /// Tunnels that are being opened.
    opening: usize,
    /// Clients without a tunnel.
    waiting: usize,
    burst_until: Option<Instant>,
}

/// What a client does if no tunnel is free.
pub(super) enum Action {
    Open,
    Share,
    Wait,
}

impl Pool {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { state: watch::Sender::default() })
    }

    pub(super) fn len(&self) -> usize {
        self.state.borrow().tunnels.len()
    }

    /// Subscribes to changes. Must be called before looking for a tunnel, so that no change is missed.
    pub(super) fn changes(&self) -> Changes {
        Changes(self.state.subscribe())
    }

    /// Leases an unused tunnel to this pod. Unused tunnels to other pods are closed.
    pub(super) fn lease_spare(self: &Arc<Self>, pod: &PodRef) -> Option<Lease> {
        let lease =
            self.state.borrow().tunnels.iter().filter(|it| is_usable(it, pod)).find_map(|it| it.lease(self));
        self.retain_useful(|tunnel| tunnel.is_for(pod));
        lease
    }

    /// Decides what a client does. Stalled tunnels do not count, because nobody can share them.
    pub(super) fn next_action(&self, pod: &PodRef) -> Action {
        let is_burst = self.is_burst();
        let state = self.state.borrow();
        let existing = state.opening + state.tunnels.iter().filter(|it| is_usable(it, pod)).count();
        if existing >= MAX_EXCLUSIVE || (existing >= MAX_OPENING && is_burst) {
            Action::Share
        } else if state.opening >= MAX_OPENING {
            Action::Wait
        } else {
            Action::Open
        }
    }

    fn is_burst(&self) -> bool {
        let now = Instant::now();
        let mut is_burst = false;
        self.state.send_if_modified(|state| {
            let is_crowded = state.waiting > MAX_WAITING;
            let was_burst = state.burst_until.is_some_and(|until| now < until);
            if is_crowded {
                state.burst_until = Some(now + BURST_DURATION);
            }
            is_burst = is_crowded || was_burst;
            // Those who wait may share now.
            is_crowded && !was_burst
        });
        is_burst
    }

    /// Leases the tunnel with the fewest clients; none if all are still being opened.
    pub(super) fn lease_shared(self: &Arc<Self>, pod: &PodRef) -> Option<Lease> {
        let state = self.state.borrow();
        let usable = state.tunnels.iter().filter(|it| is_usable(it, pod));
        usable.min_by_key(|tunnel| tunnel.clients()).map(|it| it.share(self))
    }

    pub(super) fn add(self: &Arc<Self>, tunnel: Tunnel) -> Lease {
        let lease = tunnel.lease(self).expect("invariant: nobody else knows a new tunnel");
        self.state.send_modify(|state| state.tunnels.push(tunnel));
        lease
    }

    pub(super) fn forget(&self, tunnel: &Tunnel) {
        self.state.send_modify(|state| state.tunnels.retain(|it| !it.is_same(tunnel)));
    }

    /// The last client of a tunnel has left.
    pub(super) fn release(&self) {
        self.retain_useful(|_| true);
        self.state.send_modify(|_| {});
    }

    /// Drops closed tunnels, and unused ones beyond a few.
    fn retain_useful(&self, is_useful: impl Fn(&Tunnel) -> bool) {
        self.state.send_if_modified(|state| {
            let (before, mut spare) = (state.tunnels.len(), 0);
            state.tunnels.retain(|tunnel| {
                let is_spare = !tunnel.is_in_use();
                spare += usize::from(is_spare);
                !tunnel.is_closed() && (!is_spare || (is_useful(tunnel) && spare <= MAX_SPARE))
            });
            state.tunnels.len() != before
        });
    }

    /// Counts the client as waiting until the guard is dropped.
    pub(super) fn begin_waiting(&self) -> Waiting<'_> {
        self.update_silently(|state| state.waiting += 1);
        Waiting(self)
    }

    /// Counts a tunnel as being opened until the guard is dropped.
    pub(super) fn begin_opening(&self) -> Opening<'_> {
        self.update_silently(|state| state.opening += 1);
        Opening(self)
    }

    /// Changes what no client waits for.
    fn update_silently(&self, update: impl FnOnce(&mut State)) {
        self.state.send_if_modified(|state| {
            update(state);
            false
        });
    }
}

fn is_usable(tunnel: &Tunnel, pod: &PodRef) -> bool {
    tunnel.is_for(pod) && !tunnel.is_closed() && !tunnel.is_stalled()
}

/// A tunnel is being opened. Waiting clients are woken when it is open, and when it could not be opened.
pub(super) struct Opening<'p>(&'p Pool);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.opening -= 1);
    }
}

/// A client without a tunnel.
pub(super) struct Waiting<'p>(&'p Pool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.update_silently(|state| state.waiting -= 1);
    }
}

pub(super) struct Changes(watch::Receiver<State>);

impl Changes {
    /// Waits until a tunnel is added, removed or free.
    pub(super) async fn next(mut self) {
        // The channel is open, because the forwarder owns the sender.
        let _ = self.0.changed().await;
    }
}
