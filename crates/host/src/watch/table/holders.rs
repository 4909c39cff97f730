//! The regions that hold a directory: nearly always one, which then needs no allocation.

use crate::watch::region::RegionId;

#[derive(Clone, Debug)]
pub(in crate::watch) enum Holders {
    One(RegionId),
    /// Zero, or more than one.
    Several(Vec<RegionId>),
}

impl Default for Holders {
    fn default() -> Self {
        Holders::Several(Vec::new())
    }
}

impl Holders {
    pub(in crate::watch) fn as_slice(&self) -> &[RegionId] {
        match self {
            Holders::One(holder) => std::slice::from_ref(holder),
            Holders::Several(holders) => holders,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    pub(super) fn add(&mut self, holder: RegionId) {
        match self {
            _ if self.as_slice().contains(&holder) => {}
            Holders::One(first) => *self = Holders::Several(vec![*first, holder]),
            Holders::Several(holders) if holders.is_empty() => *self = Holders::One(holder),
            Holders::Several(holders) => holders.push(holder),
        }
    }

    /// Returns whether it was one of them.
    pub(super) fn remove(&mut self, holder: RegionId) -> bool {
        if !self.as_slice().contains(&holder) {
            return false;
        }
        match self {
            Holders::One(_) => *self = Holders::default(),
            Holders::Several(holders) => {
                holders.retain(|other| *other != holder);
                if let [last] = holders[..] {
                    *self = Holders::One(last);
                }
            }
        }
        true
    }
}
