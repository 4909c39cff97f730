//! Log lines in compact pieces: the newest in memory, all of them in files of the session's folder.
//!
//! The only module of the store that touches files. A piece is written once, when it is full, and never changed.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the module through which log segments reach the disk"
)]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use lilt_model::Timestamp;
use lilt_model::log::Level;

/// A piece is sealed at this size of text; what a reader of old lines loads at once.
const SEGMENT_BYTES: usize = 256 * 1024;
/// And at this number of lines, so that floods of empty lines are bounded too.
const SEGMENT_LINES: usize = 8192;
/// Sealed pieces kept in memory.
const RECENT_SEGMENTS: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) time: Timestamp,
    /// Index into the table of spans.
    pub(crate) span: u32,
    pub(crate) level: Level,
    /// Where the text ends; it begins where the one before ends.
    pub(crate) end: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub(crate) first: u64,
    pub(crate) entries: Vec<Entry>,
    pub(crate) text: String,
}

impl Segment {
    pub(crate) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(crate) fn line(&self, index: usize) -> Option<(Entry, &str)> {
        let entry = *self.entries.get(index)?;
        let begin = if index == 0 { 0 } else { self.entries[index - 1].end as usize };
        Some((entry, self.text.get(begin..entry.end as usize)?))
    }

    fn is_full(&self) -> bool {
        self.text.len() >= SEGMENT_BYTES || self.entries.len() >= SEGMENT_LINES
    }
}

/// All lines of the session.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// None: nothing is written, and only the recent lines are kept.
    folder: Option<PathBuf>,
    open: Segment,
    recent: VecDeque<Segment>,
    /// First sequence number of every sealed piece that is on disk, in order.
    on_disk: Vec<u64>,
    /// The first write that failed; told once, and writing stops.
    failed: Option<io::Error>,
}

/// Where a page of lines comes from.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    Memory(&'a Segment),
    Disk(PathBuf),
}

impl Segments {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    pub(crate) fn end(&self) -> u64 {
        self.open.end()
    }

    pub(crate) fn push(&mut self, time: Timestamp, span: u32, level: Level, text: &str) {
        self.open.text.push_str(text);
        let end = u32::try_from(self.open.text.len()).unwrap_or(u32::MAX);
        self.open.entries.push(Entry { time, span, level, end });
        if self.open.is_full() {
            self.seal();
        }
    }

    fn seal(&mut self) {
        let next = self.open.end();
        let mut sealed = std::mem::replace(&mut self.open, Segment { first: next, ..Segment::default() });
        sealed.text.shrink_to_fit();
        sealed.entries.shrink_to_fit();
        if let Some(folder) = &self.folder {
            match write(&folder.join(file_name(sealed.first)), &sealed) {
                Ok(()) => self.on_disk.push(sealed.first),
                Err(error) => {
                    self.failed = Some(error);
                    self.folder = None;
                }
            }
        }
        self.recent.push_back(sealed);
        while self.recent.len() > RECENT_SEGMENTS {
            self.recent.pop_front();
        }
    }

    /// The error that stopped writing, once.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// The piece that holds this line, or the first kept one after it; none past the end.
    pub(crate) fn piece(&self, seq: u64) -> Option<Piece<'_>> {
        if seq >= self.open.end() {
            return None;
        }
        if seq >= self.open.first {
            return Some(Piece::Memory(&self.open));
        }
        let first_recent = self.recent.front().map_or(self.open.first, |segment| segment.first);
        if seq < first_recent
            && let Some(folder) = &self.folder
        {
            let at = self.on_disk.partition_point(|first| *first <= seq);
            if let Some(first) = at.checked_sub(1).and_then(|at| self.on_disk.get(at)) {
                return Some(Piece::Disk(folder.join(file_name(*first))));
            }
        }
        let at = self.recent.partition_point(|segment| segment.end() <= seq);
        Some(Piece::Memory(self.recent.get(at).unwrap_or(&self.open)))
    }
}

fn file_name(first: u64) -> String {
    format!("{first:020}.lines")
}

/// One record per line: time, span, level, length, text.
fn write(path: &std::path::Path, segment: &Segment) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(segment.text.len() + segment.entries.len() * 17 + 8);
    bytes.extend_from_slice(&segment.first.to_le_bytes());
    for index in 0..segment.entries.len() {
        let Some((entry, text)) = segment.line(index) else { break };
        bytes.extend_from_slice(&entry.time.0.to_le_bytes());
        bytes.extend_from_slice(&entry.span.to_le_bytes());
        bytes.push(entry.level as u8);
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    File::create(path)?.write_all(&bytes)
}

/// Reads a piece back; none if the file is gone or damaged.
pub(crate) fn read(path: &std::path::Path) -> Option<Segment> {
    let bytes = std::fs::read(path).ok()?;
    let mut rest = bytes.as_slice();
    let mut segment = Segment { first: u64::from_le_bytes(take(&mut rest)?), ..Segment::default() };
    while !rest.is_empty() {
        let time = Timestamp(i64::from_le_bytes(take(&mut rest)?));
        let span = u32::from_le_bytes(take(&mut rest)?);
        let level = match take::<1>(&mut rest)?[0] {
            0 => Level::Info,
            1 => Level::Warn,
            _ => Level::Error,
        };
        let length = u32::from_le_bytes(take(&mut rest)?) as usize;
        let (text, tail) = rest.split_at_checked(length)?;
        rest = tail;
        segment.text.push_str(std::str::from_utf8(text).ok()?);
        segment.entries.push(Entry { time, span, level, end: segment.text.len() as u32 });
    }
    Some(segment)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
