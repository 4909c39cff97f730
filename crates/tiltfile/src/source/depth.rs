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
    around: Vec<usize>,
    /// The levels in the innermost bracket, since the last comma.
    here: usize,
    /// The indentation of the blocks that are open, and how many branches each has.
    blocks: Vec<(usize, usize)>,
    sum_around: usize,
}

impl Depth {
    fn take(&mut self, token: &Token, word: &str) {
        match token.kind {
            Kind::Name if matches!(word, "and" | "or" | "not" | "in" | "if" | "else" | "for") => {
                self.here += 1
            }
            // A function, which is compiled separately.
            Kind::Name if word == "lambda" => self.here += 10,
            Kind::Punctuation => match word {
                "(" | "[" | "{" => {
                    self.around.push(self.here + 1);
                    self.sum_around += self.here + 1;
                    self.here = 0;
                }
                ")" | "]" | "}" => {
                    // A call or index is a level for what follows it.
                    self.here = self.around.pop().unwrap_or(0);
                    self.sum_around = self.sum_around.saturating_sub(self.here);
                }
                "," => self.here = 0,
                ":" | "=" => {}
                _ => self.here += 1,
            },
            _ => {}
        }
    }

    /// Starts a line with this indentation; it may be another branch of the block before.
    fn start_line(&mut self, width: usize, continues: bool) {
        self.here = 0;
        self.blocks.retain(|(open, _)| *open < width || (*open == width && continues));
        match self.blocks.last_mut() {
            Some((open, branches)) if *open == width => *branches += 1,
            _ => self.blocks.push((width, 0)),
        }
    }

    fn is_too_deep(&self) -> bool {
        let branches: usize = self.blocks.iter().map(|(_, branches)| branches).sum();
        self.around.len() > BRACKETS
            || self.blocks.len() > BLOCKS
            || self.here + self.sum_around + branches > LEVELS
    }
}
