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

/// Places for connections. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSlots {
    free: Arc<Semaphore>,
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
        Self { free: Arc::new(Semaphore::new(most)), most }
    }

    /// How many there are.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// A place until it is dropped; none if all are taken.
    pub(super) fn try_take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Waits for a place. Who asked first is first.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        Arc::clone(&self.free).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_is_left_for_the_rest_of_the_session() {
        let most = |limit| ConnectionSlots::within(limit).most();
        assert_eq!(most(Some(256)), 64);
        assert_eq!(most(Some(1024)), 384);
        assert_eq!(most(Some(4096)), 1536);
        assert_eq!(most(Some(16)), FEWEST);
        assert!(most(None) > 1_000_000);
    }

    #[tokio::test]
    async fn place_is_free_again_after_its_connection() {
        let slots = ConnectionSlots::within(Some(16));
        let mut taken: Vec<_> = std::iter::from_fn(|| slots.try_take()).collect();
        assert_eq!(taken.len(), FEWEST);
        let waiting = tokio::spawn({
            let slots = slots.clone();
            async move { slots.take().await.is_some() }
        });
        drop(taken.pop());
        assert!(waiting.await.unwrap());
    }
}
