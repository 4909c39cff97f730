//! Limits how deep a text nests, because the parser and the compiler are recursive: far above what anybody writes, and
//! far below what the thread's stack holds.
//!
//! A level is a bracket, an operator or call that applies to the expression before it, an `elif` after an `if`, a block.

use super::literal::Problem;
use super::token::{Kind, Token};

/// Nested brackets, each of which may contain a whole expression.
const BRACKETS: usize = 200;
const BLOCKS: usize = 200;
const LEVELS: usize = 1500;

/// Returns the first token that is nested too deep.
pub(super) fn problem(text: &str, tokens: &[Token]) -> Option<Problem> {
    let mut depth = Depth::default();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Indent {
            let continues =
                tokens.get(index + 1).is_some_and(|next| matches!(&text[next.range()], "elif" | "else"));
            depth.start_line(token.end - token.start, continues);
        }
        depth.take(token, &text[token.range()]);
        if depth.is_too_deep() {
            return Some(Problem {
                range: token.range(),
                message: "nested too deep".to_owned(),
                hint: Some("give parts of it names of their own".to_owned()),
            });
        }
    }
    None
}

#[derive(Default)]
struct Depth {
    /// The levels in each open bracket, the innermost last.
    outer_levels: Vec<usize>,
    /// The levels in the innermost bracket, since the last comma.
    level: usize,
    /// The indentation of the blocks that are open, and how many branches each has.
    blocks: Vec<(usize, usize)>,
    sum_outer: usize,
}

impl Depth {
    fn take(&mut self, token: &Token, word: &str) {
        match token.kind {
            Kind::Name if matches!(word, "and" | "or" | "not" | "in" | "if" | "else" | "for") => {
                self.level += 1;
            }
            // A function, which is compiled separately.
            Kind::Name if word == "lambda" => self.level += 10,
            Kind::Punctuation => match word {
                "(" | "[" | "{" => {
                    self.outer_levels.push(self.level + 1);
                    self.sum_outer += self.level + 1;
                    self.level = 0;
                }
                ")" | "]" | "}" => {
                    // A call or index is a level for what follows it.
                    self.level = self.outer_levels.pop().unwrap_or(0);
                    self.sum_outer = self.sum_outer.saturating_sub(self.level);
                }
                "," => self.level = 0,
                ":" | "=" => {}
                _ => self.level += 1,
            },
            _ => {}
        }
    }

    /// Starts a line with this indentation; it may be another branch of the block before.
    fn start_line(&mut self, width: usize, continues: bool) {
        self.level = 0;
        self.blocks.retain(|(open, _)| *open < width || (*open == width && continues));
        match self.blocks.last_mut() {
            Some((open, branches)) if *open == width => *branches += 1,
            _ => self.blocks.push((width, 0)),
        }
    }

    fn is_too_deep(&self) -> bool {
        let branches: usize = self.blocks.iter().map(|(_, branches)| branches).sum();
        self.outer_levels.len() > BRACKETS
            || self.blocks.len() > BLOCKS
            || self.level + self.sum_outer + branches > LEVELS
    }
}
