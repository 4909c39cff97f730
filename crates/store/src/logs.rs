//! The session's log: every line, by sequence number.
//!
//! Runners write bytes through a [`Span`]; complete lines get a number. Readers page and follow by number.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use lilt_model::log::{Level, Line, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};
use tokio::sync::watch;

use crate::segments::{self, Piece, Segment, Segments};

/// A line longer than this is cut into several: one runaway line must not hold all memory.
const LONGEST_LINE: usize = 1024 * 1024;

#[derive(Clone, Debug)]
struct SpanOwner {
    id: SpanId,
    resource: Option<ResourceName>,
    source: Source,
}

#[derive(Debug)]
struct Inner {
    segments: Segments,
    spans: Vec<SpanOwner>,
}

/// Hands out spans to write to.
#[derive(Clone)]
pub struct LogWriter {
    inner: Arc<Mutex<Inner>>,
    announce: Arc<watch::Sender<u64>>,
    clock: fn() -> Timestamp,
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter").finish_non_exhaustive()
    }
}

impl LogWriter {
    /// Keeps all lines in files of `folder`; without one, only the recent lines. The clock is the host's.
    pub fn open(folder: Option<PathBuf>, clock: fn() -> Timestamp) -> (LogWriter, LogReader) {
        let inner = Arc::new(Mutex::new(Inner { segments: Segments::new(folder), spans: Vec::new() }));
        let (announce, announced) = watch::channel(0);
        let reader = LogReader { inner: Arc::clone(&inner), announced };
        (LogWriter { inner, announce: Arc::new(announce), clock }, reader)
    }

    /// Begins a section of log. `resource` none means lilt itself.
    pub fn span(&self, id: SpanId, resource: Option<ResourceName>, source: Source) -> Span {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let index = u32::try_from(inner.spans.len()).unwrap_or(u32::MAX);
        inner.spans.push(SpanOwner { id, resource, source });
        Span { writer: self.clone(), index, partial: Vec::new() }
    }

    fn append<'a>(&self, span: u32, lines: impl Iterator<Item = (Level, std::borrow::Cow<'a, str>)>) {
        let time = (self.clock)();
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for (level, text) in lines {
            inner.segments.push(time, span, level, &text);
        }
        if let Some(error) = inner.segments.take_failure() {
            let text =
                format!("cannot keep the log on disk any longer ({error}); only recent lines stay readable");
            inner.segments.push(time, span, Level::Warn, &text);
        }
        let end = inner.segments.end();
        drop(inner);
        self.announce.send_replace(end);
    }
}

/// One section of log, written by one runner. A line that has no end yet is kept until it has, or until the span
/// ends.
#[derive(Debug)]
pub struct Span {
    writer: LogWriter,
    index: u32,
    partial: Vec<u8>,
}

impl Span {
    /// Appends raw output.
    pub fn write(&mut self, bytes: &[u8]) {
        let Some(last_end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.keep_partial(bytes);
            return;
        };
        let (complete, rest) = bytes.split_at(last_end);
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(complete);
        let lines = whole.split(|byte| *byte == b'\n').flat_map(pieces);
        self.writer.append(self.index, lines.map(|line| (Level::Info, text_of(line))));
        self.keep_partial(&rest[1..]);
    }

    /// Appends one or more lines of our own.
    pub fn print(&mut self, level: Level, text: &str) {
        self.end_line();
        let lines = text.split('\n').flat_map(|line| pieces(line.as_bytes()));
        self.writer.append(self.index, lines.map(|line| (level, text_of(line))));
    }

    pub fn info(&mut self, text: &str) {
        self.print(Level::Info, text);
    }

    /// Ends a line that was left open.
    pub fn end_line(&mut self) {
        if self.partial.is_empty() {
            return;
        }
        let partial = std::mem::take(&mut self.partial);
        self.writer.append(self.index, std::iter::once((Level::Info, text_of(&partial))));
    }

    fn keep_partial(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        if self.partial.len() >= LONGEST_LINE {
            self.end_line();
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.end_line();
    }
}

fn pieces(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    // `chunks` gives nothing for an empty line, which is a line all the same.
    let empty = line.is_empty().then_some(line);
    empty.into_iter().chain(line.chunks(LONGEST_LINE))
}

fn text_of(line: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))
}

/// Reads the log by sequence number.
#[derive(Clone, Debug)]
pub struct LogReader {
    inner: Arc<Mutex<Inner>>,
    announced: watch::Receiver<u64>,
}

impl LogReader {
    /// The number that the next line will get.
    pub fn end(&self) -> u64 {
        *self.announced.borrow()
    }

    /// Waits until there are lines past this end. Never returns once all writers are gone.
    pub async fn grown(&self, end: u64) -> u64 {
        let mut announced = self.announced.clone();
        let found = announced.wait_for(|now| *now > end).await.map(|found| *found);
        match found {
            Ok(found) => found,
            Err(_) => std::future::pending().await,
        }
    }

    /// Lines from this number on, at most so many. What is no longer kept is skipped.
    pub fn read(&self, from: u64, at_most: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut next = from;
        while lines.len() < at_most {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let end = match inner.segments.piece(next) {
                None => break,
                Some(Piece::Memory(segment)) => {
                    copy(segment, next, at_most, &inner.spans, &mut lines);
                    segment.end()
                }
                Some(Piece::Disk(path)) => {
                    // The lock is not held while a file is read.
                    drop(inner);
                    let Some(segment) = segments::read(&path) else { break };
                    let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
                    copy(&segment, next, at_most, &inner.spans, &mut lines);
                    segment.end()
                }
            };
            if end <= next {
                break;
            }
            next = end;
        }
        lines
    }
}

/// Copies a segment's lines from number `from` on, until there are `at_most` in all.
fn copy(segment: &Segment, from: u64, at_most: usize, spans: &[SpanOwner], lines: &mut Vec<Line>) {
    let begin = usize::try_from(from.saturating_sub(segment.first)).unwrap_or(usize::MAX);
    let room = at_most - lines.len();
    lines
        .extend((begin..segment.entries.len()).take(room).filter_map(|index| line_of(segment, index, spans)));
}

fn line_of(segment: &Segment, index: usize, spans: &[SpanOwner]) -> Option<Line> {
    let (entry, text) = segment.line(index)?;
    let owner = spans.get(entry.span as usize)?;
    Some(Line {
        seq: segment.first + index as u64,
        time: entry.time,
        resource: owner.resource.clone(),
        span: owner.id.clone(),
        source: owner.source,
        level: entry.level,
        text: text.to_owned(),
    })
}
