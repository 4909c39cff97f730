//! All lines of the session in segments: the newest in memory, all of them in files of the session's folder.
//!
//! This is the table of them; what it says of each is enough to pass over those in which nothing can match. It does no
//! IO: who writes and reads the files does so without holding a lock on this.

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

use crate::logs::batch::Batch;
use gap::Gap;
use owners::Owners;
use segment::{Entry, Marks, Owner, Segment, SpanOwner};
use summary::{OwnerNumber, Summary};

/// Where segments end and what may be of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// A segment is sealed at this size of text; what a reader of old lines loads at once.
    pub(crate) bytes: usize,
    /// And at this number of lines, so that floods of empty lines are bounded too. Fits into 16 bits.
    pub(crate) lines: usize,
    /// What sealed segments may take in memory.
    pub(crate) recent: usize,
    /// How many bytes the files may have in all.
    pub(crate) disk: u64,
}

impl Sizes {
    pub(crate) fn limited(disk: u64) -> Self {
        Self { bytes: 512 * 1024, lines: 8192, recent: 4 * 1024 * 1024, disk }
    }
}

/// Segments read back from their files that are kept for the next page.
const READ_BACK: usize = 2;

/// Who writes a line, as the table knows it.
#[derive(Debug)]
pub(crate) struct Scribe {
    span: SpanOwner,
    number: OwnerNumber,
    /// The segment it wrote to last, and its place in that one's spans.
    place: Option<(u64, u16)>,
}

#[derive(Debug)]
struct Sealed {
    summary: Summary,
    /// None: it is only in its file.
    memory: Option<Arc<Segment>>,
    /// The size of its file; none if it has none.
    disk: Option<u64>,
    /// It stands for lines that are lost.
    gap: Option<Gap>,
}

/// Where the lines of a page are.
#[derive(Debug)]
pub(crate) enum Place {
    Memory(Arc<Segment>),
    Disk(PathBuf),
}

/// What became of the table when a segment got its file.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    /// Files that are too much.
    pub(crate) files: Vec<PathBuf>,
    /// These are the first lines that the session gave up.
    pub(crate) first_time: bool,
    /// Writing had failed before.
    pub(crate) recovered: bool,
}

#[derive(Debug)]
pub(crate) struct Segments {
    /// None: nothing is written, and only the recent lines are kept.
    folder: Option<PathBuf>,
    /// Writing has failed, and nothing was written since. Old segments make room for new ones; what was written can still be
    /// read.
    is_failing: bool,
    sizes: Sizes,
    on_disk: u64,
    in_memory: usize,
    open: Segment,
    /// The owners of the open segment's spans.
    open_owners: Vec<OwnerNumber>,
    sealed: VecDeque<Sealed>,
    /// The first lines of segments that shall be written, oldest first.
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

    pub(crate) fn scribe(&mut self, span: SpanOwner) -> Scribe {
        let number = self.owners.number(&span.owner);
        self.owners.begins(number, &span);
        Scribe { span, number, place: None }
    }

    /// The number that the next line will get.
    pub(crate) fn end(&self) -> u64 {
        self.open.end()
    }

    /// The number of the oldest line that is kept.
    pub(crate) fn begin(&self) -> u64 {
        self.sealed.front().map_or(self.open.first, |sealed| sealed.summary.first)
    }

    /// Appends lines, all with the same time and span, and with the same level unless their marks have one.
    pub(crate) fn append(&mut self, scribe: &mut Scribe, time: Timestamp, level: Level, batch: &Batch) {
        let first = self.end();
        let text = batch.text.as_str();
        let mut marks = batch.marks.iter().peekable();
        // What is in the text of the open segment already.
        let mut copied = 0;
        let mut begin = 0;
        let mut offset = self.open.text.len();
        let mut span = self.place(scribe);
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
                // The next segment knows only whom it has lines of.
                if end < text.len() {
                    span = self.place(scribe);
                }
            }
        }
        self.open.text.push_str(&text[copied..]);
        self.owners.wrote(scribe.number, levels, first, self.end());
    }

    fn place(&mut self, scribe: &mut Scribe) -> u16 {
        match scribe.place {
            Some((segment, place)) if segment == self.open.first => place,
            _ => {
                // As many spans as lines at most, so that the number is small enough.
                let place = self.open.spans.len() as u16;
                self.open.spans.push(scribe.span.clone());
                self.open_owners.push(scribe.number);
                scribe.place = Some((self.open.first, place));
                place
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

    /// Takes old segments out of memory that are on disk, or that cannot be written.
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
                self.give_up(oldest, &segment);
            }
        }
    }

    /// Removes a segment that is kept nowhere. Unless nothing is ever written, a notice takes its place.
    fn give_up(&mut self, index: usize, segment: &Segment) {
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

    /// How many lines of the wanted owners are missing because they could not be written to disk. Those before the first line
    /// that is kept do not count.
    pub(crate) fn lost(&self, is_wanted: impl Fn(&Owner) -> bool) -> u64 {
        self.sealed.iter().filter_map(|sealed| sealed.gap.as_ref()).map(|gap| gap.count(&is_wanted)).sum()
    }

    /// How many segments wait to be written.
    pub(crate) fn backlog(&self) -> usize {
        self.unwritten.len()
    }

    /// The oldest segment without a file, and where the file shall be.
    pub(crate) fn next_unwritten(&self) -> Option<(PathBuf, Arc<Segment>)> {
        let first = *self.unwritten.front()?;
        let segment = self.sealed.get(self.index_of(first))?.memory.clone()?;
        Some((file::path(self.folder.as_deref()?, first), segment))
    }

    /// The segment that begins with this line, which was [`Self::next_unwritten`], has a file of this size now.
    pub(crate) fn written(&mut self, first: u64, size: u64) -> Dropped {
        let recovered = std::mem::take(&mut self.is_failing);
        if self.unwritten.front() != Some(&first) {
            // It was given up meanwhile.
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

    /// Writing has failed. Until it succeeds, old segments make room for new ones. Returns whether it has failed for the first
    /// time since it succeeded.
    pub(crate) fn write_failed(&mut self) -> bool {
        let is_news = !std::mem::replace(&mut self.is_failing, true);
        self.shrink();
        is_news
    }

    /// The sealed segment that has this line, or the first one after it.
    pub(crate) fn index_of(&self, seq: u64) -> usize {
        self.sealed.partition_point(|sealed| sealed.summary.end <= seq)
    }

    /// None past the last sealed one.
    pub(crate) fn summary(&self, index: usize) -> Option<&Summary> {
        self.sealed.get(index).map(|sealed| &sealed.summary)
    }

    /// The lost lines that a sealed segment stands for.
    pub(crate) fn gap(&self, index: usize) -> Option<&Gap> {
        self.sealed.get(index)?.gap.as_ref()
    }

    /// Whether the sealed segment that begins with this line is still kept.
    pub(crate) fn keeps(&self, first: u64) -> bool {
        self.summary(self.index_of(first)).is_some_and(|summary| summary.first == first)
    }

    pub(crate) fn open(&self) -> &Segment {
        &self.open
    }

    pub(crate) fn segment(&self, index: usize) -> Option<Place> {
        let sealed = self.sealed.get(index)?;
        let first = sealed.summary.first;
        let known = sealed.memory.as_ref().or_else(|| self.read_back.iter().find(|it| it.first == first));
        match known {
            Some(segment) => Some(Place::Memory(Arc::clone(segment))),
            None => Some(Place::Disk(file::path(self.folder.as_deref()?, first))),
        }
    }

    /// Keeps a segment that was read for whoever reads it next.
    pub(crate) fn keep_read(&mut self, segment: &Arc<Segment>) {
        if self.read_back.len() >= READ_BACK {
            self.read_back.pop_front();
        }
        self.read_back.push_back(Arc::clone(segment));
    }
}
