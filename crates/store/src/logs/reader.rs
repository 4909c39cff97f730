//! Reads the log forwards, backwards, by filter, and as it grows.
//!
//! No lock is held while a file is read or lines are searched, and no state is kept for a reader, so a slow reader costs
//! nothing.

use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use lilt_model::log::{Level, Line, Source};
use lilt_model::secret::Redactor;
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::assembler::PARTIAL_DELAY;
use super::filter::{Filter, Picked, Resolved};
use super::{Shared, Tip, lock};
use crate::segments::segment::{LineRef, Marks, Owner, Segment};
use crate::segments::summary::Summary;
use crate::segments::{SegmentLocation, Segments, file, gap};

/// How many segments one call searches before it returns what it has, since the client may be gone.
const MAX_SEARCHED: usize = 64;
/// How many lines are copied at once from the open segment.
const MAX_COPIED: usize = 2048;

/// Reads the log by sequence number.
#[derive(Clone)]
pub struct LogReader {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogReader").finish_non_exhaustive()
    }
}

/// Lines of one segment.
#[derive(Debug)]
pub struct Lines {
    segment: Arc<Segment>,
    picked: Picked,
    /// Where to continue: the line after these, or, when reading backwards, the first of them.
    pub next: u64,
}

impl Lines {
    /// Returns a warning in place of missing lines.
    fn warning(warning: Segment, next: u64) -> Lines {
        Lines { segment: Arc::new(warning), picked: Picked::All(0..1), next }
    }

    /// Returns no lines, to continue at `next`.
    fn none(next: u64) -> Lines {
        Lines { segment: Arc::default(), picked: Picked::All(0..0), next }
    }

    pub fn len(&self) -> usize {
        self.picked.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = LineRef<'_>> {
        (0..self.len()).map(|position| self.segment.line(self.picked.get(position)))
    }

    fn marks(&self, position: usize) -> Marks {
        self.segment.entries[self.picked.get(position)].marks
    }
}

/// A segment to search, or why there is none.
enum Lookup {
    Segment(Arc<Segment>),
    /// These lines are missing. Has the warning about them.
    Missing(Range<u64>, Segment),
    /// Continue at this line.
    Skip(u64),
    /// There are no more lines.
    End,
}

impl LogReader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Returns the number that the next line will get.
    pub fn end(&self) -> u64 {
        self.shared.announce.borrow().end
    }

    /// Returns the redactor of the currently known secrets.
    pub fn redactor(&self) -> Redactor {
        lock(&self.shared.redactor).clone()
    }

    /// Returns the number of the oldest stored line.
    pub fn begin(&self) -> u64 {
        lock(&self.shared.segments).begin()
    }

    /// Returns how many lines of the matching resources and sources are missing because they could not be written to disk.
    ///
    /// The other conditions of the filter are ignored, since the lines are not known.
    pub fn lost(&self, filter: &Filter) -> u64 {
        lock(&self.shared.segments).lost(|owner| filter.matches_owner(owner))
    }

    /// Waits until there are lines after this end. Returns the new end.
    pub async fn grown(&self, end: u64) -> u64 {
        let mut announced = self.shared.announce.subscribe();
        loop {
            let tip: Tip = *announced.borrow_and_update();
            if tip.end > end {
                return tip.end;
            }
            // The store outlives its readers, so the channel is never closed.
            let changed = announced.changed();
            if !tip.has_partial {
                let _ = changed.await;
            } else if tokio::time::timeout(PARTIAL_DELAY / 2, changed).await.is_err() {
                self.shared.store_due();
            }
        }
    }

    /// Stores incomplete lines that have waited long enough. [`Self::grown`] does so itself.
    pub fn store_partial(&self) {
        self.shared.store_due();
    }

    /// Returns up to `at_most` lines from this number on, skipping lines that were deleted.
    pub fn read(&self, from: u64, at_most: usize) -> Vec<Line> {
        self.page(&Filter::default(), from, at_most).0
    }

    /// Returns up to `at_most` matching lines from this number on, and where to continue.
    ///
    /// If there are fewer, there are no more now, unless the position to continue at is before the end.
    pub fn page(&self, filter: &Filter, from: u64, at_most: usize) -> (Vec<Line>, u64) {
        let mut lines = Vec::new();
        let mut next = from;
        while lines.len() < at_most {
            let Some(found) = self.take(filter, next, at_most - lines.len()) else { break };
            next = found.next;
            lines.extend(found.iter().map(|line| line.to_line()));
            if found.is_empty() {
                break;
            }
        }
        (lines, next)
    }

    /// Returns up to `at_most` matching lines before this number, oldest first, and where to continue backwards; none if
    /// there are no more.
    pub fn page_back(&self, filter: &Filter, before: u64, at_most: usize) -> (Vec<Line>, Option<u64>) {
        let mut parts: Vec<Vec<Line>> = Vec::new();
        let mut count = 0;
        let mut before = before;
        while count < at_most {
            let Some(found) = self.take_back(filter, before, at_most - count) else {
                return (parts.into_iter().rev().flatten().collect(), None);
            };
            before = found.next;
            count += found.len();
            parts.push(found.iter().map(|line| line.to_line()).collect());
            if found.is_empty() {
                break;
            }
        }
        (parts.into_iter().rev().flatten().collect(), Some(before))
    }

    /// Returns some matching lines from this number on. None: there are no more now.
    ///
    /// The result may be empty, if the searched segments have none: continue at `next`.
    pub fn take(&self, filter: &Filter, from: u64, at_most: usize) -> Option<Lines> {
        let mut next = from;
        for _ in 0..MAX_SEARCHED {
            let segment = match self.find(filter, next, at_most) {
                Lookup::End if next == from => return None,
                Lookup::End => return Some(Lines::none(next)),
                Lookup::Skip(to) => {
                    next = to;
                    continue;
                }
                Lookup::Missing(lines, warning) => {
                    let is_ahead = warning.first >= next;
                    next = lines.end;
                    if is_ahead {
                        return Some(Lines::warning(warning, next));
                    }
                    continue;
                }
                Lookup::Segment(segment) => segment,
            };
            let begin = index_in(&segment, next);
            let mut picked = filter.pick(&segment, begin..segment.entries.len());
            next = segment.end();
            if picked.len() > at_most {
                picked.truncate(at_most);
                next = segment.first + picked.get(at_most - 1) as u64 + 1;
            }
            if picked.len() > 0 {
                return Some(Lines { segment, picked, next });
            }
        }
        Some(Lines::none(next))
    }

    fn find(&self, filter: &Filter, from: u64, at_most: usize) -> Lookup {
        let segments = lock(&self.shared.segments);
        if from >= segments.end() {
            return Lookup::End;
        }
        let resolved = filter.resolve(&segments);
        let mut from = from.max(segments.begin());
        if let Some((extent, _)) = resolved.extent(&segments) {
            if from >= extent.end {
                return Lookup::Skip(segments.end());
            }
            from = from.max(extent.start);
        }
        let mut index = segments.index_of(from);
        while segments.summary(index).is_some_and(|it| !may_match(filter, &resolved, &segments, index, it)) {
            index += 1;
        }
        if let Some(missing) = find_gap(filter, &segments, index) {
            return missing;
        }
        let Some(summary) = segments.summary(index) else {
            let open = segments.open();
            let begin = index_in(open, from);
            let at_most = if filter.is_all() { at_most.min(MAX_COPIED) } else { MAX_COPIED };
            let end = open.entries.len().min(begin + at_most);
            return if begin == end {
                Lookup::Skip(segments.end())
            } else {
                Lookup::Segment(Arc::new(open.copy(begin, end)))
            };
        };
        let (lines, time) = (summary.first..summary.end, summary.latest);
        let position = segments.segment(index);
        drop(segments);
        match self.fetch(position, lines.start) {
            Ok(Some(segment)) => Lookup::Segment(segment),
            Ok(None) => Lookup::Skip(lines.end),
            Err(error) => {
                let seq = from.max(lines.start);
                let warning = unreadable(filter, &lines, seq, time, &error);
                Lookup::Missing(lines, warning)
            }
        }
    }

    /// Returns a segment; none if it was deleted meanwhile.
    fn fetch(&self, position: Option<SegmentLocation>, first: u64) -> io::Result<Option<Arc<Segment>>> {
        match position {
            None => Ok(None),
            Some(SegmentLocation::Memory(segment)) => Ok(Some(segment)),
            Some(SegmentLocation::Disk(path)) => match file::read(&path) {
                Ok(segment) => {
                    let segment = Arc::new(segment);
                    lock(&self.shared.segments).keep_read(&segment);
                    Ok(Some(segment))
                }
                Err(error) if lock(&self.shared.segments).keeps(first) => Err(error),
                Err(_) => Ok(None),
            },
        }
    }

    /// Returns the last matching lines before this number, at most `at_most`. None: there are no more.
    ///
    /// The result may be empty, if the searched segments have none: continue before `next`.
    pub fn take_back(&self, filter: &Filter, before: u64, at_most: usize) -> Option<Lines> {
        let mut before = before;
        for _ in 0..MAX_SEARCHED {
            let segment = match self.find_back(filter, before) {
                Lookup::End => return None,
                Lookup::Skip(to) => {
                    before = to;
                    continue;
                }
                Lookup::Missing(lines, warning) => {
                    let is_behind = warning.first < before;
                    before = lines.start;
                    if is_behind {
                        return Some(Lines::warning(warning, before));
                    }
                    continue;
                }
                Lookup::Segment(segment) => segment,
            };
            let end = index_in(&segment, before);
            let mut picked = filter.pick(&segment, 0..end);
            before = segment.first;
            if picked.len() > at_most {
                picked.cut_front(picked.len() - at_most);
                before = segment.first + picked.get(0) as u64;
            }
            if picked.len() > 0 {
                return Some(Lines { segment, picked, next: before });
            }
        }
        Some(Lines::none(before))
    }

    fn find_back(&self, filter: &Filter, before: u64) -> Lookup {
        let segments = lock(&self.shared.segments);
        let resolved = filter.resolve(&segments);
        let mut before = before.min(segments.end());
        let mut begin = segments.begin();
        if let Some((extent, _)) = resolved.extent(&segments) {
            before = before.min(extent.end);
            begin = begin.max(extent.start);
        }
        if before <= begin {
            return Lookup::End;
        }
        let open = segments.open();
        if before > open.first {
            let end = index_in(open, before);
            return Lookup::Segment(Arc::new(open.copy(end.saturating_sub(MAX_COPIED), end)));
        }
        let mut behind = segments.index_of(before - 1) + 1;
        while behind > 0 {
            let Some(summary) = segments.summary(behind - 1) else { break };
            if may_match(filter, &resolved, &segments, behind - 1, summary) {
                if let Some(missing) = find_gap(filter, &segments, behind - 1) {
                    return missing;
                }
                let (lines, time) = (summary.first..summary.end, summary.latest);
                let position = segments.segment(behind - 1);
                drop(segments);
                return match self.fetch(position, lines.start) {
                    Ok(Some(segment)) => Lookup::Segment(segment),
                    Ok(None) => Lookup::Skip(lines.start),
                    Err(error) => {
                        let seq = before.min(lines.end) - 1;
                        let warning = unreadable(filter, &lines, seq, time, &error);
                        Lookup::Missing(lines, warning)
                    }
                };
            }
            behind -= 1;
        }
        Lookup::End
    }

    /// Returns the beginning of the last `count` matching lines, counting the pieces of one line once.
    ///
    /// `go_on` is called between segments; the search ends if it returns false.
    pub fn tail(&self, filter: &Filter, count: usize, go_on: &dyn Fn() -> bool) -> u64 {
        self.shared.store_due();
        let end = self.end();
        if count == 0 {
            return end;
        }
        if filter.is_all() {
            return self.tail_of_all(end, count);
        }
        let mut search = TailSearch { missing: count, at: end };
        let mut before = end;
        // Stop when all lines of the matching owners are found.
        let mut left = self.lines_at_most(filter);
        while go_on() && left > 0 {
            let Some(found) = self.take_back(filter, before, usize::MAX) else { break };
            before = found.next;
            left = left.saturating_sub(found.len() as u64);
            if search.visit(&found).is_break() {
                break;
            }
        }
        search.at
    }

    fn lines_at_most(&self, filter: &Filter) -> u64 {
        let segments = lock(&self.shared.segments);
        filter.resolve(&segments).extent(&segments).map_or(u64::MAX, |(_, count)| count)
    }

    /// Skips whole segments by their counts.
    fn tail_of_all(&self, end: u64, count: usize) -> u64 {
        let mut search = TailSearch { missing: count, at: end };
        let mut before = end;
        loop {
            before = skip_whole(&lock(&self.shared.segments), before, &mut search);
            let Some(found) = self.take_back(&Filter::default(), before, usize::MAX) else {
                return search.at;
            };
            before = found.next;
            if search.visit(&found).is_break() {
                return search.at;
            }
        }
    }

    /// Returns how many lines of this level a resource has had.
    pub fn count(&self, resource: &ResourceName, level: Level) -> u64 {
        let segments = lock(&self.shared.segments);
        let numbers = [Source::Build, Source::Runtime].map(|source| {
            let owner = Owner { resource: Some(resource.clone()), source };
            segments.owners.find(&owner).map(|number| segments.owners.written(number))
        });
        numbers.iter().flatten().map(|written| written.levels[level as usize]).sum()
    }

    /// Returns the sections of what a resource runs, oldest first: its pods, their containers, its servers.
    pub fn sections(&self, resource: &ResourceName) -> Vec<SpanId> {
        let owner = Owner { resource: Some(resource.clone()), source: Source::Runtime };
        let segments = lock(&self.shared.segments);
        segments.owners.find(&owner).map(|number| segments.owners.sections(number)).unwrap_or_default()
    }

    /// Returns whether a resource has ever had a line.
    pub fn knows(&self, resource: &ResourceName) -> bool {
        Level::ALL.iter().any(|level| self.count(resource, *level) > 0)
    }
}

/// Returns whether a sealed segment may have a matching line, or represents lost ones.
fn may_match(
    filter: &Filter,
    resolved: &Resolved,
    segments: &Segments,
    index: usize,
    summary: &Summary,
) -> bool {
    match segments.gap(index) {
        Some(gap) => filter.gap_warning(gap).is_some(),
        None => resolved.may_match(filter, summary),
    }
}

/// Returns the lost lines that a sealed segment represents, with a warning; none if it is not a gap.
fn find_gap(filter: &Filter, segments: &Segments, index: usize) -> Option<Lookup> {
    let gap = segments.gap(index)?;
    Some(Lookup::Missing(gap.first..gap.end, filter.gap_warning(gap)?))
}

/// Returns a warning about lines that cannot be read.
fn unreadable(filter: &Filter, lines: &Range<u64>, seq: u64, time: Timestamp, error: &io::Error) -> Segment {
    let error = lilt_model::os_error::plain(&error.to_string());
    let count = lines.end - lines.start;
    let words =
        format!("lines are missing here: {count} lines of the session cannot be read from disk: {error}");
    gap::warning(seq, time, filter.single_resource(), &words)
}

/// Searches backwards for the beginning of the last lines.
struct TailSearch {
    missing: usize,
    at: u64,
}

impl TailSearch {
    fn visit(&mut self, lines: &Lines) -> ControlFlow<()> {
        for position in (0..lines.len()).rev() {
            if lines.marks(position).has(Marks::CONTINUES) {
                continue;
            }
            self.at = lines.segment.first + lines.picked.get(position) as u64;
            self.missing -= 1;
            if self.missing == 0 {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

fn skip_whole(segments: &Segments, before: u64, search: &mut TailSearch) -> u64 {
    let mut before = before;
    if before > segments.open().first || before == 0 {
        return before;
    }
    let mut index = segments.index_of(before - 1);
    while let Some(summary) = segments.summary(index) {
        if summary.end != before || summary.begun as usize >= search.missing {
            break;
        }
        search.missing -= summary.begun as usize;
        search.at = summary.first;
        before = summary.first;
        let Some(earlier) = index.checked_sub(1) else { break };
        index = earlier;
    }
    before
}

/// Returns the index of a line in a segment, or where it would be.
fn index_in(segment: &Segment, seq: u64) -> usize {
    let index = seq.saturating_sub(segment.first);
    usize::try_from(index).unwrap_or(usize::MAX).min(segment.entries.len())
}
