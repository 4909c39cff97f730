//! Assignments: their targets, and `x *= y`, which is expanded because the interpreter cannot replace its operator by a
//! builtin.

use std::ops::Range;

use super::{ADDEND_OF, Overrides};
use crate::source::token::Kind;

impl Overrides<'_> {
    /// Expands assignments with an operator. Returns the target tokens of all assignments, in order: an index there is not
    /// a read.
    pub(super) fn assignments(&mut self) -> Vec<Range<usize>> {
        let mut bound = Vec::new();
        let (mut statement, mut at) = (0, 0);
        while at < self.tokens.len() {
            match (self.tokens[at].kind, self.word(at)) {
                (Kind::Newline | Kind::Indent, _) | (Kind::Punctuation, ":" | ";") => statement = at + 1,
                // The targets of a loop are before `in`.
                (Kind::Name, "for") => {
                    let end = self.tokens[at..].iter().position(|token| &self.text[token.range()] == "in");
                    bound.push(at..end.map_or(self.tokens.len(), |offset| at + offset));
                }
                (Kind::Punctuation, "=") if self.is_next(at, "=") => at += 1,
                (Kind::Punctuation, "=") if !self.is_comparison(at) => {
                    bound.push(statement..at);
                    self.expand_assignment(statement, at);
                }
                _ => {}
            }
            // Brackets on the right side of an assignment, or of a call, have no targets.
            at = self.matching_brackets.get(&at).copied().filter(|partner| *partner > at).unwrap_or(at) + 1;
        }
        bound.sort_by_key(|targets| targets.start);
        bound
    }

    fn is_next(&self, at: usize, symbol: &str) -> bool {
        self.tokens.get(at + 1).is_some_and(|_| self.is(at + 1, symbol))
    }

    fn is_last(&self, at: usize, symbol: &str) -> bool {
        at.checked_sub(1).is_some_and(|last| self.is(last, symbol))
    }

    /// Whether an `=` is the end of `!=`, `<=` or `>=`, and not of `<<=` or `>>=`.
    fn is_comparison(&self, at: usize) -> bool {
        let shift = |symbol: &str| self.is_last(at, symbol) && self.is_last(at - 1, symbol);
        self.is_last(at, "!")
            || (self.is_last(at, "<") && !shift("<"))
            || (self.is_last(at, ">") && !shift(">"))
    }

    fn expand_assignment(&mut self, statement: usize, equals: usize) -> Option<()> {
        let operator = ["*", "%", "+", "<"].into_iter().find(|operator| self.is_last(equals, operator))?;
        let first_sign = if operator == "<" { equals - 2 } else { equals - 1 };
        let start = if statement < first_sign && self.is_blank(statement) {
            self.after(statement)?
        } else {
            statement
        };
        let last = self.before(first_sign).filter(|last| *last >= start)?;
        let target = start..last + 1;
        // A call would be executed twice.
        if target.clone().any(|index| self.is(index, "(") || self.tokens[index].kind == Kind::Indent) {
            return None;
        }
        let first = self.after(equals)?;
        let end = (first..self.tokens.len())
            .find(|index| self.tokens[*index].kind == Kind::Newline || self.is(*index, ";"))
            .unwrap_or(self.tokens.len());
        let end = (first..end).rev().find(|index| !self.is_blank(*index))? + 1;
        if operator == "+" {
            // Adding one literal needs no check.
            if end == first + 1 && matches!(self.tokens[first].kind, Kind::Text | Kind::Number) {
                return None;
            }
            self.repeated(equals, ADDEND_OF, target, ", (");
            self.edits.entry(end).or_default().before.push_str("))");
            return Some(());
        }
        for index in first_sign..equals {
            self.replace(index, "");
        }
        self.repeated(
            equals,
            "= ",
            target,
            match operator {
                "*" => " * (",
                "%" => " % (",
                _ => " << (",
            },
        );
        self.edits.entry(end).or_default().before.push(')');
        Some(())
    }

    fn repeated(
        &mut self,
        index: usize,
        replacement: &'static str,
        tokens: Range<usize>,
        behind: &'static str,
    ) {
        let edit = self.edits.entry(index).or_default();
        edit.replacement = Some(replacement);
        edit.repeated = Some((tokens, behind));
    }

    fn is_blank(&self, index: usize) -> bool {
        matches!(self.tokens[index].kind, Kind::Space | Kind::Comment)
    }
}
