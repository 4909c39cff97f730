//! How many connections all forwards may have at once, so that descriptors are left for the rest of the session: its own
//! port, watches, builds, the connections to clusters.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One for the client, one for the pod.
const FILES_PER_CONNECTION: u64 = 2;
/// What the rest of a session needs, if so much is to be had.
const RESERVE: u64 = 256;
/// Without these, forwards would be of no use.
const FEWEST: usize = 8;

/// The part of all places that is kept for forwards with few connections.
const KEPT: usize = 4;
/// So many connections of one forward may have a permit of those.
const FEW: usize = 4;

/// Places for connections. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSlots {
    /// For all forwards, in the order of their requests.
    shared: Arc<Semaphore>,
    /// For forwards that have few: one that is flooded must not starve the others.
    kept: Arc<Semaphore>,
    most: usize,
}

impl ConnectionSlots {
    /// For a process that may have so many files open; none: as many as it likes.
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

/// The places that one forward may take.
#[derive(Debug)]
pub(super) struct ForwardSlots {
    all: ConnectionSlots,
    /// How many of the places that are kept it may still take.
    own: Arc<Semaphore>,
}

/// The permit of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    /// Of the forward, if the permit is one of those that are kept.
    _own: Option<OwnedSemaphorePermit>,
}

impl ForwardSlots {
    /// How many there are for all forwards.
    pub(super) fn most(&self) -> usize {
        self.all.most
    }

    /// None if all are taken.
    pub(super) fn try_acquire(&self) -> Option<ConnectionPermit> {
        if let Ok(permit) = Arc::clone(&self.all.shared).try_acquire_owned() {
            return Some(ConnectionPermit { _permit: permit, _own: None });
        }
        let own = Arc::clone(&self.own).try_acquire_owned().ok()?;
        let permit = Arc::clone(&self.all.kept).try_acquire_owned().ok()?;
        Some(ConnectionPermit { _permit: permit, _own: Some(own) })
    }

    /// Waits for a permit. Who asked first is first.
    pub(super) fn acquire(&self) -> impl Future<Output = ConnectionPermit> + Send + use<> {
        let shared = Arc::clone(&self.all.shared);
        let (own, kept) = (Arc::clone(&self.own), Arc::clone(&self.all.kept));
        async move {
            let kept = async move {
                let own = own.acquire_owned().await.ok()?;
                Some((kept.acquire_owned().await.ok()?, own))
            };
            // Neither is ever closed.
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
    fn reserve_is_left_for_the_rest_of_the_session() {
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
    async fn place_is_free_again_after_its_connection() {
        let slots = ConnectionSlots::within(Some(16)).of_forward();
        let mut taken = fill(&slots);
        assert_eq!(taken.len(), FEWEST);
        let waiting = tokio::spawn(slots.acquire());
        drop(taken.pop());
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn flooded_forward_leaves_places_to_others() {
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
