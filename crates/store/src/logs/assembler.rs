//! Assembles raw output into redacted lines of text.
//!
//! Of a line that a program overwrites (`\r`, a progress bar), only the last state is stored. The part of an incomplete
//! line is stored after a while; the rest of the line is another piece.

use std::borrow::Cow;
use std::time::Duration;

use lilt_model::secret::Redactor;
use memchr::{memchr, memrchr};
use tokio::time::Instant;

use super::blocks::Blocks;
use super::json_level;
use crate::segments::batch::Batch;
use crate::segments::segment::Marks;

/// Longer lines are split into pieces of this length, so that memory is bounded.
const MAX_PIECE: usize = 256 * 1024;
/// How long a line may be incomplete before it is stored: a prompt, the dots of a test run.
pub(crate) const PARTIAL_DELAY: Duration = Duration::from_millis(300);
/// The pause between two stored states of a progress bar. Doubled each time.
const PROGRESS_PAUSE: Duration = Duration::from_secs(5);
/// Buffers of larger capacity are shrunk to this.
const KEPT_CAPACITY: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// The part of the incomplete line that is not stored yet.
    partial: Vec<u8>,
    /// Whether a piece of this line is stored.
    is_stored: bool,
    /// Whether the line was overwritten since.
    is_overwritten: bool,
    /// The current pause between stored states of this progress bar.
    pause: Duration,
    blocks: Blocks,
    /// When the incomplete line is to be stored.
    due: Option<Instant>,
}

impl Assembler {
    /// Adds output. Complete lines are appended to the batch.
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
        self.drop_overwritten();
        if self.partial.len() >= MAX_PIECE {
            self.store_partial(redactor, batch);
        }
        if self.due.is_none() && (!self.partial.is_empty() || self.blocks.is_holding()) {
            let pause = if self.is_stored && self.is_overwritten { self.pause } else { PARTIAL_DELAY };
            self.due = Some(now + pause);
        }
    }

    /// Ends an incomplete line, and releases what was held back.
    pub(super) fn end(&mut self, redactor: &Redactor, batch: &mut Batch) {
        if !self.partial.is_empty() || self.is_stored {
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

    /// Stores the incomplete line if it has waited long enough.
    pub(super) fn store_due(&mut self, redactor: &Redactor, now: Instant, batch: &mut Batch) {
        if self.due.is_some_and(|due| due <= now) {
            self.release(redactor, batch);
            self.store_partial(redactor, batch);
        }
    }

    fn reuse(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        buffer.shrink_to(KEPT_CAPACITY);
        self.partial = buffer;
    }

    /// Appends whole lines, each with its end. The first one may be the rest of a line that is stored in part.
    fn put_lines(&mut self, whole: &[u8], redactor: &Redactor, batch: &mut Batch) {
        let mut continues = std::mem::take(&mut self.is_stored) && !std::mem::take(&mut self.is_overwritten);
        self.is_overwritten = false;
        self.pause = Duration::ZERO;
        self.due = None;
        let mut lines = Cow::Borrowed(whole);
        if !redactor.blocks().is_empty() || self.blocks.is_holding() {
            lines = Cow::Owned(self.blocks.redact(&lines, redactor, continues));
        }
        put(&lines, redactor, &mut continues, batch);
    }

    fn release(&mut self, redactor: &Redactor, batch: &mut Batch) {
        let mut held = Vec::new();
        self.blocks.release(&mut held);
        put(&held, redactor, &mut false, batch);
    }

    /// Stores the incomplete line, except for its end if that may be a part of a character or a secret.
    fn store_partial(&mut self, redactor: &Redactor, batch: &mut Batch) {
        self.due = None;
        let text = &self.partial[..self.partial.len() - incomplete_character_length(&self.partial)];
        // A `\r` may belong to the line end.
        let text = &text[..text.len() - text.iter().rev().take_while(|byte| **byte == b'\r').count()];
        let (redacted, certain) = redactor.redact_incomplete(text);
        if certain == 0 {
            return;
        }
        let continues = self.is_stored && !self.is_overwritten;
        let marks = if continues { Marks::OPEN.and(Marks::CONTINUES) } else { Marks::OPEN };
        batch.push(&String::from_utf8_lossy(&redacted), marks);
        if self.is_stored && self.is_overwritten {
            self.pause *= 2;
        } else if self.pause.is_zero() {
            self.pause = PROGRESS_PAUSE;
        }
        self.is_stored = true;
        self.is_overwritten = false;
        drop(redacted);
        self.partial.drain(..certain);
    }

    /// Drops the overwritten states of a progress bar.
    fn drop_overwritten(&mut self) {
        let end = self.partial.len() - self.partial.iter().rev().take_while(|byte| **byte == b'\r').count();
        if let Some(index) = memrchr(b'\r', &self.partial[..end]) {
            self.partial.drain(..=index);
            self.is_overwritten = true;
        }
    }
}

/// Appends lines, in which secrets with several lines are redacted already, to the batch.
///
/// `continues` is whether the first one continues a stored piece.
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
    if text.len() > MAX_PIECE {
        return put_long(&text, marks, batch);
    }
    if memchr(b'{', text.as_bytes()).is_some() {
        return put_json_lines(&text, marks, batch);
    }
    if *continues {
        batch.marks.push((batch.text.len(), marks));
    }
    batch.text.push_str(&text);
}

/// Appends whole lines of which some may be JSON objects with a level. The rest of a stored piece has none.
fn put_json_lines(text: &str, mut marks: Marks, batch: &mut Batch) {
    for line in text.split_inclusive('\n') {
        if marks == Marks::default() {
            marks = Marks::of(json_level::level(line));
        }
        if marks != Marks::default() {
            batch.marks.push((batch.text.len(), marks));
        }
        batch.text.push_str(line);
        marks = Marks::default();
    }
}

/// Appends lines of which some may be too long.
fn put_long(text: &str, mut marks: Marks, batch: &mut Batch) {
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if marks == Marks::default() && line.len() <= MAX_PIECE {
            marks = Marks::of(json_level::level(line));
        }
        put_line(line, marks, batch);
        marks = Marks::default();
    }
}

/// Appends one line, in pieces if it is long.
pub(super) fn put_line(mut line: &str, mut marks: Marks, batch: &mut Batch) {
    while line.len() > MAX_PIECE {
        let (piece, rest) = line.split_at(line.floor_char_boundary(MAX_PIECE));
        batch.push(piece, marks.and(Marks::OPEN));
        marks = Marks::CONTINUES;
        line = rest;
    }
    batch.push(line, marks);
}

/// Returns what a terminal finally shows of overwritten lines.
fn last_states(lines: &[u8], continues: &mut bool) -> Vec<u8> {
    let mut states = Vec::with_capacity(lines.len());
    for (index, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = &line[..line.len() - line.iter().rev().take_while(|byte| **byte == b'\r').count()];
        let state = memrchr(b'\r', line).map(|at| &line[at + 1..]);
        if index == 0 && state.is_some() {
            *continues = false;
        }
        states.extend_from_slice(state.unwrap_or(line));
        states.push(b'\n');
    }
    states
}

/// Returns how many bytes at the end are the beginning of a character.
fn incomplete_character_length(bytes: &[u8]) -> usize {
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
