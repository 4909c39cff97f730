//! The history of the latest changes, for watchers of every change.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::object::Snapshot;

/// The size in bytes of the remembered changes, if all of them were written as JSON.
pub(crate) const MAX_HISTORY: usize = 2 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEventType {
    Added,
    Modified,
    Deleted,
}

/// A change of an object.
#[derive(Debug)]
pub struct WatchEvent {
    pub event_type: WatchEventType,
    /// The object after the change. For a deletion, it has the version of the deletion.
    pub object: Snapshot,
    /// The object before the change, if it existed.
    pub before: Option<Snapshot>,
}

impl WatchEvent {
    fn length(&self) -> usize {
        self.object.length() + self.before.as_ref().map_or(0, Snapshot::length)
    }
}

/// The requested version is older than the history, or of another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The newest version.
    pub newest: u64,
}

#[derive(Debug, Default)]
pub(crate) struct History {
    /// Ordered by version.
    events: VecDeque<Arc<WatchEvent>>,
    length: usize,
    /// Changes up to this version may have been dropped.
    dropped: u64,
}

impl History {
    /// Adds a change, and drops the oldest changes beyond the limit.
    pub(crate) fn push(&mut self, event: WatchEvent) {
        self.length += event.length();
        self.events.push_back(Arc::new(event));
        while self.length > MAX_HISTORY {
            let Some(oldest) = self.events.pop_front() else { break };
            self.length -= oldest.length();
            self.dropped = oldest.object.version;
        }
    }

    /// Returns whether all changes after this version are remembered.
    pub(crate) fn covers(&self, version: u64) -> bool {
        version >= self.dropped
    }

    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &Arc<WatchEvent>> {
        let first = self.events.partition_point(|event| event.object.version <= version);
        self.events.range(first..)
    }
}
