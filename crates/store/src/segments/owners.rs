//! Whose lines there are, with their numbers in the summaries of segments, and how many lines each has.

use std::collections::{HashMap, VecDeque};

use lilt_model::SpanId;
use lilt_model::log::Source;

use super::segment::{Owner, SpanOwner};
use super::summary::OwnerNumber;

/// What one owner wrote so far, given up or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) levels: [u64; 3],
    /// The number of its first line, and the one behind its last.
    pub(crate) first: u64,
    pub(crate) end: u64,
}

/// The sections of what a resource runs that are remembered; of the oldest pods only the lines are kept.
const SECTIONS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Owners {
    numbers: HashMap<Owner, OwnerNumber>,
    written: Vec<Written>,
    /// Oldest first. What updates said is told apart by its headlines, and would be many.
    sections: HashMap<OwnerNumber, VecDeque<SpanId>>,
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

    /// A section of this owner begins, maybe not for the first time.
    pub(super) fn begins(&mut self, number: OwnerNumber, span: &SpanOwner) {
        if span.owner.source != Source::Runtime || span.owner.resource.is_none() {
            return;
        }
        let sections = self.sections.entry(number).or_default();
        if sections.contains(&span.id) {
            return;
        }
        if sections.len() == SECTIONS {
            sections.pop_front();
        }
        sections.push_back(span.id.clone());
    }

    pub(crate) fn sections(&self, number: OwnerNumber) -> Vec<SpanId> {
        self.sections.get(&number).into_iter().flatten().cloned().collect()
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

    /// Lines from `first` up to `end` are of this owner, so many of each level.
    pub(super) fn wrote(&mut self, number: OwnerNumber, levels: [u64; 3], first: u64, end: u64) {
        let Some(written) = self.written.get_mut(number as usize).filter(|_| end > first) else { return };
        if written.levels == [0; 3] {
            written.first = first;
        }
        for (known, more) in written.levels.iter_mut().zip(levels) {
            *known += more;
        }
        written.end = end;
    }
}
