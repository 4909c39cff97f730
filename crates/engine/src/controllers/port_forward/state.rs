//! The state of each port forward.

use std::collections::BTreeMap;

use lilt_model::Timestamp;
use lilt_model::kubernetes::{Forward, ForwardPlace};
use serde::{Deserialize, Serialize, Serializer};

use crate::event::ForwardState;
use crate::owner::Owner;

/// Identifies a forward among those of its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ForwardSlot {
    pub place: ForwardPlace,
    /// Numbers the forwards with the same place, such as several that use any free port.
    pub ordinal: u16,
}

impl From<ForwardPlace> for ForwardSlot {
    fn from(place: ForwardPlace) -> Self {
        Self { place, ordinal: 0 }
    }
}

/// One forward as its task last reported it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ForwardRun {
    /// The requested forward.
    pub(super) forward: Forward,
    /// The port on this machine.
    pub(super) local_port: u16,
    pub(super) state: ForwardState,
    /// The time of the last change of `state`.
    pub(super) since: Timestamp,
}

/// The forwards that were reported, by owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PortForwards {
    pub(super) runs: BTreeMap<Owner, BTreeMap<ForwardSlot, ForwardRun>>,
}

impl Serialize for PortForwards {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let runs = self.runs.iter().map(|(owner, runs)| (owner, runs.iter().collect::<Vec<_>>()));
        serializer.collect_seq(runs)
    }
}

impl PortForwards {
    pub(super) fn get(&self, owner: &Owner, slot: &ForwardSlot) -> Option<&ForwardRun> {
        self.runs.get(owner)?.get(slot)
    }
}
