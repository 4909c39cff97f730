//! The owners of lines, with the numbers that summaries of segments use for them and the number of their lines.

use std::collections::{HashMap, VecDeque};

use lilt_model::SpanId;
use lilt_model::log::Source;

use super::segment::{Owner, SpanOwner};
use super::summary::OwnerNumber;

/// The lines that an owner wrote so far, including deleted ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) levels: [u64; 3],
    /// The number of its first line, and the one after its last.
    pub(crate) first: u64,
    pub(crate) end: u64,
}

/// How many sections of a resource are remembered. Those of the oldest pods are forgotten.
const MAX_SECTIONS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Owners {
    numbers: HashMap<Owner, OwnerNumber>,
    written: Vec<Written>,
    /// Sections of what resources run, oldest first. Sections of updates are not kept: there are many, and headlines mark them.
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

    /// Adds a section of this owner, if it is new.
    pub(super) fn add_section(&mut self, number: OwnerNumber, span: &SpanOwner) {
        if span.owner.source != Source::Runtime || span.owner.resource.is_none() {
            return;
        }
        let sections = self.sections.entry(number).or_default();
        if sections.contains(&span.id) {
            return;
        }
        if sections.len() == MAX_SECTIONS {
            sections.pop_front();
        }
        sections.push_back(span.id.clone());
    }

    pub(crate) fn sections(&self, number: OwnerNumber) -> Vec<SpanId> {
        self.sections.get(&number).into_iter().flatten().cloned().collect()
    }

    /// Returns the number of an owner; none if it has no lines.
    pub(crate) fn find(&self, owner: &Owner) -> Option<OwnerNumber> {
        self.numbers.get(owner).copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&Owner, OwnerNumber)> {
        self.numbers.iter().map(|(owner, number)| (owner, *number))
    }

    pub(crate) fn written(&self, number: OwnerNumber) -> Written {
        self.written.get(number as usize).copied().unwrap_or_default()
    }

    /// Records that lines from `first` up to `end` are of this owner, with their number for each level.
    pub(super) fn add_lines(&mut self, number: OwnerNumber, levels: [u64; 3], first: u64, end: u64) {
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
