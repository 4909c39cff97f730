//! Scans scalars: plain, quoted and block.

use std::borrow::Cow;

use super::YamlError;
use super::scanner::{Mark, Scanner, error, error_within, is_blank};

/// Line breaks between two parts of a scalar, to be folded.
#[derive(Default)]
struct Fold {
    first: &'static str,
    more: String,
}

impl Fold {
    fn add(&mut self, line_break: &'static str) {
        if self.first.is_empty() { self.first = line_break } else { self.more.push_str(line_break) }
    }

    /// Folds one break into a space and each further one into a line break. Unicode breaks are kept.
    fn append_to(&mut self, text: &mut String) {
        if self.first != "\n" {
            text.push_str(self.first);
            text.push_str(&self.more);
        } else if self.more.is_empty() {
            text.push(' ');
        } else {
            text.push_str(&self.more);
        }
        self.first = "";
        self.more.clear();
    }
}

enum Chomping {
    Clip,
    Strip,
    Keep,
}

impl<'t> Scanner<'t> {
    pub(super) fn scan_plain(&mut self, mark: Mark) -> Result<Cow<'t, str>, YamlError> {
        let indent = self.indent + 1;
        let mut text: Cow<'t, str> = Cow::Borrowed("");
        let mut blanks = &self.text[..0];
        let mut fold = Fold::default();
        let mut has_break = false;
        loop {
            if self.is_document_boundary() || self.byte(0) == b'#' {
                break;
            }
            let start = self.position;
            self.skip_plain_run();
            let run = &self.text[start..self.position];
            if !run.is_empty() {
                if text.is_empty() {
                    text = Cow::Borrowed(run);
                } else {
                    let text = text.to_mut();
                    if has_break {
                        fold.append_to(text);
                    } else {
                        text.push_str(blanks);
                    }
                    text.push_str(run);
                }
                has_break = false;
            }
            if !is_blank(self.byte(0)) && !self.is_break(0) {
                break;
            }
            let start = self.position;
            while is_blank(self.byte(0)) {
                self.position += 1;
            }
            blanks = &self.text[start..self.position];
            while self.is_break(0) {
                fold.add(self.skip_break());
                has_break = true;
                while is_blank(self.byte(0)) {
                    if self.byte(0) == b'\t' && self.column_in_blanks() < indent {
                        return Err(error_within(
                            "found a tab where spaces are expected",
                            self.mark(),
                            "a scalar",
                            mark,
                        ));
                    }
                    self.position += 1;
                }
            }
            if has_break && self.flow_level == 0 && self.column_in_blanks() < indent {
                break;
            }
        }
        if has_break {
            self.simple_key_allowed = true;
        }
        Ok(text)
    }

    /// Skips the characters of a plain scalar up to white space.
    fn skip_plain_run(&mut self) {
        loop {
            match self.byte(0) {
                0 | b' ' | b'\t' | b'\n' | b'\r' => return,
                b':' if self.is_blank_or_end(1) => return,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if self.flow_level > 0 => return,
                0xc2 | 0xe2 if self.is_break(0) => return,
                _ => self.position += 1,
            }
        }
    }

    pub(super) fn scan_quoted(&mut self, mark: Mark, quote: u8) -> Result<Cow<'t, str>, YamlError> {
        self.position += 1;
        let mut text: Cow<'t, str> = Cow::Borrowed("");
        loop {
            if self.is_document_boundary() {
                let here = self.mark();
                return Err(error_within("found a document marker in a quoted text", here, "the text", mark));
            }
            if self.is_end(0) {
                return Err(error("the quoted text that starts here has no end", mark));
            }
            let escaped_break = self.scan_quoted_run(mark, quote, &mut text)?;
            if self.byte(0) == quote {
                break;
            }
            let start = self.position;
            while is_blank(self.byte(0)) {
                self.position += 1;
            }
            let blanks = &self.text[start..self.position];
            if !escaped_break && !self.is_break(0) {
                append(&mut text, blanks);
                continue;
            }
            let mut fold = Fold::default();
            while self.is_break(0) || is_blank(self.byte(0)) {
                if is_blank(self.byte(0)) {
                    self.position += 1;
                } else {
                    let line_break = self.skip_break();
                    // An escaped line break is dropped, those after it are kept.
                    if escaped_break { fold.more.push_str(line_break) } else { fold.add(line_break) }
                }
            }
            fold.append_to(text.to_mut());
        }
        self.position += 1;
        Ok(text)
    }

    /// Scans up to white space or the closing quote. Returns whether it ended with an escaped line break.
    fn scan_quoted_run(&mut self, mark: Mark, quote: u8, text: &mut Cow<'t, str>) -> Result<bool, YamlError> {
        let mut start = self.position;
        loop {
            match self.byte(0) {
                byte if byte == quote => {
                    append(text, &self.text[start..self.position]);
                    if quote == b'"' || self.byte(1) != b'\'' {
                        return Ok(false);
                    }
                    append(text, "'");
                    self.position += 2;
                    start = self.position;
                }
                b'\\' if quote == b'"' => {
                    append(text, &self.text[start..self.position]);
                    if self.is_break(1) {
                        self.position += 1;
                        self.skip_break();
                        return Ok(true);
                    }
                    let character = self.scan_escape(mark)?;
                    text.to_mut().push(character);
                    start = self.position;
                }
                _ if self.is_blank_or_end(0) => {
                    append(text, &self.text[start..self.position]);
                    return Ok(false);
                }
                _ => self.position += 1,
            }
        }
    }

    fn scan_escape(&mut self, mark: Mark) -> Result<char, YamlError> {
        let digits = match self.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        let character = match self.byte(1) {
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0b',
            b'f' => '\x0c',
            b'r' => '\r',
            b'e' => '\x1b',
            byte @ (b' ' | b'"' | b'\'' | b'/' | b'\\') => char::from(byte),
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' | b'u' | b'U' => {
                let start = self.position + 2;
                let code = self.text.get(start..start + digits);
                let code = code.filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
                code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32).ok_or_else(
                    || {
                        let here = self.mark();
                        error_within("found an invalid Unicode escape", here, "the quoted text", mark)
                    },
                )?
            }
            _ => {
                let here = self.mark();
                return Err(error_within("found unknown escape character", here, "the quoted text", mark));
            }
        };
        self.position += 2 + digits;
        Ok(character)
    }

    pub(super) fn scan_block(&mut self, mark: Mark, is_literal: bool) -> Result<String, YamlError> {
        self.position += 1;
        let (chomping, increment) = self.scan_block_header(mark)?;
        if self.is_end(0) {
            return Ok(String::new());
        }
        self.skip_break();
        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let mut text = String::new();
        let mut line_break = "";
        let mut breaks = String::new();
        let mut after_blank = false;
        self.scan_block_breaks(&mut indent, &mut breaks)?;
        while self.column_in_blanks() == indent && !self.is_end(0) {
            let starts_blank = is_blank(self.byte(0));
            let is_folded = !is_literal && !after_blank && !starts_blank && line_break == "\n";
            if !is_folded {
                text.push_str(line_break);
            } else if breaks.is_empty() {
                text.push(' ');
            }
            text.push_str(&breaks);
            breaks.clear();
            after_blank = starts_blank;
            let start = self.position;
            self.skip_line();
            text.push_str(&self.text[start..self.position]);
            // As in Kubernetes tools, the last line counts as terminated.
            if self.is_end(0) {
                line_break = "\n";
                break;
            }
            line_break = self.skip_break();
            self.scan_block_breaks(&mut indent, &mut breaks)?;
        }
        match chomping {
            Chomping::Strip => {}
            Chomping::Clip => text.push_str(line_break),
            Chomping::Keep => {
                text.push_str(line_break);
                text.push_str(&breaks);
            }
        }
        Ok(text)
    }

    fn skip_line(&mut self) {
        loop {
            match self.byte(0) {
                0 | b'\n' | b'\r' => return,
                0xc2 | 0xe2 if self.is_break(0) => return,
                _ => self.position += 1,
            }
        }
    }

    /// Scans what follows `|` or `>`: chomping and indentation, in either order.
    fn scan_block_header(&mut self, mark: Mark) -> Result<(Chomping, i64), YamlError> {
        let mut chomping = None;
        let mut increment = 0;
        for _ in 0..2 {
            match self.byte(0) {
                b'+' if chomping.is_none() => chomping = Some(Chomping::Keep),
                b'-' if chomping.is_none() => chomping = Some(Chomping::Strip),
                b'0' => return Err(error("the indentation of a block scalar cannot be 0", self.mark())),
                digit @ b'1'..=b'9' if increment == 0 => increment = i64::from(digit - b'0'),
                _ => break,
            }
            self.position += 1;
        }
        while is_blank(self.byte(0)) {
            self.position += 1;
        }
        if self.byte(0) == b'#' {
            self.skip_line();
        }
        if !self.is_break_or_end(0) {
            let here = self.mark();
            return Err(error_within("expected a comment or a line break", here, "the block scalar", mark));
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    /// Skips indentation and empty lines. Detects the indentation unless it is known (not 0).
    fn scan_block_breaks(&mut self, indent: &mut i64, breaks: &mut String) -> Result<(), YamlError> {
        let mut deepest = 0;
        loop {
            while self.byte(0) == b' ' && (*indent == 0 || self.column_in_blanks() < *indent) {
                self.position += 1;
            }
            deepest = deepest.max(self.column_in_blanks());
            if self.byte(0) == b'\t' && (*indent == 0 || self.column_in_blanks() < *indent) {
                return Err(error("found a tab where spaces are expected", self.mark()));
            }
            if !self.is_break(0) {
                // Blanks without a line break count as a line.
                if self.is_end(0) && self.position > self.line_start {
                    breaks.push('\n');
                }
                break;
            }
            breaks.push_str(self.skip_break());
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}

fn append<'t>(text: &mut Cow<'t, str>, more: &'t str) {
    if text.is_empty() {
        *text = Cow::Borrowed(more);
    } else if !more.is_empty() {
        text.to_mut().push_str(more);
    }
}
