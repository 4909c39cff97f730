//! Filters the lines that a reader gets.

use std::ops::Range;

use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::field::Field;
use super::pattern::Pattern;
use crate::segments::Segments;
use crate::segments::gap::Gap;
use crate::segments::segment::{Marks, Owner, Segment, SpanOwner};
use crate::segments::summary::{OwnerNumber, Summary};

/// A line matches if all conditions hold.
///
/// Source and level do not apply to headlines of updates: they show which update the lines below belong to.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Empty: all resources, and lilt's own lines.
    pub resources: Vec<ResourceName>,
    pub source: Option<Source>,
    /// Empty: all levels.
    pub levels: Vec<Level>,
    pub since: Option<Timestamp>,
    /// This section and those within it: a pod's (`pod:default:web-1`) contains those of its containers.
    pub span: Option<SpanId>,
    pub text: Option<Pattern>,
    /// All must match.
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

    fn matches_level(&self, level: Level) -> bool {
        self.levels.is_empty() || self.levels.contains(&level)
    }

    fn matches_source(&self, source: Source) -> bool {
        self.source.is_none_or(|wanted| wanted == source)
    }

    fn matches_span(&self, span: &SpanOwner) -> bool {
        let resource = span.owner.resource.as_ref();
        let of_resource = self.resources.is_empty() || resource.is_some_and(|it| self.resources.contains(it));
        of_resource && self.span.as_ref().is_none_or(|wanted| is_within(&span.id, wanted))
    }

    pub(super) fn matches_owner(&self, owner: &Owner) -> bool {
        let of_resource = || owner.resource.as_ref().is_some_and(|it| self.resources.contains(it));
        (self.resources.is_empty() || of_resource()) && self.matches_source(owner.source)
    }

    /// Returns the warning in place of lost lines; none if no matching owner lost any. The other conditions cannot be
    /// checked, since the lines are not known.
    pub(super) fn gap_warning(&self, gap: &Gap) -> Option<Segment> {
        if self.since.is_some_and(|since| gap.latest() < since) {
            return None;
        }
        gap.warning(|owner| self.matches_owner(owner), self.single_resource())
    }

    /// Returns the resource if the filter has exactly one.
    pub(super) fn single_resource(&self) -> Option<ResourceName> {
        match &*self.resources {
            [resource] => Some(resource.clone()),
            _ => None,
        }
    }

    /// Returns the matching lines in a range of a segment.
    pub(super) fn pick(&self, segment: &Segment, range: Range<usize>) -> Picked {
        if self.is_all() {
            return Picked::All(range);
        }
        // Computed once for each span: whether the span and whether its source match.
        let spans: Vec<(bool, bool)> = segment
            .spans
            .iter()
            .map(|span| (self.matches_span(span), self.matches_source(span.owner.source)))
            .collect();
        let wanted = |index: usize| {
            let entry = &segment.entries[index];
            let (span, source) = spans[usize::from(entry.span)];
            let marked =
                entry.marks.has(Marks::HEADLINE) || (source && self.matches_level(entry.marks.level()));
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

    /// Resolves the filter to the numbers of the matching owners.
    pub(super) fn resolve(&self, segments: &Segments) -> Resolved {
        if self.resources.is_empty() && self.source.is_none() {
            return Resolved { owners: None };
        }
        let mut owners = Vec::new();
        if self.resources.is_empty() {
            owners.extend(
                segments.owners.all().map(|(owner, number)| (number, self.matches_source(owner.source))),
            );
        }
        for resource in &self.resources {
            for source in [Source::Build, Source::Runtime] {
                let owner = Owner { resource: Some(resource.clone()), source };
                owners
                    .extend(segments.owners.find(&owner).map(|number| (number, self.matches_source(source))));
            }
        }
        Resolved { owners: Some(owners) }
    }
}

fn is_within(span: &SpanId, wanted: &SpanId) -> bool {
    let rest = span.as_str().strip_prefix(wanted.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Selected lines of a segment, by index.
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

    pub(super) fn get(&self, position: usize) -> usize {
        match self {
            Picked::All(range) => range.start + position,
            Picked::Some(indexes) => indexes[position] as usize,
        }
    }

    /// Removes the first `place` lines.
    pub(super) fn cut_front(&mut self, position: usize) {
        match self {
            Picked::All(range) => range.start += position,
            Picked::Some(indexes) => {
                indexes.drain(..position);
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

/// The matching owners, and for each whether lines other than headlines match. None: all owners.
#[derive(Debug)]
pub(super) struct Resolved {
    owners: Option<Vec<(OwnerNumber, bool)>>,
}

impl Resolved {
    /// Returns whether a segment may have a matching line.
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

    /// Returns the range of all matching lines, and their maximum number. None: not known.
    pub(super) fn extent(&self, segments: &Segments) -> Option<(Range<u64>, u64)> {
        let written = self.owners.as_ref()?.iter().map(|(owner, _)| segments.owners.written(*owner));
        let written: Vec<_> = written.filter(|written| written.end > 0).collect();
        let first = written.iter().map(|it| it.first).min().unwrap_or(0);
        let end = written.iter().map(|it| it.end).max().unwrap_or(0);
        Some((first..end, written.iter().flat_map(|it| it.levels).sum()))
    }
}
