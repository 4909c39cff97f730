//! Redacts secrets with several lines in output that arrives line by line.
//!
//! The first line of a secret may be a common one, such as `{`. So it is held back until the next line shows whether it
//! is the secret. If no line arrives for a while, it is stored: it reveals nothing by itself.

use std::borrow::Cow;

use lilt_model::escape;
use lilt_model::secret::{Block, Redactor};

/// A secret of which the lines before `next` have arrived.
#[derive(Clone, Copy, Debug)]
struct PartialMatch {
    block: usize,
    /// The index of the next line of the secret.
    next: usize,
    /// The offset of the secret in its first line.
    from: usize,
}

#[derive(Debug)]
struct Held {
    /// The line as it arrived.
    line: Vec<u8>,
    /// The line without control sequences, if it has some.
    plain: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(super) struct Blocks {
    partial: Vec<PartialMatch>,
    /// The possible first line of the secrets in `partial`.
    held: Option<Held>,
}

impl Blocks {
    /// Returns whole lines, redacted. `is_stored`: the beginning of the first one is stored already.
    pub(super) fn redact(&mut self, text: &[u8], redactor: &Redactor, mut is_stored: bool) -> Vec<u8> {
        let mut redacted = Vec::with_capacity(text.len());
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // Colours must not prevent a match.
            let plain = without_sequences(line);
            if !self.redact_next(&plain, redactor.blocks(), &mut redacted) {
                self.release(&mut redacted);
                self.begin(&plain, redactor);
                if self.partial.is_empty() || is_stored {
                    put(&mut redacted, &[line]);
                } else {
                    let plain = matches!(plain, Cow::Owned(_)).then(|| plain.into_owned());
                    self.held = Some(Held { line: line.to_owned(), plain });
                }
            }
            is_stored = false;
        }
        redacted
    }

    fn begin(&mut self, line: &[u8], redactor: &Redactor) {
        let partial =
            redactor.blocks_starting_in(line).map(|(block, from)| PartialMatch { block, next: 1, from });
        self.partial.clear();
        self.partial.extend(partial);
    }

    /// Redacts the line if it continues a secret. Returns whether it does.
    fn redact_next(&mut self, line: &[u8], blocks: &[Block], redacted: &mut Vec<u8>) -> bool {
        let end_in =
            |candidate: &PartialMatch| blocks.get(candidate.block)?.continues_in(line, candidate.next);
        self.partial.retain(|candidate| end_in(candidate).is_some());
        let Some((first, end)) =
            self.partial.first().and_then(|candidate| Some((*candidate, end_in(candidate)?)))
        else {
            return false;
        };
        let replacement = blocks[first.block].replacement.as_bytes();
        if let Some(held) = self.held.take() {
            let held = held.plain.unwrap_or(held.line);
            put(redacted, &[&held[..first.from], replacement]);
        }
        put(redacted, &[replacement, &line[end..]]);
        self.partial.retain(|candidate| !blocks[candidate.block].is_last(candidate.next));
        self.partial.iter_mut().for_each(|candidate| candidate.next += 1);
        true
    }

    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Appends the line that was held back.
    pub(super) fn release(&mut self, redacted: &mut Vec<u8>) {
        if let Some(held) = self.held.take() {
            put(redacted, &[&held.line]);
        }
        self.partial.clear();
    }
}

fn without_sequences(line: &[u8]) -> Cow<'_, [u8]> {
    if !escape::may_have_sequences(line) {
        return Cow::Borrowed(line);
    }
    let ranges = escape::plain_ranges(line);
    Cow::Owned(ranges.into_iter().flat_map(|range| &line[range]).copied().collect())
}

fn put(redacted: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| redacted.extend_from_slice(part));
    redacted.push(b'\n');
}
