//! Values that must not be shown, and how to take them out of a text.

use std::borrow::Cow;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A value of a Kubernetes Secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// Of the object, so that the user can look it up.
    pub name: String,
    pub key: String,
    pub value: Vec<u8>,
    /// The value in base64.
    pub encoded: String,
}

impl Secret {
    /// Shorter values would take too much out of a text.
    pub const SHORTEST: usize = 5;
    /// A line of a longer value is taken out wherever it stands if it has so many bytes and no space: a piece of a key,
    /// not a sentence or a setting.
    const SHORTEST_LINE: usize = 16;

    /// What stands in its place.
    pub fn replacement(&self) -> String {
        format!("[redacted secret {}:{}]", self.name, self.key)
    }

    /// How the value may stand in a text.
    fn forms(&self) -> Vec<Vec<u8>> {
        let mut forms = vec![self.encoded.clone().into_bytes(), self.value.clone()];
        // A value often ends with a newline that a line of output does not have.
        let trimmed = self.value.trim_ascii_end();
        forms.push(trimmed.to_owned());
        if trimmed.contains(&b'\n') {
            // As JSON and shells quote it.
            forms.push(join(lines_of(trimmed), b"\\n"));
            forms.extend(
                lines_of(trimmed).map(<[u8]>::trim_ascii).filter(|line| is_piece(line)).map(Vec::from),
            );
        }
        forms.retain(|form| form.len() >= Self::SHORTEST);
        forms
    }

    /// Its lines, if there are several.
    fn block(&self) -> Option<Block> {
        let lines: Vec<Vec<u8>> =
            lines_of(self.value.trim_ascii()).map(|line| line.trim_ascii().to_vec()).collect();
        (lines.len() > 1).then(|| Block { lines, replacement: self.replacement() })
    }
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn join<'l>(lines: impl Iterator<Item = &'l [u8]>, between: &[u8]) -> Vec<u8> {
    lines.collect::<Vec<_>>().join(between)
}

fn is_piece(line: &[u8]) -> bool {
    line.len() >= Secret::SHORTEST_LINE && !line.iter().any(u8::is_ascii_whitespace)
}

/// Without the value: it must not come out by the way of a log of lilt's own.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({}:{})", self.name, self.key)
    }
}

/// Takes secrets out of texts. Made once for a set of secrets; cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor {
    /// For texts of any length.
    texts: Option<Arc<Search>>,
    /// For one line: without the forms that have a line end in them.
    lines: Option<Arc<Search>>,
    blocks: Arc<[Block]>,
}

/// Without the values.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let forms = self.texts.as_ref().map_or(0, |search| search.forms.len());
        write!(f, "Redactor({forms} forms)")
    }
}

impl Redactor {
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Self {
        let mut forms = Vec::new();
        let mut blocks = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.value.len() >= Secret::SHORTEST) {
            let replacement = secret.replacement();
            forms.extend(secret.forms().into_iter().map(|form| (form, replacement.clone())));
            blocks.extend(secret.block());
        }
        let lines: Vec<_> = forms.iter().filter(|(form, _)| !form.contains(&b'\n')).cloned().collect();
        Self { texts: Search::new(forms), lines: Search::new(lines), blocks: blocks.into() }
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_none()
    }

    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(search) = &self.texts else { return Cow::Borrowed(text) };
        match search.replace(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.redact(text) {
            *text = redacted;
        }
    }

    pub fn redact_failure(&self, failure: &mut Failure) {
        let more = [&mut failure.hint, &mut failure.detail].into_iter().flatten();
        std::iter::once(&mut failure.message).chain(more).for_each(|words| self.redact_in_place(words));
    }

    /// Raw output, of one or more whole lines. What of a secret is in another line is not found: see [`Self::blocks`].
    pub fn redact_lines<'t>(&self, output: &'t [u8]) -> Cow<'t, [u8]> {
        match &self.lines {
            Some(search) => search.replace(output),
            None => Cow::Borrowed(output),
        }
    }

    /// The beginning of a line whose end is not known. The end of it may be the beginning of a secret, so that only the
    /// returned number of bytes may be shown yet.
    pub fn redact_beginning<'t>(&self, output: &'t [u8]) -> (Cow<'t, [u8]>, usize) {
        let Some(search) = &self.lines else { return (Cow::Borrowed(output), output.len()) };
        let last = search.automaton.find_iter(output).last().map_or(0, |found| found.end());
        let certain = last.max(output.len() - search.begun_at_end_of(output));
        (search.replace(&output[..certain]), certain)
    }

    /// The values that have several lines.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

struct Search {
    automaton: AhoCorasick,
    forms: Vec<Vec<u8>>,
    /// For each form what to put there.
    replacements: Vec<String>,
}

impl Search {
    /// None: there is nothing to look for.
    fn new(forms: Vec<(Vec<u8>, String)>) -> Option<Arc<Self>> {
        if forms.is_empty() {
            return None;
        }
        let (forms, replacements): (Vec<_>, Vec<_>) = forms.into_iter().unzip();
        // The longest, so that none is left in parts.
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        let automaton =
            automaton.expect("invariant: secrets are far from the gigabytes that an automaton holds");
        Some(Arc::new(Self { automaton, forms, replacements }))
    }

    fn replace<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut found = self.automaton.find_iter(text).peekable();
        if found.peek().is_none() {
            return Cow::Borrowed(text);
        }
        let mut redacted = Vec::with_capacity(text.len());
        let mut next = 0;
        for place in found {
            redacted.extend_from_slice(&text[next..place.start()]);
            redacted.extend_from_slice(self.replacements[place.pattern()].as_bytes());
            next = place.end();
        }
        redacted.extend_from_slice(&text[next..]);
        Cow::Owned(redacted)
    }

    /// How many bytes at the end of a text are the beginning of a secret.
    fn begun_at_end_of(&self, text: &[u8]) -> usize {
        let begun = |form: &Vec<u8>| {
            let longest = text.len().min(form.len() - 1);
            (1..=longest).rev().find(|length| text.ends_with(&form[..*length]))
        };
        self.forms.iter().filter_map(begun).max().unwrap_or(0)
    }
}

/// A value with several lines, each without the space around it: output is often indented.
#[derive(Clone, PartialEq, Eq)]
pub struct Block {
    lines: Vec<Vec<u8>>,
    pub replacement: String,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({} lines, {})", self.lines.len(), self.replacement)
    }
}

impl Block {
    /// Whether a line of output may be the first one of it; where in the line it begins.
    pub fn begins_in(&self, line: &[u8]) -> Option<usize> {
        let line = line.trim_ascii_end();
        line.ends_with(&self.lines[0]).then(|| line.len() - self.lines[0].len())
    }

    /// Whether a line of output is the one with this index, counted from 0; where in the line it ends.
    pub fn goes_on_in(&self, line: &[u8], index: usize) -> Option<usize> {
        let trimmed = line.trim_ascii_start();
        let own = self.lines.get(index)?;
        let end = line.len() - trimmed.len() + own.len();
        let is_it = trimmed.starts_with(own) && (self.is_last(index) || trimmed.trim_ascii_end() == own);
        is_it.then_some(if self.is_last(index) { end } else { line.len() })
    }

    pub fn is_last(&self, index: usize) -> bool {
        index + 1 == self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(key: &str, value: &str, encoded: &str) -> Secret {
        Secret { name: "db".into(), key: key.into(), value: value.into(), encoded: encoded.into() }
    }

    #[test]
    fn redacts_values_and_their_base64() {
        let redactor = Redactor::new(&[secret("password", "hunter2", "aHVudGVyMg==")]);
        assert_eq!(redactor.redact("a hunter2 b"), "a [redacted secret db:password] b");
        assert_eq!(redactor.redact("x=aHVudGVyMg=="), "x=[redacted secret db:password]");
        assert!(matches!(redactor.redact("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn leaves_short_values_and_prefers_long_ones() {
        let secrets = [
            secret("short", "abcd", "YWJjZA=="),
            secret("part", "hunter2", "aHVudGVyMg=="),
            secret("whole", "hunter2hunter2\n", "aHVudGVyMmh1bnRlcjIK"),
        ];
        let redactor = Redactor::new(&secrets);
        assert_eq!(redactor.redact("abcd YWJjZA=="), "abcd YWJjZA==");
        assert_eq!(redactor.redact("hunter2hunter2"), "[redacted secret db:whole]");
    }

    #[test]
    fn bytes_that_are_no_text_are_found_in_raw_output() {
        let value = vec![0xff, 0xfe, 1, 2, 3];
        let binary = Secret { name: "db".into(), key: "raw".into(), value, encoded: "//4BAgM=".into() };
        let redactor = Redactor::new(&[binary]);
        assert_eq!(&*redactor.redact_lines(b"<\xff\xfe\x01\x02\x03>"), b"<[redacted secret db:raw]>");
    }

    #[test]
    fn the_beginning_of_a_secret_is_not_shown_before_it_is_known_what_it_becomes() {
        let redactor = Redactor::new(&[secret("password", "hunter2", "aHVudGVyMg==")]);
        let (shown, certain) = redactor.redact_beginning(b"login: hunt");
        assert_eq!((&*shown, certain), (&b"login: "[..], 7));
        let (shown, certain) = redactor.redact_beginning(b"login: hunter2");
        assert_eq!((&*shown, certain), (&b"login: [redacted secret db:password]"[..], 14));
        // Its end is its beginning, too.
        let redactor = Redactor::new(&[secret("twins", "ab-ab", "YWItYWI=")]);
        let (shown, certain) = redactor.redact_beginning(b"ab-ab");
        assert_eq!((&*shown, certain), (&b"[redacted secret db:twins]"[..], 5));
    }

    #[test]
    fn values_of_several_lines_are_known_by_their_lines() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n-----END KEY-----\n";
        let redactor = Redactor::new(&[secret("key", key, "LS0tLS1CRUdJTi")]);
        assert_eq!(redactor.redact(&format!("a {key} b")), "a [redacted secret db:key] b");
        assert_eq!(redactor.redact("x MIIEvQIBADANBgkqhkiG9w0 y"), "x [redacted secret db:key] y");
        assert_eq!(redactor.redact("short -----END KEY-----"), "short -----END KEY-----");
        let quoted = key.trim_end().replace('\n', "\\n");
        assert_eq!(redactor.redact(&quoted), "[redacted secret db:key]");
        let [block] = redactor.blocks() else { panic!("one value has several lines") };
        assert_eq!(block.begins_in(b"key: -----BEGIN KEY-----"), Some(5));
        assert_eq!(block.begins_in(b"-----BEGIN KEY----- and more"), None);
        assert_eq!(block.goes_on_in(b"  short", 2), Some(7));
        assert_eq!(block.goes_on_in(b"  shorter", 2), None);
        assert_eq!(block.goes_on_in(b"  -----END KEY-----\"}", 3), Some(19));
        assert!(block.is_last(3));
    }
}
