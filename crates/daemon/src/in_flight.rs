//! What is on its way to a cluster: it has to arrive, or to be given up, before it can be deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use lilt_model::ResourceName;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How many requests that write are under way for each resource. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct InFlightWrites(Arc<watch::Sender<BTreeMap<ResourceName, usize>>>);

impl Default for InFlightWrites {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(BTreeMap::new())))
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlightWrite {
    all: InFlightWrites,
    resource: ResourceName,
}

impl InFlightWrites {
    /// None if the task was cancelled: whoever deletes may have looked already, and found nothing under way.
    pub(crate) fn begin(&self, resource: &ResourceName, cancel: &CancellationToken) -> Option<InFlightWrite> {
        self.0.send_modify(|all| *all.entry(resource.clone()).or_default() += 1);
        let write = InFlightWrite { all: self.clone(), resource: resource.clone() };
        (!cancel.is_cancelled()).then_some(write)
    }

    pub(crate) fn is_under_way(&self, resource: &ResourceName) -> bool {
        self.0.borrow().contains_key(resource)
    }

    /// Waits until nothing of a resource is under way.
    pub(crate) async fn none_of(&self, resource: &ResourceName) {
        let mut all = self.0.subscribe();
        // It cannot be closed: this is its sender.
        let _ = all.wait_for(|all| !all.contains_key(resource)).await;
    }
}

impl Drop for InFlightWrite {
    fn drop(&mut self) {
        self.all.0.send_modify(|all| {
            if let Some(count) = all.get_mut(&self.resource) {
                *count -= 1;
                if *count == 0 {
                    all.remove(&self.resource);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_deletion_waits_for_what_was_under_way_before_it() {
        let (in_flight, cancel, web) =
            (InFlightWrites::default(), CancellationToken::new(), ResourceName::new("web"));
        let write = in_flight.begin(&web, &cancel).expect("nobody has cancelled");
        let second = in_flight.begin(&web, &cancel).expect("nobody has cancelled");
        in_flight.none_of(&ResourceName::new("other")).await;
        cancel.cancel();
        assert!(in_flight.begin(&web, &cancel).is_none(), "it is too late to begin");
        let waiter = tokio::spawn({
            let (in_flight, web) = (in_flight.clone(), web.clone());
            async move { in_flight.none_of(&web).await }
        });
        drop(write);
        tokio::task::yield_now().await;
        assert!(in_flight.is_under_way(&web) && !waiter.is_finished());
        drop(second);
        waiter.await.expect("it ends");
        assert!(!in_flight.is_under_way(&web));
    }
}
