//! The state that all clones of a connection share: its credentials, the kinds that the cluster serves, recent lists.
//!
//! Runners use clones of one [`Cluster`](crate::Cluster) at the same time. Each of them having its own state would mean a
//! login and a discovery request per runner. An owner with a channel would need a task, which a value that can be cloned
//! anywhere has no place for, and every request would wait for two messages.
//!
//! So this is the one place with a lock. Everything in it can be fetched from the cluster or the kubeconfig again, and no
//! order of events depends on it. Callers pass closures, so the lock is never held during a request.
#![expect(clippy::disallowed_types, reason = "the one lock of this crate, which this module explains")]

use std::sync::{Arc, PoisonError, RwLock};

/// A value shared by all clones of a connection.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Arc<RwLock<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(RwLock::new(value)))
    }

    /// Reads the value. `read` must not block.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        // A panic in `update` leaves a complete value: none of the callers changes several parts with code between.
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the value. `update` must not block.
    pub(crate) fn update<R>(&self, update: impl FnOnce(&mut T) -> R) -> R {
        update(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}
