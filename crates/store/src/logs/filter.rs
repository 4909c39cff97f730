//! Which lines a reader wants.

use std::ops::Range;

use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::field::Field;
use super::pattern::Pattern;
use crate::segments::Segments;
use crate::segments::gap::Gap;
use crate::segments::segment::{Marks, Owner, Segment, SpanOwner};
use crate::segments::summary::{OwnerNumber, Summary};

/// All that is said must be so. Headlines of updates are not asked for their source and level: they tell which update
/// the lines around them are of.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Empty: all of them, and lilt's own lines.
    pub resources: Vec<ResourceName>,
    pub source: Option<Source>,
    /// Empty: all of them.
    pub levels: Vec<Level>,
    pub since: Option<Timestamp>,
    /// This section, or those within it: a pod's (`pod:default:web-1`) has those of its containers in it.
    pub span: Option<SpanId>,
    pub text: Option<Pattern>,
    /// All of them.
    pub fields: Vec<Field>,
}

impl Filter {
    pub fn is_all(&self) -> bool {
        self.resources.is_empty()
            && self.source.is_none()
            && self.levels.is_empty()
            && self.since.is_none()
            && self.span.is_none()
            && self.text.is_none()
            && self.fields.is_empty()
    }

    fn wants_level(&self, level: Level) -> bool {
        self.levels.is_empty() || self.levels.contains(&level)
    }

    fn wants_source(&self, source: Source) -> bool {
        self.source.is_none_or(|wanted| wanted == source)
    }

    fn wants_span(&self, span: &SpanOwner) -> bool {
        let resource = span.owner.resource.as_ref();
        let of_resource = self.resources.is_empty() || resource.is_some_and(|it| self.resources.contains(it));
        of_resource && self.span.as_ref().is_none_or(|wanted| is_within(&span.id, wanted))
    }

    pub(super) fn wants_owner(&self, owner: &Owner) -> bool {
        let of_resource = || owner.resource.as_ref().is_some_and(|it| self.resources.contains(it));
        (self.resources.is_empty() || of_resource()) && self.wants_source(owner.source)
    }

    /// Returns the line that stands for lines that are lost; none if the wanted ones were not among them. What was in them is
    /// not known: nothing else is asked of them.
    pub(super) fn notice(&self, gap: &Gap) -> Option<Segment> {
        if self.since.is_some_and(|since| gap.latest() < since) {
            return None;
        }
        gap.notice(|owner| self.wants_owner(owner), self.single_resource())
    }

    /// The resource that all wanted lines are of.
    pub(super) fn single_resource(&self) -> Option<ResourceName> {
        match &*self.resources {
            [resource] => Some(resource.clone()),
            _ => None,
        }
    }

    /// The wanted lines of a segment between two.
    pub(super) fn pick(&self, segment: &Segment, range: Range<usize>) -> Picked {
        if self.is_all() {
            return Picked::All(range);
        }
        // By span, once for all its lines: whether wanted at all, and with its source.
        let spans: Vec<(bool, bool)> = segment
            .spans
            .iter()
            .map(|span| (self.wants_span(span), self.wants_source(span.owner.source)))
            .collect();
        let wanted = |index: usize| {
            let entry = &segment.entries[index];
            let (span, source) = spans[usize::from(entry.span)];
            let marked =
                entry.marks.has(Marks::HEADLINE) || (source && self.wants_level(entry.marks.level()));
            span && marked && self.since.is_none_or(|since| entry.time >= since)
        };
        let mut picked: Vec<u32> = match &self.text {
            None => range.filter(|index| wanted(*index)).map(|index| index as u32).collect(),
            Some(pattern) => {
                let mut found = pattern.find(segment, range.start, range.end);
                found.retain(|index| wanted(*index as usize));
                found
            }
        };
        for field in &self.fields {
            picked.retain(|index| field.matches(segment.text_of(*index as usize)));
        }
        Picked::Some(picked)
    }

    /// What it means for the owners there are now.
    pub(super) fn resolve(&self, segments: &Segments) -> Resolved {
        if self.resources.is_empty() && self.source.is_none() {
            return Resolved { owners: None };
        }
        let mut owners = Vec::new();
        if self.resources.is_empty() {
            owners.extend(
                segments.owners.all().map(|(owner, number)| (number, self.wants_source(owner.source))),
            );
        }
        for resource in &self.resources {
            for source in [Source::Build, Source::Runtime] {
                let owner = Owner { resource: Some(resource.clone()), source };
                owners.extend(segments.owners.find(&owner).map(|number| (number, self.wants_source(source))));
            }
        }
        Resolved { owners: Some(owners) }
    }
}

fn is_within(span: &SpanId, wanted: &SpanId) -> bool {
    let rest = span.as_str().strip_prefix(wanted.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Lines of a segment, by their index.
#[derive(Clone, Debug)]
pub(super) enum Picked {
    All(Range<usize>),
    Some(Vec<u32>),
}

impl Picked {
    pub(super) fn len(&self) -> usize {
        match self {
            Picked::All(range) => range.len(),
            Picked::Some(indexes) => indexes.len(),
        }
    }

    pub(super) fn get(&self, place: usize) -> usize {
        match self {
            Picked::All(range) => range.start + place,
            Picked::Some(indexes) => indexes[place] as usize,
        }
    }

    /// Leaves out those before a place.
    pub(super) fn cut_front(&mut self, place: usize) {
        match self {
            Picked::All(range) => range.start += place,
            Picked::Some(indexes) => {
                indexes.drain(..place);
            }
        }
    }

    pub(super) fn truncate(&mut self, length: usize) {
        match self {
            Picked::All(range) => range.end = range.end.min(range.start + length),
            Picked::Some(indexes) => indexes.truncate(length),
        }
    }
}

/// The owners whose lines are wanted, and whether more of each than its headlines. None: all.
#[derive(Debug)]
pub(super) struct Resolved {
    owners: Option<Vec<(OwnerNumber, bool)>>,
}

impl Resolved {
    /// Whether a segment may have a wanted line.
    pub(super) fn may_match(&self, filter: &Filter, summary: &Summary) -> bool {
        if filter.since.is_some_and(|since| summary.latest < since) {
            return false;
        }
        let level = filter.levels.is_empty() || filter.levels.iter().any(|level| summary.has(*level));
        let headline = summary.headlines > 0;
        match &self.owners {
            None => level || headline,
            Some(owners) => owners
                .iter()
                .any(|(owner, whole)| (headline || (level && *whole)) && summary.may_have(*owner)),
        }
    }

    /// Between which lines all wanted ones are, and how many there are at most. None: cannot be told.
    pub(super) fn extent(&self, segments: &Segments) -> Option<(Range<u64>, u64)> {
        let written = self.owners.as_ref()?.iter().map(|(owner, _)| segments.owners.written(*owner));
        let written: Vec<_> = written.filter(|written| written.end > 0).collect();
        let first = written.iter().map(|it| it.first).min().unwrap_or(0);
        let end = written.iter().map(|it| it.end).max().unwrap_or(0);
        Some((first..end, written.iter().flat_map(|it| it.levels).sum()))
    }
}
