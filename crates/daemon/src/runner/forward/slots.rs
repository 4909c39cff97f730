//! Limits the connections of all forwards, so that file descriptors are left for the rest of the session: its own port,
//! watches, builds, connections to clusters.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One for the client, one for the pod.
const FILES_PER_CONNECTION: u64 = 2;
/// The descriptors that the rest of a session needs, if the limit allows that many.
const RESERVE: u64 = 256;
/// Forwards would be useless with fewer.
const FEWEST: usize = 8;

/// One of this many permits is reserved for forwards with few connections.
const KEPT: usize = 4;
/// How many reserved permits one forward may have.
const FEW: usize = 4;

/// The permits for all connections. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSlots {
    /// For all forwards, first come, first served.
    shared: Arc<Semaphore>,
    /// Reserved for forwards with few connections: a flooded one must not starve the others.
    kept: Arc<Semaphore>,
    most: usize,
}

impl ConnectionSlots {
    /// Computes the permits from the limit of open files; none: unlimited.
    pub(crate) fn within(open_files: Option<u64>) -> Self {
        let most = open_files.map_or(Semaphore::MAX_PERMITS, |limit| {
            let reserve = (limit / 4).max(RESERVE.min(limit / 2));
            let most = (limit - reserve) / FILES_PER_CONNECTION;
            usize::try_from(most).unwrap_or(usize::MAX).clamp(FEWEST, Semaphore::MAX_PERMITS)
        });
        let kept = most / KEPT;
        Self { shared: Arc::new(Semaphore::new(most - kept)), kept: Arc::new(Semaphore::new(kept)), most }
    }

    pub(super) fn of_forward(&self) -> ForwardSlots {
        ForwardSlots { all: self.clone(), own: Arc::new(Semaphore::new(FEW)) }
    }
}

/// The permits of one forward.
#[derive(Debug)]
pub(super) struct ForwardSlots {
    all: ConnectionSlots,
    /// How many reserved permits it may still take.
    own: Arc<Semaphore>,
}

/// The permit of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    /// The forward's share, if the permit is a reserved one.
    _own: Option<OwnedSemaphorePermit>,
}

impl ForwardSlots {
    /// Returns the number of permits for all forwards.
    pub(super) fn most(&self) -> usize {
        self.all.most
    }

    /// Returns a permit if one is free.
    pub(super) fn try_acquire(&self) -> Option<ConnectionPermit> {
        if let Ok(permit) = Arc::clone(&self.all.shared).try_acquire_owned() {
            return Some(ConnectionPermit { _permit: permit, _own: None });
        }
        let own = Arc::clone(&self.own).try_acquire_owned().ok()?;
        let permit = Arc::clone(&self.all.kept).try_acquire_owned().ok()?;
        Some(ConnectionPermit { _permit: permit, _own: Some(own) })
    }

    /// Waits for a permit, first come, first served.
    pub(super) fn acquire(&self) -> impl Future<Output = ConnectionPermit> + Send + use<> {
        let shared = Arc::clone(&self.all.shared);
        let (own, kept) = (Arc::clone(&self.own), Arc::clone(&self.all.kept));
        async move {
            let kept = async move {
                let own = own.acquire_owned().await.ok()?;
                Some((kept.acquire_owned().await.ok()?, own))
            };
            // The semaphores are never closed.
            tokio::select! {
                Ok(permit) = shared.acquire_owned() => ConnectionPermit { _permit: permit, _own: None },
                Some((permit, own)) = kept => ConnectionPermit { _permit: permit, _own: Some(own) },
                else => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_reserved_for_the_rest_of_the_session() {
        let most = |limit| ConnectionSlots::within(limit).most;
        assert_eq!(most(Some(256)), 64);
        assert_eq!(most(Some(1024)), 384);
        assert_eq!(most(Some(4096)), 1536);
        assert_eq!(most(Some(16)), FEWEST);
        assert!(most(None) > 1_000_000);
    }

    fn fill(slots: &ForwardSlots) -> Vec<ConnectionPermit> {
        std::iter::from_fn(|| slots.try_acquire()).collect()
    }

    #[tokio::test]
    async fn permit_is_free_after_its_connection_ends() {
        let slots = ConnectionSlots::within(Some(16)).of_forward();
        let mut taken = fill(&slots);
        assert_eq!(taken.len(), FEWEST);
        let waiting = tokio::spawn(slots.acquire());
        drop(taken.pop());
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn flooded_forward_leaves_permits_to_others() {
        let slots = ConnectionSlots::within(Some(256));
        let flooded = slots.of_forward();
        let taken = fill(&flooded);
        assert_eq!(taken.len(), slots.most - slots.most / KEPT + FEW);
        let waiting = tokio::spawn(flooded.acquire());
        let other = slots.of_forward();
        let few = fill(&other);
        assert_eq!(few.len(), FEW);
        assert!(!waiting.is_finished());
        drop(few);
        other.acquire().await;
        drop(taken);
        waiting.await.unwrap();
    }
}
