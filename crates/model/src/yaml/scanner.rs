//! Turns a YAML text into tokens with the rules of libyaml, which go-yaml ports.
//!
//! Files that kubectl and Tilt accept must be accepted here. YAML 1.2 parsers differ from libyaml in both directions, so
//! the rules are implemented here instead of using such a parser.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::YamlError;

/// The maximum length in characters of keys without `?`. They must also end in the line they begin in.
const SIMPLE_KEY_LENGTH: usize = 1024;

/// A position in the text. Lines and columns are counted from 0, columns in characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) offset: usize,
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) mark: Mark,
    pub(super) kind: TokenKind<'t>,
}

#[derive(Debug)]
pub(super) enum TokenKind<'t> {
    StreamEnd,
    TagDirective { handle: &'t str, prefix: Cow<'t, str> },
    VersionDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'t str),
    Anchor(&'t str),
    Tag { handle: &'t str, suffix: Cow<'t, str> },
    Scalar { text: Cow<'t, str>, is_plain: bool },
}

/// A scalar or collection that turns out to be a key if a `:` follows it.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    is_possible: bool,
    /// Only a key can be in this column.
    is_required: bool,
    token_number: usize,
    mark: Mark,
}

pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) position: usize,
    line: u32,
    pub(super) line_start: usize,
    /// The column of `column_position`, cached so that characters are counted once.
    column: u32,
    column_position: usize,
    pub(super) flow_level: usize,
    /// The column of the innermost block collection; -1 outside of any.
    pub(super) indent: i64,
    indents: Vec<i64>,
    pub(super) simple_key_allowed: bool,
    /// One for each level of flow collections, and one for the block context.
    simple_keys: Vec<SimpleKey>,
    tokens: VecDeque<Token<'t>>,
    tokens_taken: usize,
    head_is_final: bool,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            position: 0,
            line: 0,
            line_start: 0,
            column: 0,
            column_position: 0,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
            tokens: VecDeque::new(),
            tokens_taken: 0,
            head_is_final: false,
        }
    }

    /// Returns the next token without consuming it. The end of the stream repeats.
    pub(super) fn peek(&mut self) -> Result<&Token<'t>, YamlError> {
        if !self.head_is_final {
            while self.tokens.is_empty() || self.head_may_become_a_key()? {
                self.fetch()?;
            }
            self.head_is_final = true;
        }
        Ok(&self.tokens[0])
    }

    /// Consumes the token that `peek` returned.
    pub(super) fn take(&mut self) -> Result<Token<'t>, YamlError> {
        self.peek()?;
        self.head_is_final = false;
        self.tokens_taken += 1;
        Ok(self.tokens.pop_front().expect("invariant: peek leaves a token"))
    }

    /// Consumes the token that `peek` returned if `kind` holds for it.
    pub(super) fn take_if(&mut self, kind: fn(&TokenKind<'_>) -> bool) -> Result<bool, YamlError> {
        let matches = kind(&self.peek()?.kind);
        if matches {
            self.take()?;
        }
        Ok(matches)
    }

    pub(super) fn mark(&mut self) -> Mark {
        let passed = &self.bytes[self.column_position..self.position];
        let characters = passed.iter().filter(|byte| !is_continuation(**byte)).count();
        self.column += u32::try_from(characters).unwrap_or(u32::MAX);
        self.column_position = self.position;
        Mark { offset: self.position, line: self.line, column: self.column }
    }

    fn head_may_become_a_key(&mut self) -> Result<bool, YamlError> {
        for level in 0..self.simple_keys.len() {
            let key = self.simple_keys[level];
            if key.is_possible && key.token_number == self.tokens_taken {
                return self.is_valid_key(level);
            }
        }
        Ok(false)
    }

    fn is_valid_key(&mut self, level: usize) -> Result<bool, YamlError> {
        let key = self.simple_keys[level];
        if !key.is_possible {
            return Ok(false);
        }
        let between = &self.text[key.mark.offset..self.position];
        let is_too_long = between.len() > SIMPLE_KEY_LENGTH && between.chars().count() > SIMPLE_KEY_LENGTH;
        if key.mark.line < self.line || is_too_long {
            if key.is_required {
                return Err(error("could not find expected ':'", key.mark));
            }
            self.simple_keys[level].is_possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    fn save_simple_key(&mut self) -> Result<(), YamlError> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let mark = self.mark();
        let is_required = self.flow_level == 0 && self.indent == i64::from(mark.column);
        let token_number = self.tokens_taken + self.tokens.len();
        self.remove_simple_key()?;
        *self.innermost_key() = SimpleKey { is_possible: true, is_required, token_number, mark };
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Result<(), YamlError> {
        let key = self.innermost_key();
        if key.is_possible && key.is_required {
            return Err(error("could not find expected ':'", key.mark));
        }
        key.is_possible = false;
        Ok(())
    }

    fn innermost_key(&mut self) -> &mut SimpleKey {
        self.simple_keys.last_mut().expect("invariant: the block context has one")
    }

    /// Opens a block collection if `column` is deeper than the current one.
    fn roll_indent(&mut self, mark: Mark, at: Option<usize>, kind: TokenKind<'t>) {
        let column = i64::from(mark.column);
        if self.flow_level > 0 || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let index = at.map_or(self.tokens.len(), |number| number - self.tokens_taken);
        self.tokens.insert(index, Token { mark, kind });
    }

    /// Closes the block collections that are deeper than `column`.
    fn unroll_indent(&mut self, column: i64) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            let mark = self.mark();
            self.push(mark, TokenKind::BlockEnd);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn push(&mut self, mark: Mark, kind: TokenKind<'t>) {
        self.tokens.push_back(Token { mark, kind });
    }

    fn fetch(&mut self) -> Result<(), YamlError> {
        self.skip_to_next_token();
        let mark = self.mark();
        self.unroll_indent(i64::from(mark.column));
        let is_line_start = mark.column == 0;
        if self.is_end(0) {
            self.fetch_outside_of_all(mark, TokenKind::StreamEnd, 0)?;
            // Nothing can follow, so keys of outer levels need no more tokens.
            self.simple_keys.iter_mut().for_each(|key| key.is_possible = false);
            return Ok(());
        }
        match self.byte(0) {
            b'%' if is_line_start => self.fetch_directive(mark),
            b'-' if is_line_start && self.is_document_indicator(b"---") => {
                self.fetch_outside_of_all(mark, TokenKind::DocumentStart, 3)
            }
            b'.' if is_line_start && self.is_document_indicator(b"...") => {
                self.fetch_outside_of_all(mark, TokenKind::DocumentEnd, 3)
            }
            b'[' => self.fetch_flow_start(mark, TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(mark, TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(mark, TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(mark, TokenKind::FlowMappingEnd),
            b',' => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.fetch_indicator(mark, TokenKind::FlowEntry);
                Ok(())
            }
            b'-' if self.is_blank_or_end(1) => self.fetch_block_entry(mark),
            b'?' if self.flow_level > 0 || self.is_blank_or_end(1) => self.fetch_key(mark),
            b':' if self.flow_level > 0 || self.is_blank_or_end(1) => self.fetch_value(mark),
            b'*' => {
                let name = self.fetch_name("alias")?;
                self.push(mark, TokenKind::Alias(name));
                Ok(())
            }
            b'&' => {
                let name = self.fetch_name("anchor")?;
                self.push(mark, TokenKind::Anchor(name));
                Ok(())
            }
            b'!' => self.fetch_tag(mark),
            b'|' if self.flow_level == 0 => self.fetch_block_scalar(mark, true),
            b'>' if self.flow_level == 0 => self.fetch_block_scalar(mark, false),
            quote @ (b'\'' | b'"') => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                let text = self.scan_quoted(mark, quote)?;
                self.push(mark, TokenKind::Scalar { text, is_plain: false });
                Ok(())
            }
            byte if self.starts_plain_scalar(byte) => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                let text = self.scan_plain(mark)?;
                self.push(mark, TokenKind::Scalar { text, is_plain: true });
                Ok(())
            }
            b'\t' => Err(error("found a tab where spaces are expected", mark)),
            _ => Err(error("found character that cannot start any token", mark)),
        }
    }

    fn starts_plain_scalar(&self, byte: u8) -> bool {
        match byte {
            b'-' => !is_blank(self.byte(1)),
            b'?' | b':' => self.flow_level == 0 && !self.is_blank_or_end(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
            | b'%' | b'@' | b'`' => false,
            _ => !self.is_blank_or_end(0),
        }
    }

    fn fetch_indicator(&mut self, mark: Mark, kind: TokenKind<'t>) {
        self.position += 1;
        self.push(mark, kind);
    }

    fn fetch_outside_of_all(
        &mut self,
        mark: Mark,
        kind: TokenKind<'t>,
        length: usize,
    ) -> Result<(), YamlError> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.position += length;
        self.push(mark, kind);
        Ok(())
    }

    fn fetch_flow_start(&mut self, mark: Mark, kind: TokenKind<'t>) -> Result<(), YamlError> {
        self.save_simple_key()?;
        self.simple_keys.push(SimpleKey::default());
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.fetch_indicator(mark, kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, mark: Mark, kind: TokenKind<'t>) -> Result<(), YamlError> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        self.fetch_indicator(mark, kind);
        Ok(())
    }

    fn fetch_block_entry(&mut self, mark: Mark) -> Result<(), YamlError> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(error("block sequence entries are not allowed in this context", mark));
            }
            self.roll_indent(mark, None, TokenKind::BlockSequenceStart);
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.fetch_indicator(mark, TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self, mark: Mark) -> Result<(), YamlError> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(error("mapping keys are not allowed in this context", mark));
            }
            self.roll_indent(mark, None, TokenKind::BlockMappingStart);
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.fetch_indicator(mark, TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self, mark: Mark) -> Result<(), YamlError> {
        let level = self.simple_keys.len() - 1;
        if self.is_valid_key(level)? {
            let key = self.simple_keys[level];
            let token = Token { mark: key.mark, kind: TokenKind::Key };
            self.tokens.insert(key.token_number - self.tokens_taken, token);
            self.roll_indent(key.mark, Some(key.token_number), TokenKind::BlockMappingStart);
            self.simple_keys[level].is_possible = false;
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return Err(error("mapping values are not allowed in this context", mark));
                }
                self.roll_indent(mark, None, TokenKind::BlockMappingStart);
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.fetch_indicator(mark, TokenKind::Value);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, mark: Mark, is_literal: bool) -> Result<(), YamlError> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let text = self.scan_block(mark, is_literal)?;
        self.push(mark, TokenKind::Scalar { text: Cow::Owned(text), is_plain: false });
        Ok(())
    }

    fn fetch_name(&mut self, what: &str) -> Result<&'t str, YamlError> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let mark = self.mark();
        self.position += 1;
        let name = self.take_word();
        let ends_well = self.is_blank_or_end(0)
            || matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends_well {
            return Err(error(
                &format!("the name of an {what} may hold letters, digits, '-' and '_' only"),
                mark,
            ));
        }
        Ok(name)
    }

    /// Letters, digits, `-` and `_`.
    fn take_word(&mut self) -> &'t str {
        let start = self.position;
        while self.byte(0).is_ascii_alphanumeric() || matches!(self.byte(0), b'-' | b'_') {
            self.position += 1;
        }
        &self.text[start..self.position]
    }

    fn fetch_tag(&mut self, mark: Mark) -> Result<(), YamlError> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.position;
        let (handle, suffix) = if self.byte(1) == b'<' {
            self.position += 2;
            let suffix = self.take_tag_text();
            if self.byte(0) != b'>' {
                return Err(error("did not find the expected '>' of a tag", mark));
            }
            self.position += 1;
            ("", suffix)
        } else {
            self.position += 1;
            self.take_word();
            if self.byte(0) == b'!' {
                self.position += 1;
                let handle = &self.text[start..self.position];
                (handle, self.take_tag_text())
            } else {
                self.position = start + 1;
                match self.take_tag_text() {
                    "" => ("", "!"),
                    suffix => ("!", suffix),
                }
            }
        };
        if suffix.is_empty() || !self.is_blank_or_end(0) {
            return Err(error("did not find the expected end of a tag", mark));
        }
        self.push(mark, TokenKind::Tag { handle, suffix: without_escapes(suffix) });
        Ok(())
    }

    fn take_tag_text(&mut self) -> &'t str {
        let start = self.position;
        while self.byte(0).is_ascii_alphanumeric() || b"-_;/?:@&=+$,.!~*'()[]%".contains(&self.byte(0)) {
            self.position += 1;
        }
        &self.text[start..self.position]
    }

    fn fetch_directive(&mut self, mark: Mark) -> Result<(), YamlError> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.position;
        while !self.is_break_or_end(0) {
            self.position += 1;
        }
        let line = &self.text[start..self.position];
        let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let comment = words.iter().position(|word| word.starts_with('#')).unwrap_or(words.len());
        let kind = match words[..comment] {
            // Other versions than 1.1 are parsed with the same rules.
            ["%YAML", _] => TokenKind::VersionDirective,
            ["%TAG", handle, prefix] => TokenKind::TagDirective { handle, prefix: without_escapes(prefix) },
            _ => return Err(error("found an unknown directive", mark)),
        };
        self.push(mark, kind);
        Ok(())
    }

    /// Skips white space and comments.
    fn skip_to_next_token(&mut self) {
        loop {
            if self.position == self.line_start && self.bytes[self.position..].starts_with(b"\xef\xbb\xbf") {
                self.position += 3;
                self.column_position = self.position;
            }
            let tabs_allowed = self.flow_level > 0 || !self.simple_key_allowed;
            while self.byte(0) == b' ' || (tabs_allowed && self.byte(0) == b'\t') {
                self.position += 1;
            }
            if self.byte(0) == b'#' {
                while !self.is_break_or_end(0) {
                    self.position += 1;
                }
            }
            if !self.is_break(0) {
                return;
            }
            self.skip_break();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Skips a line break and returns its normalized form.
    pub(super) fn skip_break(&mut self) -> &'static str {
        let (length, meaning) = match self.bytes[self.position..] {
            [b'\r', b'\n', ..] => (2, "\n"),
            [b'\r' | b'\n', ..] => (1, "\n"),
            [0xc2, 0x85, ..] => (2, "\n"),
            [0xe2, 0x80, 0xa8, ..] => (3, "\u{2028}"),
            [0xe2, 0x80, 0xa9, ..] => (3, "\u{2029}"),
            _ => (0, ""),
        };
        self.position += length;
        self.line += 1;
        self.line_start = self.position;
        self.column = 0;
        self.column_position = self.position;
        meaning
    }

    /// Returns the column if only white space precedes it in its line.
    pub(super) fn column_in_blanks(&self) -> i64 {
        i64::try_from(self.position - self.line_start).unwrap_or(i64::MAX)
    }

    pub(super) fn is_document_indicator(&self, indicator: &[u8; 3]) -> bool {
        self.bytes[self.position..].starts_with(indicator) && self.is_blank_or_end(3)
    }

    /// Returns whether a line `---` or `...` begins here.
    pub(super) fn is_document_boundary(&self) -> bool {
        self.position == self.line_start
            && (self.is_document_indicator(b"---") || self.is_document_indicator(b"..."))
    }

    /// Returns the byte at `ahead`, or 0 at the end, a byte that the text cannot contain.
    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.position + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_end(&self, ahead: usize) -> bool {
        self.position + ahead >= self.bytes.len()
    }

    #[inline]
    pub(super) fn is_break(&self, ahead: usize) -> bool {
        match self.byte(ahead) {
            b'\n' | b'\r' => true,
            0xc2 => self.byte(ahead + 1) == 0x85,
            0xe2 => self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.is_break(ahead) || self.is_end(ahead)
    }

    #[inline]
    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        match self.byte(ahead) {
            0 | b' ' | b'\t' => true,
            _ => self.is_break(ahead),
        }
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend(rest.as_bytes());
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn error(message: &str, mark: Mark) -> YamlError {
    YamlError { message: message.to_owned(), line: Some(mark.line + 1), column: Some(mark.column + 1) }
}

pub(super) fn error_within(message: &str, mark: Mark, outer: &str, start: Mark) -> YamlError {
    error(&format!("{message} ({outer} starts at line {})", start.line + 1), mark)
}
