//! All lines of the session in segments: the newest in memory, all of them in files of the session's folder.
//!
//! This is the table of them; what it says of each is enough to pass over those in which nothing can match. It does no
//! IO: who writes and reads the files does so without holding a lock on this.

pub(crate) mod file;
pub(crate) mod owners;
pub(crate) mod segment;
pub(crate) mod summary;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use lilt_model::log::{Level, Source};
use lilt_model::{SpanId, Timestamp};

use crate::logs::batch::Batch;
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
    lost: Option<Lost>,
}

/// Lines between others that could not be written to disk.
#[derive(Debug)]
struct Lost {
    count: u64,
    /// A line, in the place of the last of them, that says so.
    notice: Arc<Segment>,
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
}

#[derive(Debug)]
pub(crate) struct Segments {
    /// None: nothing is written, and only the recent lines are kept.
    folder: Option<PathBuf>,
    /// Writing has failed; what was written can still be read.
    writes: bool,
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
    lost: u64,
}

impl Segments {
    pub(crate) fn new(folder: Option<PathBuf>, sizes: Sizes) -> Self {
        Self {
            writes: folder.is_some(),
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
            lost: 0,
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
        if self.writes {
            self.unwritten.push_back(segment.first);
        }
        self.sealed.push_back(Sealed { summary, memory: Some(Arc::new(segment)), disk: None, lost: None });
        self.shrink();
    }

    /// Takes old segments out of memory that are on disk, or that nobody will write.
    fn shrink(&mut self) {
        while self.in_memory > self.sizes.recent {
            let oldest = self.sealed.partition_point(|sealed| sealed.memory.is_none());
            let Some(sealed) = self.sealed.get_mut(oldest) else { return };
            if sealed.disk.is_none() && self.writes {
                return;
            }
            self.in_memory -= sealed.memory.take().map_or(0, |segment| segment.size());
            if sealed.disk.is_none() {
                self.give_up(oldest);
            }
        }
    }

    /// Removes a segment that is kept nowhere. If lines before it are kept, a notice takes its place.
    fn give_up(&mut self, index: usize) {
        let Some(gone) = self.sealed.remove(index) else { return };
        self.gave_up = true;
        let Some(before) = index.checked_sub(1) else { return };
        let mut count = gone.summary.end - gone.summary.first;
        self.lost += count;
        let mut place = index;
        if let Some(lost) = self.sealed.get(before).and_then(|sealed| sealed.lost.as_ref()) {
            count += lost.count;
            self.sealed.remove(before);
            place = before;
        }
        let span =
            SpanOwner { id: SpanId::new("log"), owner: Owner { resource: None, source: Source::Runtime } };
        let number = self.owners.number(&span.owner);
        let text = format!("WARNING: {count} lines are missing here: they could not be written to disk\n");
        let entry = Entry {
            time: gone.summary.latest,
            end: text.len() as u32,
            span: 0,
            marks: Marks::of(Level::Warn).and(Marks::FIRST),
        };
        let notice = Segment { first: gone.summary.end - 1, entries: vec![entry], text, spans: vec![span] };
        let summary = Summary::of(&notice, &[number]);
        let lost = Some(Lost { count, notice: Arc::new(notice) });
        self.sealed.insert(place, Sealed { summary, memory: None, disk: None, lost });
    }

    /// How many lines could not be written to disk. Those before the first line that is kept do not count.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
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

    /// The segment that was [`Self::next_unwritten`] has a file of this size now.
    pub(crate) fn written(&mut self, size: u64) -> Dropped {
        let Some(first) = self.unwritten.pop_front() else { return Dropped::default() };
        let index = self.index_of(first);
        if let Some(sealed) = self.sealed.get_mut(index) {
            sealed.disk = Some(size);
            self.on_disk += size;
        }
        self.shrink();
        self.keep_limit()
    }

    fn keep_limit(&mut self) -> Dropped {
        let mut dropped = Dropped::default();
        while self.on_disk > self.sizes.disk {
            let Some(Sealed { disk: Some(size), .. }) = self.sealed.front() else { break };
            self.on_disk -= size;
            let Some(sealed) = self.sealed.pop_front() else { break };
            self.in_memory -= sealed.memory.map_or(0, |segment| segment.size());
            dropped.files.extend(self.folder.as_ref().map(|folder| file::path(folder, sealed.summary.first)));
            dropped.first_time |= !std::mem::replace(&mut self.gave_up, true);
        }
        dropped
    }

    /// Nothing will be written any more.
    pub(crate) fn stop_writing(&mut self) {
        self.writes = false;
        self.unwritten.clear();
        self.shrink();
    }

    /// The sealed segment that has this line, or the first one after it.
    pub(crate) fn index_of(&self, seq: u64) -> usize {
        self.sealed.partition_point(|sealed| sealed.summary.end <= seq)
    }

    /// None past the last sealed one.
    pub(crate) fn summary(&self, index: usize) -> Option<&Summary> {
        self.sealed.get(index).map(|sealed| &sealed.summary)
    }

    pub(crate) fn open(&self) -> &Segment {
        &self.open
    }

    pub(crate) fn segment(&self, index: usize) -> Option<Place> {
        let sealed = self.sealed.get(index)?;
        let first = sealed.summary.first;
        let own = sealed.memory.as_ref().or(sealed.lost.as_ref().map(|lost| &lost.notice));
        let known = own.or_else(|| self.read_back.iter().find(|it| it.first == first));
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
