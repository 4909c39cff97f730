//! Splits a text into the kinds of tokens that rewriting needs. Every byte is in exactly one token.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The white space, perhaps none, before the first token of a statement's line.
    Indent,
    /// Other white space: between tokens, a backslash and the newline after it, all newlines in brackets, blank lines.
    Space,
    Comment,
    /// The end of a line that held a statement.
    Newline,
    Name,
    Text,
    Number,
    /// One character of any other kind.
    Punctuation,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the identifier, or the content of a string that could be one.
    pub(super) fn word<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self.kind {
            Kind::Name => Some(&text[self.range()]),
            Kind::Text => {
                let content = text[self.range()].trim_matches(['"', '\'']);
                let plain = content.len() <= 64 && content.bytes().all(is_name_byte);
                (plain && !content.is_empty()).then_some(content)
            }
            _ => None,
        }
    }
}

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { bytes: text.as_bytes(), at: 0, depth: 0, line_start: true, tokens: Vec::new() };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer<'t> {
    bytes: &'t [u8],
    at: usize,
    depth: usize,
    /// At the start of a line where a statement may begin.
    line_start: bool,
    tokens: Vec<Token>,
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, end: usize) {
        let end = end.min(self.bytes.len());
        self.tokens.push(Token { kind, start: self.at, end });
        self.at = end;
    }

    fn end_of(&self, from: usize, accept: impl Fn(u8) -> bool) -> usize {
        self.bytes[from..]
            .iter()
            .position(|byte| !accept(*byte))
            .map_or(self.bytes.len(), |length| from + length)
    }

    fn step(&mut self) {
        if self.line_start {
            return self.start_line();
        }
        match self.peek(0) {
            b'\n' if self.depth > 0 => self.push(Kind::Space, self.at + 1),
            b'\n' => {
                self.push(Kind::Newline, self.at + 1);
                self.line_start = true;
            }
            b' ' | b'\t' | b'\r' | 0x0c => {
                let end = self.end_of(self.at, |byte| matches!(byte, b' ' | b'\t' | b'\r' | 0x0c));
                self.push(Kind::Space, end);
            }
            b'\\' if self.peek(1) == b'\n' => self.push(Kind::Space, self.at + 2),
            b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.push(Kind::Space, self.at + 3),
            b'#' => {
                let end = self.end_of(self.at, |byte| byte != b'\n');
                self.push(Kind::Comment, end);
            }
            b'"' | b'\'' => {
                let end = self.string_end(self.at);
                self.push(Kind::Text, end);
            }
            b'0'..=b'9' => {
                let end = self.end_of(self.at, |byte| is_name_byte(byte) || byte == b'.');
                self.push(Kind::Number, end);
            }
            byte if is_name_byte(byte) => self.name(),
            byte => {
                match byte {
                    b'(' | b'[' | b'{' => self.depth += 1,
                    b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                self.push(Kind::Punctuation, self.at + 1);
            }
        }
    }

    /// White space before a statement is its indentation; blank lines and comment lines have none.
    fn start_line(&mut self) {
        let end = self.end_of(self.at, |byte| matches!(byte, b' ' | b'\t' | 0x0c));
        match self.bytes.get(end) {
            None => self.push(Kind::Space, end),
            Some(b'\n') => self.push(Kind::Space, end + 1),
            Some(b'\r') if self.bytes.get(end + 1) == Some(&b'\n') => self.push(Kind::Space, end + 2),
            Some(b'#') => {
                self.push(Kind::Space, end);
                let end = self.end_of(self.at, |byte| byte != b'\n');
                self.push(Kind::Comment, end);
                if self.peek(0) == b'\n' {
                    self.push(Kind::Space, self.at + 1);
                }
            }
            Some(_) => {
                self.push(Kind::Indent, end);
                self.line_start = false;
            }
        }
    }

    fn name(&mut self) {
        let end = self.end_of(self.at, is_name_byte);
        let quoted = matches!(self.bytes.get(end), Some(b'"' | b'\''));
        let prefix = matches!(&self.bytes[self.at..end], b"r" | b"b" | b"rb" | b"br" | b"f" | b"R" | b"B");
        if quoted && prefix {
            let end = self.string_end(end);
            return self.push(Kind::Text, end);
        }
        self.push(Kind::Name, end);
    }

    /// Returns the end of the string that opens at `open`; an unclosed one ends with its line.
    fn string_end(&self, open: usize) -> usize {
        let quote = self.bytes[open];
        let triple = self.bytes[open..].starts_with(&[quote; 3]);
        let mut at = open + if triple { 3 } else { 1 };
        while let Some(byte) = self.bytes.get(at) {
            match *byte {
                b'\\' => at += 1,
                b'\n' if !triple => return at,
                byte if byte == quote && !triple => return at + 1,
                byte if byte == quote && self.bytes[at..].starts_with(&[quote; 3]) => return at + 3,
                _ => {}
            }
            at += 1;
        }
        self.bytes.len()
    }
}
