//! Searches texts for many values at once.

use std::borrow::Cow;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::escape;

pub(super) struct Search {
    automaton: AhoCorasick,
    forms: Vec<Vec<u8>>,
    /// The replacement of each form.
    replacements: Vec<String>,
}

impl PartialEq for Search {
    fn eq(&self, other: &Self) -> bool {
        (&self.forms, &self.replacements) == (&other.forms, &other.replacements)
    }
}

impl Search {
    /// Creates a search; none if there are no forms.
    pub(super) fn new(forms: Vec<(Vec<u8>, String)>) -> Option<Arc<Self>> {
        if forms.is_empty() {
            return None;
        }
        let (forms, replacements): (Vec<_>, Vec<_>) = forms.into_iter().unzip();
        // The longest match, so that no part of a value remains.
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        let automaton =
            automaton.expect("invariant: secrets are far from the gigabytes that an automaton holds");
        Some(Arc::new(Self { automaton, forms, replacements }))
    }

    /// Returns the number of forms.
    pub(super) fn len(&self) -> usize {
        self.forms.len()
    }

    pub(super) fn replace<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let replaced = self.replace_adjacent(text);
        if !escape::may_have_sequences(&replaced) {
            return replaced;
        }
        match self.replace_interrupted(&replaced) {
            Some(replaced) => Cow::Owned(replaced),
            None => replaced,
        }
    }

    fn replace_adjacent<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut matches = self.automaton.find_iter(text).peekable();
        if matches.peek().is_none() {
            return Cow::Borrowed(text);
        }
        let mut redacted = Vec::with_capacity(text.len());
        let mut next = 0;
        for found in matches {
            redacted.extend_from_slice(&text[next..found.start()]);
            redacted.extend_from_slice(self.replacements[found.pattern()].as_bytes());
            next = found.end();
        }
        redacted.extend_from_slice(&text[next..]);
        Cow::Owned(redacted)
    }

    /// Replaces values with control sequences between their bytes, as `grep --color` prints them. Keeps the sequences.
    fn replace_interrupted(&self, text: &[u8]) -> Option<Vec<u8>> {
        let plain = Plain::of(text);
        let mut matches = self.automaton.find_iter(&plain.bytes).peekable();
        matches.peek()?;
        let mut redacted = Vec::with_capacity(text.len());
        let mut next = 0;
        for found in matches {
            let begin = plain.position(found.start());
            let end = plain.position(found.end() - 1) + 1;
            redacted.extend_from_slice(&text[next..begin]);
            redacted.extend_from_slice(self.replacements[found.pattern()].as_bytes());
            plain.sequences(begin..end).for_each(|range| redacted.extend_from_slice(&text[range]));
            next = end;
        }
        redacted.extend_from_slice(&text[next..]);
        Some(redacted)
    }

    /// Returns how many bytes of an incomplete line can be redacted. The rest may be the beginning of a value, or of a
    /// control sequence in one.
    pub(super) fn certain_length(&self, text: &[u8]) -> usize {
        if !escape::may_have_sequences(text) {
            return self.certain_plain_length(text);
        }
        let text = &text[..text.len() - escape::unfinished_length(text)];
        let plain = Plain::of(text);
        let certain = self.certain_plain_length(&plain.bytes);
        if certain == plain.bytes.len() { text.len() } else { plain.position(certain) }
    }

    fn certain_plain_length(&self, text: &[u8]) -> usize {
        let last = self.automaton.find_iter(text).last().map_or(0, |found| found.end());
        last.max(text.len() - self.partial_match_length(text))
    }

    /// Returns how many bytes at the end of a text are the beginning of a secret.
    fn partial_match_length(&self, text: &[u8]) -> usize {
        let begun = |form: &Vec<u8>| {
            let longest = text.len().min(form.len() - 1);
            (1..=longest).rev().find(|length| text.ends_with(&form[..*length]))
        };
        self.forms.iter().filter_map(begun).max().unwrap_or(0)
    }
}

/// A text without its control sequences, with the original positions of its parts.
struct Plain {
    bytes: Vec<u8>,
    /// For each part its offset in the plain text and its range in the whole text.
    parts: Vec<(usize, std::ops::Range<usize>)>,
}

impl Plain {
    fn of(text: &[u8]) -> Self {
        let mut plain = Self { bytes: Vec::with_capacity(text.len()), parts: Vec::new() };
        for range in escape::plain_ranges(text) {
            plain.parts.push((plain.bytes.len(), range.clone()));
            plain.bytes.extend_from_slice(&text[range]);
        }
        plain
    }

    /// Returns the offset in the whole text of a byte of the plain text.
    fn position(&self, at: usize) -> usize {
        let part = self.parts.partition_point(|(begin, _)| *begin <= at) - 1;
        let (begin, range) = &self.parts[part];
        range.start + at - begin
    }

    /// Returns the control sequences in a range of the whole text that begins and ends with plain bytes.
    fn sequences(&self, within: std::ops::Range<usize>) -> impl Iterator<Item = std::ops::Range<usize>> {
        let parts = self.parts.iter().map(|(_, range)| range);
        let pairs = parts.clone().zip(parts.skip(1)).map(|(one, next)| one.end..next.start);
        pairs.filter(move |gap| gap.start >= within.start && gap.end <= within.end)
    }
}
