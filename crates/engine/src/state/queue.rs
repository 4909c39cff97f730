//! Resources with an update to start, in the order they should start.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use lilt_model::ResourceName;
use serde::Serialize;

/// Smaller goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Rank {
    /// Asked for by hand, first come first served.
    Triggered(u64),
    /// Something changed, the newest change first: somebody waits for it.
    Changed(Reverse<u64>),
    /// First round: local resources, objects without a workload, workloads without images, the rest.
    Initial(u8, u32),
}

impl Rank {
    pub(crate) fn changed(sequence: u64) -> Self {
        Rank::Changed(Reverse(sequence))
    }
}

/// Two lists, so that updates that must run alone never make the others be looked through.
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

    /// The next one to start while `running` updates run, none of them alone.
    pub(crate) fn first(&self, running: usize) -> Option<&(Rank, ResourceName)> {
        let parallel = self.parallel.first();
        // One that must run alone waits until nothing runs; meanwhile the others go on.
        let alone = if running == 0 { self.alone.first() } else { None };
        match (alone, parallel) {
            (Some(alone), Some(parallel)) => Some(alone.min(parallel)),
            (alone, parallel) => alone.or(parallel),
        }
    }
}
