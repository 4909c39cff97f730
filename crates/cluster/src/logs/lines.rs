//! Removes timestamps and duplicates from log lines.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::{Bytes, BytesMut};
use lilt_model::Timestamp;

use super::LogChunk;

/// Longer lines are passed on in pieces.
const LONGEST_LINE: usize = 1 << 20;
/// Lines of stdout and stderr may be slightly out of order, and the server only accepts whole seconds.
const OVERLAP_SECONDS: i64 = 2;

/// What happens to the bytes up to the next line end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// At the beginning of a line: buffer it.
    Gather,
    /// Too long to buffer: pass it on as it arrives.
    Pass,
    /// A duplicate, or too old.
    Drop,
}

pub(super) struct Lines {
    /// Lines up to this time are dropped.
    after: Option<Timestamp>,
    partial: BytesMut,
    state: LineState,
    ready: BytesMut,
    oldest: Timestamp,
    newest: Timestamp,
    count: u64,
    /// Hashes of recently emitted lines with their counts, by second.
    recent: VecDeque<(i64, HashMap<u64, u32>)>,
    /// After a reconnect: hashes of lines that may arrive again.
    repeated: HashMap<u64, u32>,
}

impl Lines {
    pub(super) fn new(after: Option<Timestamp>) -> Self {
        Self {
            after,
            partial: BytesMut::new(),
            state: LineState::Gather,
            ready: BytesMut::new(),
            oldest: Timestamp(i64::MAX),
            newest: Timestamp::ZERO,
            count: 0,
            recent: VecDeque::new(),
            repeated: HashMap::new(),
        }
    }

    /// Returns the number of new lines so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the time to read from: early enough for all new lines, late enough that duplicates are recognized.
    pub(super) fn since(&self) -> Option<jiff::Timestamp> {
        second_before(if self.count > 0 { Some(self.newest) } else { self.after })
    }

    /// Like [`Self::since`], for a run that ended at this time and was replaced.
    ///
    /// The node may have returned lines of the next run as those of this one, so that none of its own may have
    /// arrived yet.
    pub(super) fn since_of_run(&self, ended: Option<Timestamp>) -> Option<jiff::Timestamp> {
        let are_its_own = ended.is_some_and(|ended| self.oldest < ended);
        if are_its_own { self.since() } else { second_before(self.after) }
    }

    /// Prepares for reading the same log again from [`Lines::since`].
    pub(super) fn reconnect(&mut self) {
        self.partial.clear();
        self.state = LineState::Gather;
        self.repeated.clear();
        for (_, lines) in &self.recent {
            for (line, times) in lines {
                *self.repeated.entry(*line).or_default() += times;
            }
        }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            self.part(line);
            self.end_line();
        }
        self.part(bytes);
    }

    /// Returns the complete lines, if there are any.
    pub(super) fn take(&mut self) -> Option<LogChunk> {
        (!self.ready.is_empty())
            .then(|| LogChunk { text: Bytes::from(self.ready.split()), time: self.newest })
    }

    /// Returns the rest at the end of the log, including a line without an end.
    pub(super) fn finish(&mut self) -> Option<LogChunk> {
        self.end_line();
        self.take()
    }

    fn part(&mut self, bytes: &[u8]) {
        match self.state {
            LineState::Drop => {}
            LineState::Pass => self.ready.extend_from_slice(bytes),
            LineState::Gather => {
                // Cut at the same position however the bytes arrive; otherwise duplicates would not be recognized.
                let (now, later) = bytes.split_at(bytes.len().min(LONGEST_LINE - self.partial.len()));
                self.partial.extend_from_slice(now);
                if self.partial.len() == LONGEST_LINE {
                    self.state = if self.emit() { LineState::Pass } else { LineState::Drop };
                    self.part(later);
                }
            }
        }
    }

    fn end_line(&mut self) {
        if self.state == LineState::Gather && !self.partial.is_empty() {
            self.emit();
        }
        self.state = LineState::Gather;
    }

    /// Emits the buffered line if it is new.
    fn emit(&mut self) -> bool {
        let line = self.partial.split();
        let (time, text) = split_timestamp(&line);
        if time.is_none() && LOG_MISSING_MESSAGES.iter().any(|words| text.starts_with(words)) {
            return false;
        }
        let time = time.unwrap_or(self.newest);
        if self.after.is_some_and(|after| time <= after) {
            return false;
        }
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(times) = self.repeated.get_mut(&hash).filter(|times| **times > 0) {
            *times -= 1;
            return false;
        }
        self.remember(time, hash);
        self.ready.extend_from_slice(text);
        self.oldest = self.oldest.min(time);
        self.newest = self.newest.max(time);
        self.count += 1;
        true
    }

    fn remember(&mut self, time: Timestamp, hash: u64) {
        let second = time.0.div_euclid(1_000_000);
        match self.recent.iter_mut().find(|(known, _)| *known == second) {
            Some((_, lines)) => *lines.entry(hash).or_default() += 1,
            None => {
                self.recent.push_back((second, HashMap::from([(hash, 1)])));
                let newest = self.recent.iter().map(|(second, _)| *second).max().unwrap_or(second);
                self.recent.retain(|(second, _)| *second > newest - OVERLAP_SECONDS - 1);
            }
        }
    }
}

/// What a node returns instead of the log of a deleted container. Lines of containers have a timestamp, these do not.
const LOG_MISSING_MESSAGES: [&[u8]; 2] =
    [b"unable to retrieve container logs for ", b"failed to try resolving symlinks in path "];

/// The server only accepts whole seconds.
fn second_before(time: Option<Timestamp>) -> Option<jiff::Timestamp> {
    let second = time?.0.div_euclid(1_000_000) - (OVERLAP_SECONDS - 1);
    jiff::Timestamp::from_second(second).ok()
}

/// Splits `2026-11-15T22:00:00.123456789Z text`.
fn split_timestamp(line: &[u8]) -> (Option<Timestamp>, &[u8]) {
    let Some(space) = line.iter().take(40).position(|byte| *byte == b' ') else {
        return (None, line);
    };
    match std::str::from_utf8(&line[..space]).ok().and_then(Timestamp::from_rfc3339) {
        Some(time) => (Some(time), &line[space + 1..]),
        None => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_about_a_missing_log_is_dropped() {
        let mut lines = Lines::new(None);
        lines.push(b"2026-11-15T22:00:00Z one\n");
        lines
            .push(b"failed to try resolving symlinks in path \"/var/log/pods/a/2.log\": lstat: no such file");
        assert_eq!(lines.finish().unwrap().text, "one\n");
        lines.push(b"unable to retrieve container logs for docker://d975ab");
        assert!(lines.finish().is_none());
        lines.push(b"2026-11-15T22:00:01Z unable to retrieve container logs for the app\n");
        lines.push(b"failed to watch file: too many open files");
        assert_eq!(
            lines.finish().unwrap().text,
            "unable to retrieve container logs for the app\nfailed to watch file: too many open files"
        );
    }

    fn text(lines: &mut Lines) -> String {
        lines.take().map(|chunk| String::from_utf8(chunk.text.to_vec()).unwrap()).unwrap_or_default()
    }

    #[test]
    fn timestamps_are_stripped_in_any_chunks() {
        let input = b"2026-11-15T22:00:00.000000001Z one\n2026-11-15T22:00:00.000000002Z two\n";
        for cut in 0..input.len() {
            let mut lines = Lines::new(None);
            lines.push(&input[..cut]);
            lines.push(&input[cut..]);
            assert_eq!(text(&mut lines), "one\ntwo\n", "cut at {cut}");
        }
    }

    #[test]
    fn reconnect_neither_loses_nor_duplicates_lines() {
        let mut lines = Lines::new(None);
        let log = "2026-11-15T22:00:00.1Z a\n2026-11-15T22:00:01.5Z same\n2026-11-15T22:00:01.5Z same\n";
        lines.push(log.as_bytes());
        lines.push(b"2026-11-15T22:00:01.9Z cut of");
        assert_eq!(text(&mut lines), "a\nsame\nsame\n");
        assert_eq!(lines.since().unwrap().to_string(), "2026-11-15T22:00:00Z");
        lines.reconnect();
        lines.push(log.as_bytes());
        // Written to the other stream: later in the log, with an earlier time.
        lines.push(
            b"2026-11-15T22:00:01.5Z same\n2026-11-15T22:00:01.4Z late\n2026-11-15T22:00:01.9Z cut off\n",
        );
        assert_eq!(text(&mut lines), "same\nlate\ncut off\n");
    }

    #[test]
    fn lines_of_the_next_run_do_not_hide_the_requested_run() {
        let ended = Timestamp::from_rfc3339("2026-11-15T22:00:03Z");
        let mut lines = Lines::new(None);
        lines.push(b"2026-11-15T22:00:09Z hello\n");
        assert_eq!(lines.since_of_run(ended), None, "from the beginning");
        lines.reconnect();
        lines.push(b"2026-11-15T22:00:03.1Z hello\n2026-11-15T22:00:03.2Z bye\n");
        assert_eq!(text(&mut lines), "hello\nhello\nbye\n");
        let mut lines = Lines::new(None);
        lines.push(b"2026-11-15T22:00:00.1Z hello\n2026-11-15T22:00:03.1Z bye\n");
        assert_eq!(lines.since_of_run(ended), lines.since());
    }

    #[test]
    fn partial_last_line_is_emitted_at_the_end() {
        let mut lines = Lines::new(None);
        lines.push(b"2026-11-15T22:00:00Z no end");
        assert_eq!(lines.take(), None);
        assert_eq!(lines.finish().unwrap().text, "no end");
        lines.reconnect();
        lines.push(b"2026-11-15T22:00:00Z no end");
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn lines_up_to_since_are_dropped() {
        let since = Timestamp::from_rfc3339("2026-11-15T22:00:00.5Z");
        let mut lines = Lines::new(since);
        lines.push(b"2026-11-15T22:00:00.5Z old\n2026-11-15T22:00:00.6Z new\n");
        assert_eq!(text(&mut lines), "new\n");
    }

    #[test]
    fn too_long_line_is_emitted_in_pieces_and_once() {
        let long = "x".repeat(3 * LONGEST_LINE);
        let log = format!("2026-11-15T22:00:00Z {long}\n2026-11-15T22:00:00Z next\n");
        let mut lines = Lines::new(None);
        for piece in log.as_bytes().chunks(64 << 10) {
            lines.push(piece);
        }
        assert_eq!(text(&mut lines), format!("{long}\nnext\n"));
        lines.reconnect();
        for piece in log.as_bytes().chunks(64 << 10) {
            lines.push(piece);
        }
        assert_eq!(text(&mut lines), "");
    }
}
