//! An index of the latest changes of typed objects, for readers of the newest state.
//!
//! A slow page gets each changed object once, in its newest state, however often it changed meanwhile. It has to start
//! over only if deletions that it missed are no longer remembered.

use std::collections::{BTreeMap, VecDeque};

use crate::object::Key;

/// How many deletions are remembered.
pub(crate) const MAX_DELETIONS: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct ChangeIndex {
    /// The existing typed objects by their current versions.
    existing: BTreeMap<u64, Key>,
    /// Ordered by version.
    deletions: VecDeque<(u64, Key)>,
    /// Deletions up to this version may have been dropped.
    dropped: u64,
}

impl ChangeIndex {
    pub(crate) fn put(&mut self, key: Key, before: Option<u64>, version: u64) {
        if let Some(before) = before {
            self.existing.remove(&before);
        }
        self.existing.insert(version, key);
    }

    pub(crate) fn remove(&mut self, key: Key, before: u64, version: u64) {
        self.existing.remove(&before);
        self.deletions.push_back((version, key));
        while self.deletions.len() > MAX_DELETIONS
            && let Some((oldest, _)) = self.deletions.pop_front()
        {
            self.dropped = oldest;
        }
    }

    /// Returns whether all deletions after this version are remembered.
    pub(crate) fn covers(&self, version: u64) -> bool {
        version >= self.dropped
    }

    /// Returns the existing objects that changed after this version.
    pub(crate) fn changed_since(&self, version: u64) -> impl Iterator<Item = &Key> {
        self.existing.range(version + 1..).map(|(_, key)| key)
    }

    /// Returns the objects that were deleted after this version. Some may exist again.
    pub(crate) fn deleted_since(&self, version: u64) -> impl Iterator<Item = &Key> {
        let first = self.deletions.partition_point(|(deleted, _)| *deleted <= version);
        self.deletions.range(first..).map(|(_, key)| key)
    }
}
