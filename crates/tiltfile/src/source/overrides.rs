//! Replaces methods and operators by calls of builtins: `text.format(a)` becomes a call with the text as first argument,
//! `f(**x)` takes any mapping.
//!
//! Works on tokens, without a grammar: the receiver of a method is found by walking back over names, dots and whole
//! brackets.

mod assignment;
mod index;

use std::collections::HashMap;
use std::ops::Range;

use super::token::{Kind, Token};

/// Methods that differ from the interpreter's; see the builtins of these names.
const METHODS: [&str; 23] = [
    "capitalize",
    "codepoint_ords",
    "codepoints",
    "count",
    "elem_ords",
    "elems",
    "endswith",
    "find",
    "format",
    "index",
    "join",
    "lower",
    "pop",
    "replace",
    "rfind",
    "rindex",
    "rsplit",
    "split",
    "splitlines",
    "startswith",
    "title",
    "update",
    "upper",
];
/// Those of them that are not methods of strings.
const OF_COLLECTIONS: [&str; 2] = ["pop", "update"];
/// What reading `x[i]` calls.
const INDEX: &str = "__index__";
/// What reading `x[a:b]` calls.
const SLICE: &str = "__slice__";
/// Checks what `+=` adds.
const ADDEND: &str = "__addend__";
const ADDEND_OF: &str = "= __addend__(";
/// Converts the operand of `**` for the interpreter.
const MAPPING: &str = "__mapping__";
/// The same for `*`.
const SEQUENCE: &str = "__sequence__";

const METHOD_PREFIX: &str = "__method_";

/// Returns the beginning of the call that replaces a method's.
fn method_call(method: &str) -> String {
    match OF_COLLECTIONS.contains(&method) {
        true => format!("{METHOD_PREFIX}{method}("),
        false => format!("{METHOD_PREFIX}of_text(\"{method}\", "),
    }
}

/// Whether a name is used by the front end only.
pub(crate) fn is_internal(name: &str) -> bool {
    let comparison = super::COMPARISONS.iter().any(|(_, builtin)| *builtin == name);
    let others = [
        MAPPING,
        SEQUENCE,
        INDEX,
        SLICE,
        ADDEND,
        super::ENDLESS,
        super::PERCENT,
        super::TIMES,
        super::PLUS,
        super::SHIFT,
        super::EQUAL,
        super::UNEQUAL,
    ];
    let other = others.contains(&name);
    name.starts_with(METHOD_PREFIX) || comparison || other
}

/// The text to insert before a token, and to replace it.
#[derive(Debug, Default)]
pub(super) struct Edit {
    pub(super) before: String,
    pub(super) replacement: Option<&'static str>,
    /// Tokens that are repeated after that, and a text after them.
    pub(super) repeated: Option<(Range<usize>, &'static str)>,
}

/// Returns the edits by index of the token; one past the last is the end of the text.
pub(super) fn edits(text: &str, tokens: &[Token]) -> HashMap<usize, Edit> {
    let mut overrides =
        Overrides { text, tokens, matching_brackets: matching_brackets(text, tokens), edits: HashMap::new() };
    let bound = overrides.assignments();
    overrides.rewrite_methods(&bound);
    // After the methods: a wrapper of an expression must include its calls.
    overrides.wrap_star_arguments();
    overrides.edits
}

/// Maps each bracket to its matching bracket.
fn matching_brackets(text: &str, tokens: &[Token]) -> HashMap<usize, usize> {
    let mut open = Vec::new();
    let mut matching_brackets = HashMap::new();
    for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Punctuation) {
        match &text[token.range()] {
            "(" | "[" | "{" => open.push(index),
            ")" | "]" | "}" => {
                if let Some(start) = open.pop() {
                    matching_brackets.insert(start, index);
                    matching_brackets.insert(index, start);
                }
            }
            _ => {}
        }
    }
    matching_brackets
}

struct Overrides<'t> {
    text: &'t str,
    tokens: &'t [Token],
    matching_brackets: HashMap<usize, usize>,
    edits: HashMap<usize, Edit>,
}

impl<'t> Overrides<'t> {
    fn word(&self, index: usize) -> &'t str {
        &self.text[self.tokens[index].range()]
    }

    fn is(&self, index: usize, symbol: &str) -> bool {
        self.tokens[index].kind == Kind::Punctuation && self.word(index) == symbol
    }

    /// Returns the token before, in the same statement, without white space.
    fn before(&self, index: usize) -> Option<usize> {
        let blank = |index: &usize| matches!(self.tokens[*index].kind, Kind::Space | Kind::Comment);
        let found = (0..index).rev().find(|index| !blank(index))?;
        (!matches!(self.tokens[found].kind, Kind::Newline | Kind::Indent)).then_some(found)
    }

    fn after(&self, index: usize) -> Option<usize> {
        let blank = |index: &usize| matches!(self.tokens[*index].kind, Kind::Space | Kind::Comment);
        (index + 1..self.tokens.len()).find(|index| !blank(index))
    }

    /// Rewrites calls of methods and reads by index, in one pass because they may be chained.
    fn rewrite_methods(&mut self, bound: &[Range<usize>]) {
        let mut bound = bound.iter().peekable();
        for index in 0..self.tokens.len() {
            while bound.next_if(|targets| targets.end <= index).is_some() {}
            if self.is(index, ".") {
                self.rewrite_method(index);
            } else if self.is(index, "[") && !bound.peek().is_some_and(|targets| targets.contains(&index)) {
                self.rewrite_index(index);
            }
        }
    }

    fn rewrite_method(&mut self, dot: usize) -> Option<()> {
        let name = self.after(dot).filter(|name| self.tokens[*name].kind == Kind::Name)?;
        let method = METHODS.into_iter().find(|method| *method == self.word(name))?;
        let open = self.after(name).filter(|open| self.is(*open, "("))?;
        let close = self.matching_brackets.get(&open).copied()?;
        // With an argument it is that of a list or dict, which needs no replacement.
        if method == "pop" && self.after(open) != Some(close) {
            return None;
        }
        let start = self.expression_start(dot)?;
        self.open_before(start, &method_call(method));
        self.replace(dot, "");
        self.replace(name, "");
        self.replace(open, ", ");
        Some(())
    }

    /// Opens a call around the expression that starts here, including the calls that were opened here before.
    fn open_before(&mut self, start: usize, call: &str) {
        self.edits.entry(start).or_default().before.insert_str(0, call);
    }

    fn replace(&mut self, index: usize, text: &'static str) {
        self.edits.entry(index).or_default().replacement = Some(text);
    }

    /// Returns where the expression begins that the dot or bracket applies to.
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
                    let open = *self.matching_brackets.get(&end).filter(|open| **open < end)?;
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

    fn wrap_star_arguments(&mut self) {
        // For each open bracket: whether it is a call, and how many lambdas wait for their colon.
        let mut open: Vec<(bool, usize)> = Vec::new();
        for index in 0..self.tokens.len() {
            let kind = self.tokens[index].kind;
            match (kind, self.word(index)) {
                (Kind::Name, "lambda") => {
                    open.iter_mut().last().into_iter().for_each(|(_, waiting)| *waiting += 1);
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
                (Kind::Punctuation, "*") if open.last() == Some(&(true, 0)) => self.wrap_star_argument(index),
                _ => {}
            }
        }
    }

    fn is_call(&self, open: usize) -> bool {
        let Some(name) = self.before(open).filter(|name| self.ends_operand(*name)) else { return false };
        self.before(name).is_none_or(|before| self.word(before) != "def")
    }

    /// Wraps the operand of `*` or `**` into a builtin.
    fn wrap_star_argument(&mut self, star: usize) {
        if !self.before(star).is_some_and(|before| self.is(before, "(") || self.is(before, ",")) {
            return;
        }
        let double = self.tokens.get(star + 1).is_some_and(|_| self.is(star + 1, "*"));
        let last = if double { star + 1 } else { star };
        let Some(first) = self.after(last) else { return };
        let mut end = first;
        while end < self.tokens.len() && !matches!(self.word(end), "," | ")") {
            end = self.matching_brackets.get(&end).copied().filter(|close| *close > end).unwrap_or(end) + 1;
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
