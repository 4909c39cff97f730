//! Reads of `x[i]` and `x[a:b]`: strings are indexed by bytes in Tilt, and by characters in the interpreter.

use super::{INDEX, Overrides, SLICE};
use crate::source::token::Kind;

impl Overrides<'_> {
    pub(super) fn rewrite_index(&mut self, open: usize) -> Option<()> {
        let close = self
            .matching_brackets
            .get(&open)
            .copied()
            .filter(|close| *close > open && self.is(*close, "]"))?;
        self.before(open).filter(|before| self.ends_operand(*before))?;
        let first = self.after(open).filter(|first| *first != close)?;
        // A string index is the key of a dict, which needs no replacement.
        if self.tokens[first].kind == Kind::Text && self.after(first) == Some(close) {
            return None;
        }
        let start = self.expression_start(open)?;
        let colons = self.colons(open, close);
        match colons.as_slice() {
            [] => {
                self.open_before(start, &format!("{INDEX}("));
                self.replace(open, ", (");
                self.replace(close, "))");
            }
            [_] | [_, _] => {
                self.open_before(start, &format!("{SLICE}("));
                self.replace(open, ", ");
                let mut last = open;
                for at in colons.iter().copied().chain([close]) {
                    let left_out = self.after(last) == Some(at);
                    self.replace(
                        at,
                        match (at == close, left_out) {
                            (false, false) => ", ",
                            (false, true) => "None, ",
                            (true, false) => ")",
                            (true, true) => "None)",
                        },
                    );
                    last = at;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the colons between the parts of a slice.
    fn colons(&self, open: usize, close: usize) -> Vec<usize> {
        let (mut at, mut lambdas, mut colons) = (open + 1, 0_usize, Vec::new());
        while at < close {
            match self.word(at) {
                "lambda" => lambdas += 1,
                ":" if lambdas > 0 => lambdas -= 1,
                ":" => colons.push(at),
                _ => {}
            }
            at = self.matching_brackets.get(&at).copied().filter(|partner| *partner > at).unwrap_or(at) + 1;
        }
        colons
    }
}
