//! The table of segments, which contain all lines of the session: the newest in memory, all of them in files.
//!
//! The summary of a segment is enough to skip it if no line can match. The table does no IO: files are read and written
//! without holding a lock on it.

pub(crate) mod batch;
pub(crate) mod file;
pub(crate) mod gap;
pub(crate) mod owners;
pub(crate) mod segment;
pub(crate) mod summary;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use lilt_model::Timestamp;
use lilt_model::log::Level;

use batch::Batch;
use gap::Gap;
use owners::Owners;
use segment::{Entry, Marks, Owner, Segment, SpanOwner};
use summary::{OwnerNumber, Summary};

/// Limits of segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// A segment is sealed at this size of its text, which is also what readers of old lines load at once.
    pub(crate) bytes: usize,
    /// A segment is sealed at this number of lines, which bounds floods of empty lines. Fits into 16 bits.
    pub(crate) lines: usize,
    /// The size of sealed segments in memory.
    pub(crate) recent: usize,
    /// The total size of the files in bytes.
    pub(crate) disk: u64,
}

impl Sizes {
    pub(crate) fn limited(disk: u64) -> Self {
        Self { bytes: 512 * 1024, lines: 8192, recent: 4 * 1024 * 1024, disk }
    }
}

/// How many segments that were read from files are cached.
const READ_BACK: usize = 2;

/// The writer of a span's lines.
#[derive(Debug)]
pub(crate) struct SpanWriter {
    span: SpanOwner,
    number: OwnerNumber,
    /// The segment it wrote to last, and the index of its span there.
    last_span: Option<(u64, u16)>,
}

#[derive(Debug)]
struct Sealed {
    summary: Summary,
    /// None: only in its file.
    memory: Option<Arc<Segment>>,
    /// The size of its file; none without a file.
    disk: Option<u64>,
    /// Set if its lines are lost.
    gap: Option<Gap>,
}

/// Where a segment is.
#[derive(Debug)]
pub(crate) enum SegmentLocation {
    Memory(Arc<Segment>),
    Disk(PathBuf),
}

/// What follows when a segment was written to its file.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    /// Files to delete.
    pub(crate) files: Vec<PathBuf>,
    /// Whether these are the first lines that the session deletes.
    pub(crate) first_time: bool,
    /// Whether the previous attempt to write failed.
    pub(crate) recovered: bool,
}

#[derive(Debug)]
pub(crate) struct Segments {
    /// None: nothing is written, and only recent lines are kept.
    folder: Option<PathBuf>,
    /// Whether writing failed and nothing was written since. New segments replace old ones; files can still be read.
    is_failing: bool,
    sizes: Sizes,
    on_disk: u64,
    in_memory: usize,
    open: Segment,
    /// The owners of the open segment's spans.
    open_owners: Vec<OwnerNumber>,
    sealed: VecDeque<Sealed>,
    /// The first lines of segments to be written, oldest first.
    unwritten: VecDeque<u64>,
    read_back: VecDeque<Arc<Segment>>,
    pub(crate) owners: Owners,
    gave_up: bool,
}

impl Segments {
    pub(crate) fn new(folder: Option<PathBuf>, sizes: Sizes) -> Self {
        Self {
            is_failing: false,
            folder,
            sizes,
            on_disk: 0,
            in_memory: 0,
            open: Segment::default(),
            open_owners: Vec::new(),
            sealed: VecDeque::new(),
            unwritten: VecDeque::new(),
            read_back: VecDeque::new(),
            owners: Owners::default(),
            gave_up: false,
        }
    }

    pub(crate) fn span_writer(&mut self, span: SpanOwner) -> SpanWriter {
        let number = self.owners.number(&span.owner);
        self.owners.add_section(number, &span);
        SpanWriter { span, number, last_span: None }
    }

    /// Returns the number that the next line will get.
    pub(crate) fn end(&self) -> u64 {
        self.open.end()
    }

    /// Returns the number of the oldest stored line.
    pub(crate) fn begin(&self) -> u64 {
        self.sealed.front().map_or(self.open.first, |sealed| sealed.summary.first)
    }

    /// Appends lines with one time and span, and with one level unless their marks have another.
    pub(crate) fn append(&mut self, writer: &mut SpanWriter, time: Timestamp, level: Level, batch: &Batch) {
        let first = self.end();
        let text = batch.text.as_str();
        let mut marks = batch.marks.iter().peekable();
        // The length of the text that is in the open segment already.
        let mut copied = 0;
        let mut begin = 0;
        let mut offset = self.open.text.len();
        let mut span = self.span_index(writer);
        let mut levels = [0; 3];
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1) {
            let mut own = Marks::of(level);
            if let Some((_, more)) = marks.next_if(|(place, _)| *place == begin) {
                own = own.and(*more);
            }
            levels[own.level() as usize] += 1;
            self.open.entries.push(Entry { time, end: (offset + end - copied) as u32, span, marks: own });
            begin = end;
            if offset + end - copied >= self.sizes.bytes || self.open.entries.len() >= self.sizes.lines {
                self.open.text.push_str(&text[copied..end]);
                self.seal();
                copied = end;
                offset = 0;
                // The next segment has only the spans of its own lines.
                if end < text.len() {
                    span = self.span_index(writer);
                }
            }
        }
        self.open.text.push_str(&text[copied..]);
        self.owners.add_lines(writer.number, levels, first, self.end());
    }

    fn span_index(&mut self, writer: &mut SpanWriter) -> u16 {
        match writer.last_span {
            Some((segment, index)) if segment == self.open.first => index,
            _ => {
                // There are at most as many spans as lines, so the number fits.
                let index = self.open.spans.len() as u16;
                self.open.spans.push(writer.span.clone());
                self.open_owners.push(writer.number);
                writer.last_span = Some((self.open.first, index));
                index
            }
        }
    }

    fn seal(&mut self) {
        let next = Segment { first: self.open.end(), ..Segment::default() };
        let mut segment = std::mem::replace(&mut self.open, next);
        segment.text.shrink_to_fit();
        segment.entries.shrink_to_fit();
        let summary = Summary::of(&segment, &std::mem::take(&mut self.open_owners));
        self.in_memory += segment.size();
        if self.folder.is_some() {
            self.unwritten.push_back(segment.first);
        }
        self.sealed.push_back(Sealed { summary, memory: Some(Arc::new(segment)), disk: None, gap: None });
        self.shrink();
    }

    /// Removes old segments from memory that are on disk, or that cannot be written.
    fn shrink(&mut self) {
        while self.in_memory > self.sizes.recent {
            let oldest = self.sealed.partition_point(|sealed| sealed.memory.is_none());
            let Some(sealed) = self.sealed.get_mut(oldest) else { return };
            if sealed.disk.is_none() && self.folder.is_some() && !self.is_failing {
                return;
            }
            let Some(segment) = sealed.memory.take() else { return };
            self.in_memory -= segment.size();
            if sealed.disk.is_none() {
                self.lose(oldest, &segment);
            }
        }
    }

    /// Removes a segment that is not stored anywhere. If there are files, a gap replaces it.
    fn lose(&mut self, index: usize, segment: &Segment) {
        let Some(gone) = self.sealed.remove(index) else { return };
        if self.folder.is_none() {
            self.gave_up = true;
            return;
        }
        self.unwritten.retain(|first| *first != segment.first);
        let gap = Gap::of(segment);
        let before = index.checked_sub(1).and_then(|before| self.sealed.get_mut(before));
        if let Some(Sealed { gap: Some(earlier), summary, .. }) = before {
            summary.end = gap.end;
            earlier.extend(gap);
            return;
        }
        let mut summary = gone.summary;
        summary.begun = 1;
        self.sealed.insert(index, Sealed { summary, memory: None, disk: None, gap: Some(gap) });
    }

    /// Returns how many lines of matching owners are missing because they could not be written to disk. Lines before the
    /// oldest stored line do not count.
    pub(crate) fn lost(&self, is_wanted: impl Fn(&Owner) -> bool) -> u64 {
        self.sealed.iter().filter_map(|sealed| sealed.gap.as_ref()).map(|gap| gap.count(&is_wanted)).sum()
    }

    /// Returns how many segments wait to be written.
    pub(crate) fn backlog(&self) -> usize {
        self.unwritten.len()
    }

    /// Returns the oldest segment without a file, and the path for its file.
    pub(crate) fn next_unwritten(&self) -> Option<(PathBuf, Arc<Segment>)> {
        let first = *self.unwritten.front()?;
        let segment = self.sealed.get(self.index_of(first))?.memory.clone()?;
        Some((file::path(self.folder.as_deref()?, first), segment))
    }

    /// Records that the segment that begins with this line, from [`Self::next_unwritten`], has a file of this size.
    pub(crate) fn written(&mut self, first: u64, size: u64) -> Dropped {
        let recovered = std::mem::take(&mut self.is_failing);
        if self.unwritten.front() != Some(&first) {
            // It was removed meanwhile.
            let file = self.folder.as_ref().map(|folder| file::path(folder, first));
            return Dropped { files: file.into_iter().collect(), recovered, ..Dropped::default() };
        }
        self.unwritten.pop_front();
        let index = self.index_of(first);
        if let Some(sealed) = self.sealed.get_mut(index) {
            sealed.disk = Some(size);
            self.on_disk += size;
        }
        self.shrink();
        Dropped { recovered, ..self.keep_limit() }
    }

    fn keep_limit(&mut self) -> Dropped {
        let mut dropped = Dropped::default();
        while self.on_disk > self.sizes.disk {
            let size = match self.sealed.front() {
                Some(Sealed { disk: Some(size), .. }) => *size,
                Some(Sealed { gap: Some(_), .. }) => {
                    self.sealed.pop_front();
                    continue;
                }
                _ => break,
            };
            self.on_disk -= size;
            let Some(sealed) = self.sealed.pop_front() else { break };
            self.in_memory -= sealed.memory.map_or(0, |segment| segment.size());
            dropped.files.extend(self.folder.as_ref().map(|folder| file::path(folder, sealed.summary.first)));
            dropped.first_time |= !std::mem::replace(&mut self.gave_up, true);
        }
        dropped
    }

    /// Records that writing failed. Until it succeeds, new segments replace old ones.
    ///
    /// Returns whether it is the first failure since the last success.
    pub(crate) fn write_failed(&mut self) -> bool {
        let is_news = !std::mem::replace(&mut self.is_failing, true);
        self.shrink();
        is_news
    }

    /// Returns the index of the sealed segment with this line, or of the first one after it.
    pub(crate) fn index_of(&self, seq: u64) -> usize {
        self.sealed.partition_point(|sealed| sealed.summary.end <= seq)
    }

    /// Returns the summary of a sealed segment.
    pub(crate) fn summary(&self, index: usize) -> Option<&Summary> {
        self.sealed.get(index).map(|sealed| &sealed.summary)
    }

    /// Returns the lost lines that a sealed segment represents.
    pub(crate) fn gap(&self, index: usize) -> Option<&Gap> {
        self.sealed.get(index)?.gap.as_ref()
    }

    /// Returns whether the sealed segment that begins with this line still exists.
    pub(crate) fn keeps(&self, first: u64) -> bool {
        self.summary(self.index_of(first)).is_some_and(|summary| summary.first == first)
    }

    pub(crate) fn open(&self) -> &Segment {
        &self.open
    }

    pub(crate) fn segment(&self, index: usize) -> Option<SegmentLocation> {
        let sealed = self.sealed.get(index)?;
        let first = sealed.summary.first;
        let known = sealed.memory.as_ref().or_else(|| self.read_back.iter().find(|it| it.first == first));
        match known {
            Some(segment) => Some(SegmentLocation::Memory(Arc::clone(segment))),
            None => Some(SegmentLocation::Disk(file::path(self.folder.as_deref()?, first))),
        }
    }

    /// Caches a segment that was read from its file.
    pub(crate) fn keep_read(&mut self, segment: &Arc<Segment>) {
        if self.read_back.len() >= READ_BACK {
            self.read_back.pop_front();
        }
        self.read_back.push_back(Arc::clone(segment));
    }
}
