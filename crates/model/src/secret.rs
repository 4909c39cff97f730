//! Secret values, and their redaction in texts.

mod forms;
mod search;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use forms::Forms;
use search::Search;
pub use values::{Structure, redact_values, redact_values_except};

/// A value of a Kubernetes Secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// The name of the object, so that the user can find it.
    pub name: String,
    pub key: String,
    pub value: Vec<u8>,
    /// The value in base64.
    pub encoded: String,
}

impl Secret {
    /// The minimum length of redacted values. Shorter ones would match too much.
    pub const SHORTEST: usize = 5;

    /// Returns the text that replaces the value.
    pub fn replacement(&self) -> String {
        format!("[redacted secret {}:{}]", self.name, self.key)
    }
}

/// Omits the value, so that it does not get into lilt's own logs.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({}:{})", self.name, self.key)
    }
}

/// Redacts a set of secrets in texts. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor {
    /// For whole texts.
    texts: Option<Arc<Search>>,
    /// For single lines: without forms that contain a line end.
    lines: Option<Arc<Search>>,
    blocks: Arc<[Block]>,
    /// The indices of blocks by the last byte of their first line, so that few are compared with a line.
    blocks_by_byte: Arc<[Vec<usize>]>,
}

/// Omits the values.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let forms = self.texts.as_ref().map_or(0, |search| search.len());
        write!(f, "Redactor({forms} forms)")
    }
}

/// Equal if they redact the same values.
impl PartialEq for Redactor {
    fn eq(&self, other: &Self) -> bool {
        self.texts.as_deref() == other.texts.as_deref()
    }
}

impl Redactor {
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Self {
        let mut forms = Vec::new();
        let mut blocks = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.value.len() >= Secret::SHORTEST) {
            let replacement = secret.replacement();
            let Forms { texts, blocks: own } = Forms::of(secret);
            forms.extend(texts.into_iter().map(|form| (form, replacement.clone())));
            blocks.extend(own);
        }
        let lines: Vec<_> = forms.iter().filter(|(form, _)| !form.contains(&b'\n')).cloned().collect();
        let mut blocks_by_byte = vec![Vec::new(); if blocks.is_empty() { 0 } else { 256 }];
        for (index, block) in blocks.iter().enumerate() {
            if let Some(last) = block.lines[0].last() {
                blocks_by_byte[usize::from(*last)].push(index);
            }
        }
        Self {
            texts: Search::new(forms),
            lines: Search::new(lines),
            blocks: blocks.into(),
            blocks_by_byte: blocks_by_byte.into(),
        }
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

    /// Redacts raw output of one or more whole lines.
    ///
    /// Secrets with several lines are not found: see [`Self::blocks`].
    pub fn redact_lines<'t>(&self, output: &'t [u8]) -> Cow<'t, [u8]> {
        match &self.lines {
            Some(search) => search.replace(output),
            None => Cow::Borrowed(output),
        }
    }

    /// Redacts the beginning of a line that is not complete.
    ///
    /// The end of `output` may be the beginning of a secret, so only the returned number of its bytes may be shown yet.
    pub fn redact_incomplete<'t>(&self, output: &'t [u8]) -> (Cow<'t, [u8]>, usize) {
        let Some(search) = &self.lines else { return (Cow::Borrowed(output), output.len()) };
        let certain = search.certain_length(output);
        (search.replace(&output[..certain]), certain)
    }

    /// Returns the values with several lines.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the indices of the blocks whose first line is the end of a line of output, with the offset in that line.
    pub fn blocks_starting_in(&self, line: &[u8]) -> impl Iterator<Item = (usize, usize)> {
        let last = line.trim_ascii_end().last().map(|byte| usize::from(*byte));
        let indices = last.and_then(|last| self.blocks_by_byte.get(last)).into_iter().flatten();
        indices.filter_map(move |index| Some((*index, self.blocks[*index].starts_in(line)?)))
    }
}

/// A value with several lines, without the white space around each line, since output is often indented.
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
    fn new(lines: &[&[u8]], replacement: String) -> Self {
        Self { lines: lines.iter().map(|line| line.to_vec()).collect(), replacement }
    }

    /// Returns the offset in a line of output at which the first line of the value begins, if it ends that line.
    pub fn starts_in(&self, line: &[u8]) -> Option<usize> {
        let line = line.trim_ascii_end();
        line.ends_with(&self.lines[0]).then(|| line.len() - self.lines[0].len())
    }

    /// Returns the offset in a line of output at which the line with this index ends, if that line is it.
    pub fn continues_in(&self, line: &[u8], index: usize) -> Option<usize> {
        let trimmed = line.trim_ascii_start();
        let own = self.lines.get(index)?;
        let end = line.len() - trimmed.len() + own.len();
        let is_match = trimmed.starts_with(own) && (self.is_last(index) || trimmed.trim_ascii_end() == own);
        is_match.then_some(if self.is_last(index) { end } else { line.len() })
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

    fn redactor_of(value: &str) -> Redactor {
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, value);
        Redactor::new(&[secret("password", value, &encoded)])
    }

    const HIDDEN: &str = "[redacted secret db:password]";

    #[test]
    fn values_with_colour_codes_inside_are_redacted() {
        let redactor = redactor_of("hunter2");
        let grep = "pass=\x1b[01;31m\x1b[Khunt\x1b[m\x1b[Ker2 end";
        let expected = format!("pass=\x1b[01;31m\x1b[K{HIDDEN}\x1b[m\x1b[K end");
        assert_eq!(redactor.redact(grep), expected);
        assert_eq!(redactor.redact_lines(grep.as_bytes()), expected.as_bytes());
        let every_letter: String =
            "hunter2".chars().map(|letter| format!("\x1b[3{letter}m{letter}")).collect();
        assert!(!crate::escape::plain(&redactor.redact(&every_letter)).contains("hunter2"));
        assert!(matches!(redactor.redact("\x1b[31mred\x1b[0m"), Cow::Borrowed(_)));
        // An incomplete line.
        let (shown, certain) = redactor.redact_incomplete(b"x \x1b[31mhun\x1b[0mte");
        assert_eq!((&*shown, certain), (&b"x \x1b[31m"[..], 7));
        let (shown, certain) = redactor.redact_incomplete(b"hunter\x1b[0");
        assert_eq!((&*shown, certain), (&b""[..], 0));
    }

    #[test]
    fn quoted_values_are_redacted() {
        let redactor = redactor_of("p\"a<ss\\wö/rd&1");
        for quoted in [
            r#"p\"a<ss\\wö/rd&1"#,
            r#"p\"a\u003css\\wö/rd\u00261"#,
            r#"p\"a<ss\\w\u00f6/rd&1"#,
            r#"p\"a<ss\\wö\/rd&1"#,
            r#"p\\\"a<ss\\\\wö/rd&1"#,
            "p%22a%3Css%5Cw%C3%B6%2Frd%261",
        ] {
            assert_eq!(redactor.redact(&format!("x {quoted} y")), format!("x {HIDDEN} y"), "{quoted}");
        }
    }

    #[test]
    fn base64_variants_are_redacted() {
        let redactor = redactor_of("subject?>>hunter2");
        for encoded in [
            "c3ViamVjdD8+Pmh1bnRlcjI=",
            "c3ViamVjdD8+Pmh1bnRlcjI",
            "c3ViamVjdD8-Pmh1bnRlcjI",
            "c3ViamVjdD8+Pmh1bnRlcjIK",
        ] {
            assert_eq!(redactor.redact(&format!("<{encoded}>")), format!("<{HIDDEN}>"), "{encoded}");
        }
    }

    #[test]
    fn wrapped_base64_is_redacted() {
        let value: String = (0..120u8).map(|number| char::from(b'a' + number % 23)).collect();
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &value);
        let redactor = redactor_of(&value);
        for (width, between) in [(76, "\n"), (64, "\r\n"), (76, "\\n")] {
            let lines: Vec<&str> = encoded
                .as_bytes()
                .chunks(width)
                .map(|line| std::str::from_utf8(line).expect("base64"))
                .collect();
            let redacted = redactor.redact(&lines.join(between)).into_owned();
            assert!(lines.iter().all(|line| !redacted.contains(line)), "{redacted}");
        }
        // 160 characters: the third line has 8, which are recognized only after the second line.
        let block =
            redactor.blocks().iter().find(|block| block.starts_in(&encoded.as_bytes()[76..152]).is_some());
        assert_eq!(block.and_then(|block| block.continues_in(&encoded.as_bytes()[152..], 1)), Some(8));
    }

    #[test]
    fn blank_values_redact_nothing() {
        assert_eq!(redactor_of("      ").redact("a        b"), "a        b");
    }

    #[test]
    fn short_values_stay_and_long_ones_win() {
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
    fn binary_values_are_redacted_in_raw_output() {
        let value = vec![0xff, 0xfe, 1, 2, 3];
        let binary = Secret { name: "db".into(), key: "raw".into(), value, encoded: "//4BAgM=".into() };
        let redactor = Redactor::new(&[binary]);
        assert_eq!(&*redactor.redact_lines(b"<\xff\xfe\x01\x02\x03>"), b"<[redacted secret db:raw]>");
    }

    #[test]
    fn possible_beginning_of_a_secret_is_held_back() {
        let redactor = Redactor::new(&[secret("password", "hunter2", "aHVudGVyMg==")]);
        let (shown, certain) = redactor.redact_incomplete(b"login: hunt");
        assert_eq!((&*shown, certain), (&b"login: "[..], 7));
        let (shown, certain) = redactor.redact_incomplete(b"login: hunter2");
        assert_eq!((&*shown, certain), (&b"login: [redacted secret db:password]"[..], 14));
        // Its end is also its beginning.
        let redactor = Redactor::new(&[secret("twins", "ab-ab", "YWItYWI=")]);
        let (shown, certain) = redactor.redact_incomplete(b"ab-ab");
        assert_eq!((&*shown, certain), (&b"[redacted secret db:twins]"[..], 5));
    }

    #[test]
    fn values_with_several_lines_are_matched_line_by_line() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n-----END KEY-----\n";
        let redactor = Redactor::new(&[secret("key", key, "LS0tLS1CRUdJTi")]);
        assert_eq!(redactor.redact(&format!("a {key} b")), "a [redacted secret db:key] b");
        assert_eq!(redactor.redact("x MIIEvQIBADANBgkqhkiG9w0 y"), "x [redacted secret db:key] y");
        assert_eq!(redactor.redact("short -----END KEY-----"), "short -----END KEY-----");
        let quoted = key.trim_end().replace('\n', "\\n");
        assert_eq!(redactor.redact(&quoted), "[redacted secret db:key]");
        let [block] = redactor.blocks() else { panic!("one value has several lines") };
        assert_eq!(block.starts_in(b"key: -----BEGIN KEY-----"), Some(5));
        assert_eq!(block.starts_in(b"-----BEGIN KEY----- and more"), None);
        assert_eq!(block.continues_in(b"  short", 2), Some(7));
        assert_eq!(block.continues_in(b"  shorter", 2), None);
        assert_eq!(block.continues_in(b"  -----END KEY-----\"}", 3), Some(19));
        assert!(block.is_last(3));
    }
}
