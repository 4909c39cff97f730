//! The front end: what stands between a Tiltfile's text and the Starlark parser.
//!
//! Tilt's dialect knows `while`, tabs as indentation and `assert` as an ordinary name; the parser knows none of
//! them. They are rewritten here, before parsing, and every position that comes back from the interpreter is
//! mapped to the text the user wrote. Nothing here reports errors: what is malformed is passed on as it is, so
//! that the parser complains.
//!
//! `while c: body` becomes `for __while__ in __forever__:` with a leading `if not (c): break`.

mod token;

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use token::{Kind, Token, tokens};

/// The iterable without end that `while` runs over.
pub(crate) const FOREVER: &str = "__forever__";

/// A file as the user wrote it and as the parser sees it.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
    rewritten: String,
    /// In order of `at`, without gaps.
    segments: Vec<Segment>,
    line_starts: Vec<usize>,
    /// Identifiers, and strings that could be ones.
    words: HashSet<String>,
}

/// A piece of the rewritten text and what it stands for.
#[derive(Debug)]
struct Segment {
    at: usize,
    original: Range<usize>,
    /// Whether it was taken over byte by byte; else all of it stands for all of `original`.
    copied: bool,
}

impl Source {
    pub(crate) fn new(path: impl Into<PathBuf>, text: String) -> Self {
        let found = tokens(&text);
        let words = found.iter().filter_map(|token| token.word(&text)).map(str::to_owned).collect();
        let mut rewriter =
            Rewriter { text: &text, tokens: &found, rewritten: String::new(), segments: Vec::new() };
        rewriter.run();
        let Rewriter { rewritten, segments, .. } = rewriter;
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { path: path.into(), rewritten, segments, line_starts, words, text }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn rewritten(&self) -> &str {
        &self.rewritten
    }

    /// Whether this name could be bound somewhere in the file.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.words.contains(name)
    }

    /// The range of the user's text that a range of the rewritten one stands for.
    pub(crate) fn original_range(&self, start: usize, end: usize) -> (usize, usize) {
        let first = self.original(start).start;
        let last = if end > start { self.original(end - 1).end } else { first };
        (first, last.max(first))
    }

    fn original(&self, at: usize) -> Range<usize> {
        let index = self.segments.partition_point(|segment| segment.at <= at);
        let Some(segment) = index.checked_sub(1).and_then(|index| self.segments.get(index)) else {
            return 0..0;
        };
        if !segment.copied {
            return segment.original.clone();
        }
        let position = (segment.original.start + at - segment.at).min(segment.original.end);
        position..(position + 1).min(segment.original.end)
    }

    /// Counted from 1, the column in characters.
    pub(crate) fn line_and_column(&self, offset: usize) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts[line - 1];
        let before = self.text.get(start..offset.min(self.text.len())).unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (number(line), number(before.chars().count() + 1))
    }
}

struct Rewriter<'t> {
    text: &'t str,
    tokens: &'t [Token],
    rewritten: String,
    segments: Vec<Segment>,
}

impl Rewriter<'_> {
    fn run(&mut self) {
        // The line to put before the first statement of a loop's body: the condition's tokens.
        let mut waiting: Option<Range<usize>> = None;
        let mut index = 0;
        while let Some(token) = self.tokens.get(index) {
            if token.kind == Kind::Indent
                && let Some(condition) = waiting.take()
            {
                let indentation = self.indentation(token);
                self.leave_unless(condition, &indentation, token.start..token.start);
            }
            if self.is_while(index)
                && let Some(colon) = self.colon_after(index)
            {
                let condition = index + 1..colon;
                self.insert("for __while__ in ", token.range());
                self.insert(FOREVER, self.span(&condition));
                self.copy(&self.tokens[colon].range());
                index = colon + 1;
                match self.body_on_same_line(index) {
                    Some(body) => {
                        let indentation = format!("\n{} ", self.line_indentation(colon));
                        let at = self.tokens[body].start;
                        self.insert(&indentation, at..at);
                        self.leave_unless(condition, "", at..at);
                        self.insert(&indentation[1..], at..at);
                        index = body;
                    }
                    None => waiting = Some(condition),
                }
                continue;
            }
            self.token(token);
            index += 1;
        }
    }

    fn is_while(&self, index: usize) -> bool {
        let token = &self.tokens[index];
        let first = index.checked_sub(1).is_none_or(|before| self.tokens[before].kind == Kind::Indent);
        first && token.kind == Kind::Name && &self.text[token.range()] == "while"
    }

    /// The colon that ends the condition.
    fn colon_after(&self, start: usize) -> Option<usize> {
        let (mut depth, mut lambdas) = (0_usize, 0_usize);
        for (index, token) in self.tokens.iter().enumerate().skip(start + 1) {
            match (&token.kind, &self.text[token.range()]) {
                (Kind::Name, "lambda") if depth == 0 => lambdas += 1,
                (Kind::Punctuation, "(" | "[" | "{") => depth += 1,
                (Kind::Punctuation, ")" | "]" | "}") => depth = depth.saturating_sub(1),
                (Kind::Punctuation, ":") if depth == 0 && lambdas > 0 => lambdas -= 1,
                (Kind::Punctuation, ":") if depth == 0 => return (index > start + 1).then_some(index),
                (Kind::Newline, _) => return None,
                _ => {}
            }
        }
        None
    }

    fn body_on_same_line(&self, start: usize) -> Option<usize> {
        let offset = self.tokens[start..].iter().position(|token| token.kind != Kind::Space)?;
        let token = &self.tokens[start + offset];
        (!matches!(token.kind, Kind::Newline | Kind::Comment)).then_some(start + offset)
    }

    /// The indentation of the line in which a token stands, tabs expanded.
    fn line_indentation(&self, index: usize) -> String {
        let indent = self.tokens[..index].iter().rev().find(|token| token.kind == Kind::Indent);
        indent.map(|token| self.indentation(token)).unwrap_or_default()
    }

    fn indentation(&self, token: &Token) -> String {
        let mut expanded = String::new();
        for character in self.text[token.range()].chars() {
            let width = if character == '\t' { 8 - expanded.len() % 8 } else { 1 };
            expanded.extend(std::iter::repeat_n(' ', width));
        }
        expanded
    }

    fn leave_unless(&mut self, condition: Range<usize>, indentation: &str, at: Range<usize>) {
        self.insert(indentation, at);
        let span = self.span(&condition);
        self.insert("if not (", span.clone());
        for token in &self.tokens[condition] {
            self.token(token);
        }
        self.insert("): break\n", span);
    }

    fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        let text = self.tokens[tokens.start].start..self.tokens[tokens.end - 1].end;
        let blank = self.text[text.clone()].len() - self.text[text.clone()].trim_start().len();
        text.start + blank..text.end
    }

    fn token(&mut self, token: &Token) {
        let text = &self.text[token.range()];
        match token.kind {
            Kind::Indent if text.contains('\t') => self.insert(&self.indentation(token), token.range()),
            Kind::Space | Kind::Comment if text.contains('\t') => {
                self.push(&text.replace('\t', " "), token.range(), true);
            }
            Kind::Name if text == "assert" => self.insert("assert__", token.range()),
            _ => self.copy(&token.range()),
        }
    }

    fn copy(&mut self, range: &Range<usize>) {
        self.push(&self.text[range.clone()], range.clone(), true);
    }

    fn insert(&mut self, text: &str, stands_for: Range<usize>) {
        self.push(text, stands_for, false);
    }

    fn push(&mut self, text: &str, original: Range<usize>, copied: bool) {
        if text.is_empty() {
            return;
        }
        let at = self.rewritten.len();
        self.rewritten.push_str(text);
        if let Some(last) = self.segments.last_mut()
            && copied
            && last.copied
            && last.original.end == original.start
        {
            last.original.end = original.end;
            return;
        }
        self.segments.push(Segment { at, original, copied });
    }
}

#[cfg(test)]
mod tests;
