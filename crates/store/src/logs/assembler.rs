//! Raw output becomes lines: put together from the pieces it comes in, without secrets, as text.
//!
//! A line that a program writes over and over (`\r`, a progress bar) is one line, its last state. A line that has no end
//! for a while is shown as far as it has come; the rest of it is another piece.

use std::borrow::Cow;
use std::time::Duration;

use lilt_model::secret::Redactor;
use memchr::{memchr, memrchr};
use tokio::time::Instant;

use super::batch::Batch;
use super::blocks::Blocks;
use super::claim;
use crate::segments::segment::Marks;

/// A longer line comes in pieces of this length: one runaway line must not hold all memory.
const LONGEST_PIECE: usize = 256 * 1024;
/// How long a line may have no end before what there is of it is shown: a prompt, the dots of a test run.
pub(crate) const PATIENCE: Duration = Duration::from_millis(300);
/// How long the state of a progress bar stays before the next one is shown; twice as long each time.
const PROGRESS_PAUSE: Duration = Duration::from_secs(5);
/// Buffers that once held much are given back.
const ROOM_KEPT: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// Of the line that has not ended, what was not shown yet.
    partial: Vec<u8>,
    /// A piece of this line was shown.
    shown: bool,
    /// It was written over since.
    rewritten: bool,
    /// How long the state of this progress bar stays.
    pause: Duration,
    blocks: Blocks,
    /// When something is to be shown though its line has not ended.
    due: Option<Instant>,
}

impl Assembler {
    /// Takes output; lines that are complete with it go to the batch.
    pub(super) fn write(&mut self, bytes: &[u8], redactor: &Redactor, now: Instant, batch: &mut Batch) {
        let mut rest = bytes;
        if let Some(end) = memrchr(b'\n', bytes) {
            self.partial.extend_from_slice(&bytes[..=end]);
            let whole = std::mem::take(&mut self.partial);
            self.put_lines(&whole, redactor, batch);
            self.reuse(whole);
            rest = &bytes[end + 1..];
        }
        self.partial.extend_from_slice(rest);
        self.forget_overwritten();
        if self.partial.len() >= LONGEST_PIECE {
            self.show(redactor, batch);
        }
        if self.due.is_none() && (!self.partial.is_empty() || self.blocks.is_holding()) {
            let pause = if self.shown && self.rewritten { self.pause } else { PATIENCE };
            self.due = Some(now + pause);
        }
    }

    /// Ends a line that was left open, and shows what was held back.
    pub(super) fn end(&mut self, redactor: &Redactor, batch: &mut Batch) {
        if !self.partial.is_empty() || self.shown {
            self.partial.push(b'\n');
            let whole = std::mem::take(&mut self.partial);
            self.put_lines(&whole, redactor, batch);
        }
        self.release(redactor, batch);
        self.due = None;
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Shows what has waited long enough.
    pub(super) fn show_due(&mut self, redactor: &Redactor, now: Instant, batch: &mut Batch) {
        if self.due.is_some_and(|due| due <= now) {
            self.release(redactor, batch);
            self.show(redactor, batch);
        }
    }

    fn reuse(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        buffer.shrink_to(ROOM_KEPT);
        self.partial = buffer;
    }

    /// Whole lines, each with its end, the first one perhaps the rest of one that was shown in part.
    fn put_lines(&mut self, whole: &[u8], redactor: &Redactor, batch: &mut Batch) {
        let mut continues = std::mem::take(&mut self.shown) && !std::mem::take(&mut self.rewritten);
        self.rewritten = false;
        self.pause = Duration::ZERO;
        self.due = None;
        let mut lines = Cow::Borrowed(whole);
        if !redactor.blocks().is_empty() || self.blocks.is_holding() {
            lines = Cow::Owned(self.blocks.pass(&lines, redactor, continues));
        }
        put(&lines, redactor, &mut continues, batch);
    }

    fn release(&mut self, redactor: &Redactor, batch: &mut Batch) {
        let mut held = Vec::new();
        self.blocks.release(&mut held);
        put(&held, redactor, &mut false, batch);
    }

    /// Shows the line as far as it has come and as it is certain what it is.
    fn show(&mut self, redactor: &Redactor, batch: &mut Batch) {
        self.due = None;
        let text = &self.partial[..self.partial.len() - begun_character(&self.partial)];
        // It may belong to the line end.
        let text = &text[..text.len() - text.iter().rev().take_while(|byte| **byte == b'\r').count()];
        let (redacted, certain) = redactor.redact_incomplete(text);
        if certain == 0 {
            return;
        }
        let continues = self.shown && !self.rewritten;
        let marks = if continues { Marks::OPEN.and(Marks::CONTINUES) } else { Marks::OPEN };
        batch.push(&String::from_utf8_lossy(&redacted), marks);
        if self.shown && self.rewritten {
            self.pause *= 2;
        } else if self.pause.is_zero() {
            self.pause = PROGRESS_PAUSE;
        }
        self.shown = true;
        self.rewritten = false;
        drop(redacted);
        self.partial.drain(..certain);
    }

    /// A progress bar takes no more room than its last state.
    fn forget_overwritten(&mut self) {
        let end = self.partial.len() - self.partial.iter().rev().take_while(|byte| **byte == b'\r').count();
        if let Some(place) = memrchr(b'\r', &self.partial[..end]) {
            self.partial.drain(..=place);
            self.rewritten = true;
        }
    }
}

/// Lines without secrets of several lines into the batch. `continues` is about the first one.
fn put(lines: &[u8], redactor: &Redactor, continues: &mut bool, batch: &mut Batch) {
    if lines.is_empty() {
        return;
    }
    let mut lines = redactor.redact_lines(lines);
    if memchr(b'\r', &lines).is_some() {
        lines = Cow::Owned(last_states(&lines, continues));
    }
    let text = String::from_utf8_lossy(&lines);
    let marks = if *continues { Marks::CONTINUES } else { Marks::default() };
    if text.len() > LONGEST_PIECE {
        return put_long(&text, marks, batch);
    }
    if memchr(b'{', text.as_bytes()).is_some() {
        return put_claiming(&text, marks, batch);
    }
    if *continues {
        batch.marks.push((batch.text.len(), marks));
    }
    batch.text.push_str(&text);
}

/// Whole lines of which one may tell its level; the rest of one that was shown in part does not.
fn put_claiming(text: &str, mut marks: Marks, batch: &mut Batch) {
    for line in text.split_inclusive('\n') {
        if marks == Marks::default() {
            marks = Marks::of(claim::level(line));
        }
        if marks != Marks::default() {
            batch.marks.push((batch.text.len(), marks));
        }
        batch.text.push_str(line);
        marks = Marks::default();
    }
}

/// Lines of which one may be too long.
fn put_long(text: &str, mut marks: Marks, batch: &mut Batch) {
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if marks == Marks::default() && line.len() <= LONGEST_PIECE {
            marks = Marks::of(claim::level(line));
        }
        put_own(line, marks, batch);
        marks = Marks::default();
    }
}

/// One line, in pieces if it is long.
pub(super) fn put_own(mut line: &str, mut marks: Marks, batch: &mut Batch) {
    while line.len() > LONGEST_PIECE {
        let (piece, rest) = line.split_at(line.floor_char_boundary(LONGEST_PIECE));
        batch.push(piece, marks.and(Marks::OPEN));
        marks = Marks::CONTINUES;
        line = rest;
    }
    batch.push(line, marks);
}

/// What a terminal shows in the end of lines that were written over.
fn last_states(lines: &[u8], continues: &mut bool) -> Vec<u8> {
    let mut states = Vec::with_capacity(lines.len());
    for (index, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = &line[..line.len() - line.iter().rev().take_while(|byte| **byte == b'\r').count()];
        let state = memrchr(b'\r', line).map(|place| &line[place + 1..]);
        if index == 0 && state.is_some() {
            *continues = false;
        }
        states.extend_from_slice(state.unwrap_or(line));
        states.push(b'\n');
    }
    states
}

/// How many bytes at the end are the beginning of a character.
fn begun_character(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let begin = tail.iter().rposition(|byte| *byte >= 0xc0);
    match begin {
        Some(begin) => match std::str::from_utf8(&tail[begin..]) {
            Err(error) if error.error_len().is_none() => tail.len() - begin,
            _ => 0,
        },
        None => 0,
    }
}
