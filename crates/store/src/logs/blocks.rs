//! Secrets that have several lines, taken out of output that comes line by line.
//!
//! The first line alone may be anything (`{`, say), so it is held back until the next line tells. One that is shown
//! because none came for a while was no secret by itself.

use std::borrow::Cow;

use lilt_model::escape;
use lilt_model::secret::{Block, Redactor};

/// A secret whose lines up to one have come.
#[derive(Clone, Copy, Debug)]
struct Begun {
    block: usize,
    /// The line that would be the next.
    next: usize,
    /// Where it begins in its first line.
    from: usize,
}

#[derive(Debug)]
struct Held {
    /// As it came.
    line: Vec<u8>,
    /// Without control sequences, if it has some.
    plain: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(super) struct Blocks {
    begun: Vec<Begun>,
    /// What may be the first line of the secrets that have begun.
    held: Option<Held>,
}

impl Blocks {
    /// Passes whole lines through. `shown`: the beginning of the first one was shown already.
    pub(super) fn pass(&mut self, text: &[u8], redactor: &Redactor, mut shown: bool) -> Vec<u8> {
        let mut passed = Vec::with_capacity(text.len());
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // Colours in a value must not hide it.
            let plain = without_sequences(line);
            if !self.go_on(&plain, redactor.blocks(), &mut passed) {
                self.release(&mut passed);
                self.begin(&plain, redactor);
                if self.begun.is_empty() || shown {
                    put(&mut passed, &[line]);
                } else {
                    let plain = matches!(plain, Cow::Owned(_)).then(|| plain.into_owned());
                    self.held = Some(Held { line: line.to_owned(), plain });
                }
            }
            shown = false;
        }
        passed
    }

    fn begin(&mut self, line: &[u8], redactor: &Redactor) {
        let begun = redactor.blocks_starting_in(line).map(|(block, from)| Begun { block, next: 1, from });
        self.begun.clear();
        self.begun.extend(begun);
    }

    /// Whether the line is of a secret that has begun.
    fn go_on(&mut self, line: &[u8], blocks: &[Block], passed: &mut Vec<u8>) -> bool {
        let end_in = |begun: &Begun| blocks.get(begun.block)?.continues_in(line, begun.next);
        self.begun.retain(|begun| end_in(begun).is_some());
        let Some((first, end)) = self.begun.first().and_then(|begun| Some((*begun, end_in(begun)?))) else {
            return false;
        };
        let replacement = blocks[first.block].replacement.as_bytes();
        if let Some(held) = self.held.take() {
            let held = held.plain.unwrap_or(held.line);
            put(passed, &[&held[..first.from], replacement]);
        }
        put(passed, &[replacement, &line[end..]]);
        self.begun.retain(|begun| !blocks[begun.block].is_last(begun.next));
        self.begun.iter_mut().for_each(|begun| begun.next += 1);
        true
    }

    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Gives up what was held back.
    pub(super) fn release(&mut self, passed: &mut Vec<u8>) {
        if let Some(held) = self.held.take() {
            put(passed, &[&held.line]);
        }
        self.begun.clear();
    }
}

fn without_sequences(line: &[u8]) -> Cow<'_, [u8]> {
    if !escape::may_have_sequences(line) {
        return Cow::Borrowed(line);
    }
    let ranges = escape::plain_ranges(line);
    Cow::Owned(ranges.into_iter().flat_map(|range| &line[range]).copied().collect())
}

fn put(passed: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| passed.extend_from_slice(part));
    passed.push(b'\n');
}
