//! Calls that go to a builtin of ours instead of the interpreter's own method, and what else is put around an
//! expression: `text.format(a)` becomes a call with the text as first argument, `f(**x)` takes any mapping.
//!
//! Works on tokens, without a grammar: an expression that a method is called on is found by walking back over names,
//! dots and whole brackets.

use std::collections::HashMap;

use super::token::{Kind, Token};

/// Methods that behave otherwise here than the interpreter's; see the builtins of these names.
const METHODS: [&str; 11] = [
    "codepoint_ords",
    "codepoints",
    "elem_ords",
    "elems",
    "format",
    "pop",
    "replace",
    "rsplit",
    "split",
    "splitlines",
    "update",
];
/// Makes of what stands after `**` something the interpreter takes.
const MAPPING: &str = "__mapping__";
/// The same for `*`.
const SEQUENCE: &str = "__sequence__";

const METHOD_PREFIX: &str = "__method_";

/// What a method's calls are rewritten to.
fn method_builtin(method: &str) -> String {
    format!("{METHOD_PREFIX}{method}")
}

/// Whether a name is one that only the front end writes.
pub(crate) fn is_internal(name: &str) -> bool {
    let comparison = super::COMPARISONS.iter().any(|(_, builtin)| *builtin == name);
    let other = [MAPPING, SEQUENCE, super::FOREVER, super::PERCENT, super::TIMES].contains(&name);
    name.starts_with(METHOD_PREFIX) || comparison || other
}

/// What to write before a token, and instead of it.
#[derive(Debug, Default)]
pub(super) struct Edit {
    pub(super) before: String,
    pub(super) instead: Option<&'static str>,
}

/// By index of the token.
pub(super) fn edits(text: &str, tokens: &[Token]) -> HashMap<usize, Edit> {
    let mut scan = Scan { text, tokens, partners: partners(text, tokens), edits: HashMap::new() };
    scan.methods();
    // After the methods: what is put around an expression goes around its calls, too.
    scan.stars();
    scan.edits
}

/// The other bracket of each bracket that has one.
fn partners(text: &str, tokens: &[Token]) -> HashMap<usize, usize> {
    let mut open = Vec::new();
    let mut partners = HashMap::new();
    for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Punctuation) {
        match &text[token.range()] {
            "(" | "[" | "{" => open.push(index),
            ")" | "]" | "}" => {
                if let Some(start) = open.pop() {
                    partners.insert(start, index);
                    partners.insert(index, start);
                }
            }
            _ => {}
        }
    }
    partners
}

struct Scan<'t> {
    text: &'t str,
    tokens: &'t [Token],
    partners: HashMap<usize, usize>,
    edits: HashMap<usize, Edit>,
}

impl<'t> Scan<'t> {
    fn word(&self, index: usize) -> &'t str {
        &self.text[self.tokens[index].range()]
    }

    fn is(&self, index: usize, symbol: &str) -> bool {
        self.tokens[index].kind == Kind::Punctuation && self.word(index) == symbol
    }

    /// The token before, in the same statement, without white space.
    fn before(&self, index: usize) -> Option<usize> {
        let blank = |index: &usize| matches!(self.tokens[*index].kind, Kind::Space | Kind::Comment);
        let found = (0..index).rev().find(|index| !blank(index))?;
        (!matches!(self.tokens[found].kind, Kind::Newline | Kind::Indent)).then_some(found)
    }

    fn after(&self, index: usize) -> Option<usize> {
        let blank = |index: &usize| matches!(self.tokens[*index].kind, Kind::Space | Kind::Comment);
        (index + 1..self.tokens.len()).find(|index| !blank(index))
    }

    fn methods(&mut self) {
        for dot in 0..self.tokens.len() {
            if !self.is(dot, ".") {
                continue;
            }
            let Some(name) = self.after(dot).filter(|name| self.tokens[*name].kind == Kind::Name) else {
                continue;
            };
            let Some(method) = METHODS.into_iter().find(|method| *method == self.word(name)) else {
                continue;
            };
            let Some(open) = self.after(name).filter(|open| self.is(*open, "(")) else { continue };
            let Some(close) = self.partners.get(&open).copied() else { continue };
            // With an argument it is a list's or a dict's, and those are as they should be.
            if method == "pop" && self.after(open) != Some(close) {
                continue;
            }
            let Some(start) = self.expression_start(dot) else { continue };
            self.edits
                .entry(start)
                .or_default()
                .before
                .insert_str(0, &format!("{}(", method_builtin(method)));
            self.edits.entry(dot).or_default().instead = Some("");
            self.edits.entry(name).or_default().instead = Some("");
            self.edits.entry(open).or_default().instead = Some(", ");
        }
    }

    /// Where the expression begins that the dot applies to.
    fn expression_start(&self, dot: usize) -> Option<usize> {
        let mut end = self.before(dot)?;
        loop {
            match self.tokens[end].kind {
                Kind::Text | Kind::Number => return Some(end),
                Kind::Name if is_keyword(self.word(end)) => return None,
                Kind::Name => match self.before(end).filter(|before| self.is(*before, ".")) {
                    Some(dot) => end = self.before(dot)?,
                    None => return Some(end),
                },
                Kind::Punctuation => {
                    let open = *self.partners.get(&end).filter(|open| **open < end)?;
                    match self.before(open).filter(|before| self.ends_operand(*before)) {
                        Some(before) if !self.is(open, "{") => end = before,
                        _ => return Some(open),
                    }
                }
                _ => return None,
            }
        }
    }

    /// Whether a bracket after this token is a call or an index.
    fn ends_operand(&self, index: usize) -> bool {
        match self.tokens[index].kind {
            Kind::Name => !is_keyword(self.word(index)),
            Kind::Text => true,
            Kind::Punctuation => matches!(self.word(index), ")" | "]" | "}"),
            _ => false,
        }
    }

    fn stars(&mut self) {
        // For each open bracket: whether it is a call, and how many lambdas wait for their colon.
        let mut open: Vec<(bool, usize)> = Vec::new();
        for index in 0..self.tokens.len() {
            let kind = self.tokens[index].kind;
            match (kind, self.word(index)) {
                (Kind::Name, "lambda") => {
                    open.iter_mut().last().into_iter().for_each(|(_, waiting)| *waiting += 1)
                }
                (Kind::Punctuation, "(") => open.push((self.is_call(index), 0)),
                (Kind::Punctuation, "[" | "{") => open.push((false, 0)),
                (Kind::Punctuation, ")" | "]" | "}") => drop(open.pop()),
                (Kind::Punctuation, ":") => {
                    open.iter_mut()
                        .last()
                        .into_iter()
                        .for_each(|(_, waiting)| *waiting = waiting.saturating_sub(1));
                }
                (Kind::Punctuation, "*") if open.last() == Some(&(true, 0)) => self.star(index),
                _ => {}
            }
        }
    }

    fn is_call(&self, open: usize) -> bool {
        let Some(name) = self.before(open).filter(|name| self.ends_operand(*name)) else { return false };
        self.before(name).is_none_or(|before| self.word(before) != "def")
    }

    /// Puts a builtin around what stands after `*` or `**`.
    fn star(&mut self, star: usize) {
        if !self.before(star).is_some_and(|before| self.is(before, "(") || self.is(before, ",")) {
            return;
        }
        let double = self.tokens.get(star + 1).is_some_and(|_| self.is(star + 1, "*"));
        let last = if double { star + 1 } else { star };
        let Some(first) = self.after(last) else { return };
        let mut end = first;
        while end < self.tokens.len() && !matches!(self.word(end), "," | ")") {
            end = self.partners.get(&end).copied().filter(|close| *close > end).unwrap_or(end) + 1;
        }
        if end >= self.tokens.len() || end == first {
            return;
        }
        let builtin = if double { MAPPING } else { SEQUENCE };
        self.edits.entry(first).or_default().before.insert_str(0, &format!("{builtin}("));
        self.edits.entry(end).or_default().before.push(')');
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "break"
            | "continue"
            | "def"
            | "elif"
            | "else"
            | "for"
            | "if"
            | "in"
            | "lambda"
            | "load"
            | "not"
            | "or"
            | "pass"
            | "return"
            | "while"
    )
}
