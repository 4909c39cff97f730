//! Whose lines there are, with their numbers in the summaries of segments, and how many lines each has.

use std::collections::HashMap;

use lilt_model::log::Level;

use super::segment::Owner;
use super::summary::OwnerNumber;

/// What one owner wrote so far, given up or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) levels: [u64; 3],
    /// The number of its first line, and the one behind its last.
    pub(crate) first: u64,
    pub(crate) end: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Owners {
    numbers: HashMap<Owner, OwnerNumber>,
    written: Vec<Written>,
}

impl Owners {
    pub(crate) fn number(&mut self, owner: &Owner) -> OwnerNumber {
        if let Some(number) = self.numbers.get(owner) {
            return *number;
        }
        let number = u32::try_from(self.written.len()).unwrap_or(u32::MAX);
        self.written.push(Written::default());
        self.numbers.insert(owner.clone(), number);
        number
    }

    /// None: it has never been heard of.
    pub(crate) fn find(&self, owner: &Owner) -> Option<OwnerNumber> {
        self.numbers.get(owner).copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&Owner, OwnerNumber)> {
        self.numbers.iter().map(|(owner, number)| (owner, *number))
    }

    pub(crate) fn written(&self, number: OwnerNumber) -> Written {
        self.written.get(number as usize).copied().unwrap_or_default()
    }

    /// Lines from `first` up to `end` are of this owner.
    pub(super) fn wrote(&mut self, number: OwnerNumber, level: Level, first: u64, end: u64) {
        let Some(written) = self.written.get_mut(number as usize).filter(|_| end > first) else { return };
        if written.levels == [0; 3] {
            written.first = first;
        }
        written.levels[level as usize] += end - first;
        written.end = end;
    }
}
