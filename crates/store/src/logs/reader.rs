//! Reading the log: forwards, backwards, by filter, as it grows.
//!
//! No lock is held while a file is read or lines are looked through, and nothing is kept for a reader: a slow one costs
//! nothing.

use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use lilt_model::log::{Level, Line, Source};
use lilt_model::secret::Redactor;
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::assembler::PATIENCE;
use super::filter::{Filter, Picked, Resolved};
use super::{Shared, Tip, lock};
use crate::segments::segment::{LineRef, Marks, Owner, Segment};
use crate::segments::summary::Summary;
use crate::segments::{Place, Segments, file, gap};

/// Segments that one call looks through before it returns with what it has: whoever asked may have gone.
const LOOKED_THROUGH: usize = 64;
/// Lines copied at once from the segment that is being written.
const COPIED: usize = 2048;

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

/// Some lines, where they are kept.
#[derive(Debug)]
pub struct Lines {
    segment: Arc<Segment>,
    picked: Picked,
    /// Where to go on: the line after these, or, when reading backwards, the first of them.
    pub next: u64,
}

impl Lines {
    /// A notice in the place of lines that are missing.
    fn notice(notice: Segment, next: u64) -> Lines {
        Lines { segment: Arc::new(notice), picked: Picked::All(0..1), next }
    }

    /// What goes on at `next`.
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
        (0..self.len()).map(|place| self.segment.line(self.picked.get(place)))
    }

    fn marks(&self, place: usize) -> Marks {
        self.segment.entries[self.picked.get(place)].marks
    }
}

/// A segment to look through, or why there is none.
enum Found {
    Segment(Arc<Segment>),
    /// These lines are missing; a line that says so.
    Missing(Range<u64>, Segment),
    /// Go on at this line.
    Skip(u64),
    /// There is nothing more.
    End,
}

impl LogReader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The number that the next line will get.
    pub fn end(&self) -> u64 {
        self.shared.announce.borrow().end
    }

    /// Redacts the session's secrets as they are known now.
    pub fn redactor(&self) -> Redactor {
        lock(&self.shared.redactor).clone()
    }

    /// The number of the oldest line that is kept.
    pub fn begin(&self) -> u64 {
        lock(&self.shared.segments).begin()
    }

    /// How many lines are missing among those that are kept, because they could not be written to disk: of the wanted resources
    /// and sources, for what else they had is not known.
    pub fn lost(&self, filter: &Filter) -> u64 {
        lock(&self.shared.segments).lost(|owner| filter.wants_owner(owner))
    }

    /// Waits until there are lines past this end.
    pub async fn grown(&self, end: u64) -> u64 {
        let mut announced = self.shared.announce.subscribe();
        loop {
            let tip: Tip = *announced.borrow_and_update();
            if tip.end > end {
                return tip.end;
            }
            // The store outlives its readers, so that there is always something to wait for.
            let changed = announced.changed();
            if !tip.partial {
                let _ = changed.await;
            } else if tokio::time::timeout(PATIENCE / 2, changed).await.is_err() {
                self.shared.show_due();
            }
        }
    }

    /// Shows lines without end that have waited long enough; [`Self::grown`] does so by itself.
    pub fn show_partial(&self) {
        self.shared.show_due();
    }

    /// Lines from this number on, at most so many. What is no longer kept is skipped.
    pub fn read(&self, from: u64, at_most: usize) -> Vec<Line> {
        self.page(&Filter::default(), from, at_most).0
    }

    /// Wanted lines from this number on, at most so many, and where to go on. Fewer than asked for: there are no more
    /// now, unless going on is before the end.
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

    /// The wanted lines before this number, at most so many, oldest first, and where to go on backwards; none when
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

    /// Some of the wanted lines from this number on, as they are kept. There may be none among those that were looked
    /// at: go on at `next`. None: there are no more now.
    pub fn take(&self, filter: &Filter, from: u64, at_most: usize) -> Option<Lines> {
        let mut next = from;
        for _ in 0..LOOKED_THROUGH {
            let segment = match self.find(filter, next, at_most) {
                Found::End if next == from => return None,
                Found::End => return Some(Lines::none(next)),
                Found::Skip(to) => {
                    next = to;
                    continue;
                }
                Found::Missing(lines, notice) => {
                    let is_ahead = notice.first >= next;
                    next = lines.end;
                    if is_ahead {
                        return Some(Lines::notice(notice, next));
                    }
                    continue;
                }
                Found::Segment(segment) => segment,
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

    fn find(&self, filter: &Filter, from: u64, at_most: usize) -> Found {
        let segments = lock(&self.shared.segments);
        if from >= segments.end() {
            return Found::End;
        }
        let resolved = filter.resolve(&segments);
        let mut from = from.max(segments.begin());
        if let Some((extent, _)) = resolved.extent(&segments) {
            if from >= extent.end {
                return Found::Skip(segments.end());
            }
            from = from.max(extent.start);
        }
        let mut index = segments.index_of(from);
        while segments.summary(index).is_some_and(|it| !may_match(filter, &resolved, &segments, index, it)) {
            index += 1;
        }
        if let Some(missing) = missing(filter, &segments, index) {
            return missing;
        }
        let Some(summary) = segments.summary(index) else {
            let open = segments.open();
            let begin = index_in(open, from);
            let at_most = if filter.is_all() { at_most.min(COPIED) } else { COPIED };
            let end = open.entries.len().min(begin + at_most);
            return if begin == end {
                Found::Skip(segments.end())
            } else {
                Found::Segment(Arc::new(open.copy(begin, end)))
            };
        };
        let (lines, time) = (summary.first..summary.end, summary.latest);
        let place = segments.segment(index);
        drop(segments);
        match self.fetch(place, lines.start) {
            Ok(Some(segment)) => Found::Segment(segment),
            Ok(None) => Found::Skip(lines.end),
            Err(error) => {
                let seq = from.max(lines.start);
                let notice = unreadable(filter, &lines, seq, time, &error);
                Found::Missing(lines, notice)
            }
        }
    }

    /// None: the session gave it up meanwhile.
    fn fetch(&self, place: Option<Place>, first: u64) -> io::Result<Option<Arc<Segment>>> {
        match place {
            None => Ok(None),
            Some(Place::Memory(segment)) => Ok(Some(segment)),
            Some(Place::Disk(path)) => match file::read(&path) {
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

    /// The last of the wanted lines before this number, as they are kept, at most so many. There may be none among
    /// those that were looked at: go on before `next`. None: there are no more.
    pub fn take_back(&self, filter: &Filter, before: u64, at_most: usize) -> Option<Lines> {
        let mut before = before;
        for _ in 0..LOOKED_THROUGH {
            let segment = match self.find_back(filter, before) {
                Found::End => return None,
                Found::Skip(to) => {
                    before = to;
                    continue;
                }
                Found::Missing(lines, notice) => {
                    let is_behind = notice.first < before;
                    before = lines.start;
                    if is_behind {
                        return Some(Lines::notice(notice, before));
                    }
                    continue;
                }
                Found::Segment(segment) => segment,
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

    fn find_back(&self, filter: &Filter, before: u64) -> Found {
        let segments = lock(&self.shared.segments);
        let resolved = filter.resolve(&segments);
        let mut before = before.min(segments.end());
        let mut begin = segments.begin();
        if let Some((extent, _)) = resolved.extent(&segments) {
            before = before.min(extent.end);
            begin = begin.max(extent.start);
        }
        if before <= begin {
            return Found::End;
        }
        let open = segments.open();
        if before > open.first {
            let end = index_in(open, before);
            return Found::Segment(Arc::new(open.copy(end.saturating_sub(COPIED), end)));
        }
        let mut behind = segments.index_of(before - 1) + 1;
        while behind > 0 {
            let Some(summary) = segments.summary(behind - 1) else { break };
            if may_match(filter, &resolved, &segments, behind - 1, summary) {
                if let Some(missing) = missing(filter, &segments, behind - 1) {
                    return missing;
                }
                let (lines, time) = (summary.first..summary.end, summary.latest);
                let place = segments.segment(behind - 1);
                drop(segments);
                return match self.fetch(place, lines.start) {
                    Ok(Some(segment)) => Found::Segment(segment),
                    Ok(None) => Found::Skip(lines.start),
                    Err(error) => {
                        let seq = before.min(lines.end) - 1;
                        let notice = unreadable(filter, &lines, seq, time, &error);
                        Found::Missing(lines, notice)
                    }
                };
            }
            behind -= 1;
        }
        Found::End
    }

    /// Where the last wanted lines begin, so many of them; pieces of one line count once. `go_on` is asked now and then.
    pub fn tail(&self, filter: &Filter, count: usize, go_on: &dyn Fn() -> bool) -> u64 {
        self.shared.show_due();
        let end = self.end();
        if count == 0 {
            return end;
        }
        if filter.is_all() {
            return self.tail_of_all(end, count);
        }
        let mut seeking = Seeking { missing: count, at: end };
        let mut before = end;
        // Of a resource with few lines there is no need to look for more of them.
        let mut left = self.lines_at_most(filter);
        while go_on() && left > 0 {
            let Some(found) = self.take_back(filter, before, usize::MAX) else { break };
            before = found.next;
            left = left.saturating_sub(found.len() as u64);
            if seeking.look_at(&found).is_break() {
                break;
            }
        }
        seeking.at
    }

    fn lines_at_most(&self, filter: &Filter) -> u64 {
        let segments = lock(&self.shared.segments);
        filter.resolve(&segments).extent(&segments).map_or(u64::MAX, |(_, count)| count)
    }

    /// Passes over whole segments by their counts.
    fn tail_of_all(&self, end: u64, count: usize) -> u64 {
        let mut seeking = Seeking { missing: count, at: end };
        let mut before = end;
        loop {
            before = skip_whole(&lock(&self.shared.segments), before, &mut seeking);
            let Some(found) = self.take_back(&Filter::default(), before, usize::MAX) else {
                return seeking.at;
            };
            before = found.next;
            if seeking.look_at(&found).is_break() {
                return seeking.at;
            }
        }
    }

    /// How many lines of this level a resource has had.
    pub fn count(&self, resource: &ResourceName, level: Level) -> u64 {
        let segments = lock(&self.shared.segments);
        let numbers = [Source::Build, Source::Runtime].map(|source| {
            let owner = Owner { resource: Some(resource.clone()), source };
            segments.owners.find(&owner).map(|number| segments.owners.written(number))
        });
        numbers.iter().flatten().map(|written| written.levels[level as usize]).sum()
    }

    /// The sections of what a resource runs, oldest first: its pods, their containers, its servers.
    pub fn sections(&self, resource: &ResourceName) -> Vec<SpanId> {
        let owner = Owner { resource: Some(resource.clone()), source: Source::Runtime };
        let segments = lock(&self.shared.segments);
        segments.owners.find(&owner).map(|number| segments.owners.sections(number)).unwrap_or_default()
    }

    /// Whether a resource has ever had a line.
    pub fn knows(&self, resource: &ResourceName) -> bool {
        Level::ALL.iter().any(|level| self.count(resource, *level) > 0)
    }
}

/// Whether a sealed segment may have a wanted line, or stands for some that are lost.
fn may_match(
    filter: &Filter,
    resolved: &Resolved,
    segments: &Segments,
    index: usize,
    summary: &Summary,
) -> bool {
    match segments.gap(index) {
        Some(gap) => filter.notice(gap).is_some(),
        None => resolved.may_match(filter, summary),
    }
}

/// What is to be said of a sealed segment that stands for lines that are lost.
fn missing(filter: &Filter, segments: &Segments, index: usize) -> Option<Found> {
    let gap = segments.gap(index)?;
    Some(Found::Missing(gap.first..gap.end, filter.notice(gap)?))
}

/// A line that says that others cannot be read.
fn unreadable(filter: &Filter, lines: &Range<u64>, seq: u64, time: Timestamp, error: &io::Error) -> Segment {
    let error = lilt_model::os_error::plain(&error.to_string());
    let count = lines.end - lines.start;
    let words =
        format!("lines are missing here: {count} lines of the session cannot be read from disk: {error}");
    gap::notice(seq, time, filter.single_resource(), &words)
}

/// Looks backwards for the beginning of the last lines.
struct Seeking {
    missing: usize,
    at: u64,
}

impl Seeking {
    fn look_at(&mut self, lines: &Lines) -> ControlFlow<()> {
        for place in (0..lines.len()).rev() {
            if lines.marks(place).has(Marks::CONTINUES) {
                continue;
            }
            self.at = lines.segment.first + lines.picked.get(place) as u64;
            self.missing -= 1;
            if self.missing == 0 {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

fn skip_whole(segments: &Segments, before: u64, seeking: &mut Seeking) -> u64 {
    let mut before = before;
    if before > segments.open().first || before == 0 {
        return before;
    }
    let mut index = segments.index_of(before - 1);
    while let Some(summary) = segments.summary(index) {
        if summary.end != before || summary.begun as usize >= seeking.missing {
            break;
        }
        seeking.missing -= summary.begun as usize;
        seeking.at = summary.first;
        before = summary.first;
        let Some(earlier) = index.checked_sub(1) else { break };
        index = earlier;
    }
    before
}

/// Where a line is in a segment, or would be.
fn index_in(segment: &Segment, seq: u64) -> usize {
    let index = seq.saturating_sub(segment.first);
    usize::try_from(index).unwrap_or(usize::MAX).min(segment.entries.len())
}
