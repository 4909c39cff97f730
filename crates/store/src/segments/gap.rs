//! Gaps: lines that are lost because they could not be written to disk.

use std::collections::HashMap;

use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::segment::{Entry, Marks, Owner, Segment, SpanOwner};

/// Consecutive lost lines, and their owners.
#[derive(Debug)]
pub(crate) struct Gap {
    pub(crate) first: u64,
    pub(crate) end: u64,
    latest: Timestamp,
    owners: HashMap<Owner, Lost>,
}

/// The lost lines of one owner.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    count: u64,
    /// The number of the last one.
    last: u64,
}

impl Gap {
    /// Returns the gap that a lost segment leaves.
    pub(crate) fn of(segment: &Segment) -> Gap {
        let mut by_span = vec![Lost::default(); segment.spans.len()];
        let mut latest = Timestamp(i64::MIN);
        for (seq, entry) in (segment.first..).zip(&segment.entries) {
            let lost = &mut by_span[usize::from(entry.span)];
            *lost = Lost { count: lost.count + 1, last: seq };
            latest = latest.max(entry.time);
        }
        let mut gap = Gap { first: segment.first, end: segment.end(), latest, owners: HashMap::new() };
        for (span, lost) in segment.spans.iter().zip(by_span) {
            gap.add(span.owner.clone(), lost);
        }
        gap
    }

    /// Adds the gap that follows this one.
    pub(crate) fn extend(&mut self, next: Gap) {
        self.end = next.end;
        self.latest = self.latest.max(next.latest);
        next.owners.into_iter().for_each(|(owner, lost)| self.add(owner, lost));
    }

    fn add(&mut self, owner: Owner, lost: Lost) {
        let known = self.owners.entry(owner).or_default();
        *known = Lost { count: known.count + lost.count, last: known.last.max(lost.last) };
    }

    /// Returns how many lines of matching owners are lost.
    pub(crate) fn count(&self, is_wanted: impl Fn(&Owner) -> bool) -> u64 {
        self.owners.iter().filter(|(owner, _)| is_wanted(owner)).map(|(_, lost)| lost.count).sum()
    }

    pub(crate) fn latest(&self) -> Timestamp {
        self.latest
    }

    /// Returns a warning in place of the last lost line of the matching owners; none if they lost none.
    pub(crate) fn warning(
        &self,
        is_wanted: impl Fn(&Owner) -> bool,
        resource: Option<ResourceName>,
    ) -> Option<Segment> {
        let wanted = self.owners.iter().filter(|(owner, _)| is_wanted(owner));
        let last = wanted.map(|(_, lost)| *lost).filter(|lost| lost.count > 0).map(|lost| lost.last).max()?;
        let count = self.count(is_wanted);
        let words = format!("{count} lines are missing here: they could not be written to disk");
        Some(warning(last, self.latest, resource, &words))
    }
}

/// Returns a segment with a warning of the store itself.
pub(crate) fn warning(seq: u64, time: Timestamp, resource: Option<ResourceName>, words: &str) -> Segment {
    let span = SpanOwner { id: SpanId::new("log"), owner: Owner { resource, source: Source::Runtime } };
    let text = format!("WARNING: {words}\n");
    let marks = Marks::of(Level::Warn);
    let entry = Entry { time, end: text.len() as u32, span: 0, marks };
    Segment { first: seq, entries: vec![entry], text, spans: vec![span] }
}
