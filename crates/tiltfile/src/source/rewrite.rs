//! Writes the text for the parser, and records which segment of it maps to which of the user's text.
//!
//! `while c: body` becomes `for __while__ in __forever__:` with a leading `if not (c): break`.

use std::collections::HashMap;
use std::ops::Range;

use super::overrides::{Edit, edits};
use super::token::{Kind, Token};
use super::{ASSERT, ENDLESS, Segment, literal};

/// Returns the rewritten text with its segments.
pub(super) fn rewrite(text: &str, tokens: &[Token]) -> (String, Vec<Segment>) {
    let edits = edits(text, tokens);
    let mut rewriter =
        Rewriter { text, tokens, edits, in_load: None, rewritten: String::new(), segments: Vec::new() };
    rewriter.run();
    (rewriter.rewritten, rewriter.segments)
}

struct Rewriter<'t> {
    text: &'t str,
    tokens: &'t [Token],
    edits: HashMap<usize, Edit>,
    /// The depth of brackets in a `load` statement.
    in_load: Option<usize>,
    rewritten: String,
    segments: Vec<Segment>,
}

impl Rewriter<'_> {
    fn run(&mut self) {
        // The tokens of the condition, to be checked before the first statement of a loop's body.
        let mut waiting: Option<Range<usize>> = None;
        let mut index = 0;
        while let Some(token) = self.tokens.get(index) {
            if token.kind == Kind::Indent
                && let Some(condition) = waiting.take()
            {
                let indentation = self.indentation(token);
                self.insert_break_unless(condition, &indentation, token.start..token.start);
            }
            if self.is_while(index)
                && let Some(colon) = self.colon_after(index)
            {
                let condition = index + 1..colon;
                self.insert("for __while__ in ", token.range());
                self.insert(ENDLESS, self.span(&condition));
                self.copy(&self.tokens[colon].range());
                index = colon + 1;
                match self.body_on_same_line(index) {
                    Some(body) => {
                        let indentation = format!("\n{} ", self.line_indentation(colon));
                        let at = self.tokens[body].start;
                        self.insert(&indentation, at..at);
                        self.insert_break_unless(condition, "", at..at);
                        self.insert(&indentation[1..], at..at);
                        index = body;
                    }
                    None => waiting = Some(condition),
                }
                continue;
            }
            self.token(index);
            index += 1;
        }
        if let Some(edit) = self.edits.remove(&self.tokens.len()) {
            self.insert(&edit.before, self.text.len()..self.text.len());
        }
    }

    fn is_while(&self, index: usize) -> bool {
        let token = &self.tokens[index];
        let first = index.checked_sub(1).is_none_or(|before| self.tokens[before].kind == Kind::Indent);
        first && token.kind == Kind::Name && &self.text[token.range()] == "while"
    }

    /// Returns the colon that ends the condition.
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

    /// Returns the indentation of the line of a token, with expanded tabs.
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

    fn insert_break_unless(&mut self, condition: Range<usize>, indentation: &str, at: Range<usize>) {
        self.insert(indentation, at);
        let span = self.span(&condition);
        self.insert("if not (", span.clone());
        for index in condition {
            self.token(index);
        }
        self.insert("): break\n", span);
    }

    fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        let text = self.tokens[tokens.start].start..self.tokens[tokens.end - 1].end;
        let blank = self.text[text.clone()].len() - self.text[text.clone()].trim_start().len();
        text.start + blank..text.end
    }

    fn token(&mut self, index: usize) {
        let token = &self.tokens[index];
        let text = &self.text[token.range()];
        if let Some(edit) = self.edits.get(&index) {
            let (before, replacement, repeated) =
                (edit.before.clone(), edit.replacement, edit.repeated.clone());
            self.insert(&before, token.start..token.start);
            if let Some(replacement) = replacement {
                self.insert(replacement, token.range());
                if let Some((tokens, behind)) = repeated {
                    self.copy(&(self.tokens[tokens.start].start..self.tokens[tokens.end - 1].end));
                    self.insert(behind, token.range());
                }
                return;
            }
        }
        self.follow_load(index, text);
        match token.kind {
            Kind::Indent if text.contains('\t') => self.insert(&self.indentation(token), token.range()),
            Kind::Space | Kind::Comment if text.contains('\t') => {
                self.push(&text.replace('\t', " "), token.range(), true);
            }
            Kind::Name if text == "assert" => self.insert(ASSERT, token.range()),
            Kind::Text if self.in_load.is_some() && text.trim_matches(['\'', '"']) == "assert" => {
                self.insert(&text.replace("assert", ASSERT), token.range());
            }
            Kind::Text if text.contains('\\') => match literal::rewritten(text) {
                std::borrow::Cow::Borrowed(_) => self.copy(&token.range()),
                std::borrow::Cow::Owned(other) => self.insert(&other, token.range()),
            },
            _ => self.copy(&token.range()),
        }
    }

    /// Names in the strings of a `load` are names of variables.
    fn follow_load(&mut self, index: usize, text: &str) {
        let first = index.checked_sub(1).is_none_or(|before| self.tokens[before].kind == Kind::Indent);
        self.in_load = match (self.in_load, text) {
            _ if first && text == "load" => Some(0),
            (Some(depth), "(") => Some(depth + 1),
            (Some(0 | 1), ")") => None,
            (Some(depth), ")") => Some(depth - 1),
            (Some(0), _) if self.tokens[index].kind != Kind::Space => None,
            (unchanged, _) => unchanged,
        };
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
