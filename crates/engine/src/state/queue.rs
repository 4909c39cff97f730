//! Resources with an update to start, in the order they should start.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use lilt_model::ResourceName;
use serde::Serialize;

/// The order of the queue: smaller ranks start first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Rank {
    /// A manual trigger, first come first served.
    Triggered(u64),
    /// Pending changes, newest first: the user waits for them.
    Changed(Reverse<u64>),
    /// First round: local resources, objects without a workload, workloads without images, the rest.
    Initial(u8, u32),
}

impl Rank {
    pub(crate) fn changed(sequence: u64) -> Self {
        Rank::Changed(Reverse(sequence))
    }
}

/// Two lists, so that updates that must run alone do not require a search through the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Queue {
    alone: BTreeSet<(Rank, ResourceName)>,
    parallel: BTreeSet<(Rank, ResourceName)>,
}

impl Queue {
    pub(crate) fn insert(&mut self, rank: Rank, name: ResourceName, alone: bool) {
        if alone { &mut self.alone } else { &mut self.parallel }.insert((rank, name));
    }

    pub(crate) fn remove(&mut self, rank: Rank, name: &ResourceName) {
        let key = (rank, name.clone());
        if !self.parallel.remove(&key) {
            self.alone.remove(&key);
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &ResourceName> {
        self.alone.iter().chain(&self.parallel).map(|(_, name)| name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.alone.is_empty() && self.parallel.is_empty()
    }

    /// Returns the next update to start while `running` updates run, none of which must run alone.
    pub(crate) fn first(&self, running: usize) -> Option<&(Rank, ResourceName)> {
        let parallel = self.parallel.first();
        // An update that must run alone waits until nothing runs. Meanwhile others start.
        let alone = if running == 0 { self.alone.first() } else { None };
        match (alone, parallel) {
            (Some(alone), Some(parallel)) => Some(alone.min(parallel)),
            (alone, parallel) => alone.or(parallel),
        }
    }
}
