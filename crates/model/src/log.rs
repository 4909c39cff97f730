//! Log lines as data.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::names::{ResourceName, SpanId};
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    #[default]
    Info,
    Warn,
    Error,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::Info, Level::Warn, Level::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// Which half of a resource's life a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Build,
    Runtime,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Build => "build",
            Source::Runtime => "runtime",
        }
    }
}

/// One line, or a piece of one: output that has no line end for a while, or none for very long, comes in pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Line {
    /// Counts all lines of the session, without gaps.
    pub seq: u64,
    pub time: Timestamp,
    /// None: lilt itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceName>,
    pub span: SpanId,
    pub source: Source,
    pub level: Level,
    /// Without the line end; may contain ANSI sequences.
    pub text: String,
    /// This piece goes on where the last one of its span ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continues: bool,
    /// The line has not ended with this piece.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
    /// Where an update begins; shown whatever level is asked for, so that one sees which update the others are of.
    #[serde(default, skip_serializing_if = "is_false")]
    pub headline: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// The text without its ANSI sequences: what a person reads, and searches.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = behind_sequence(after);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What follows a sequence, given what follows its escape character.
fn behind_sequence(after: &str) -> &str {
    if let Some(control) = after.strip_prefix('[') {
        // Parameters, then one letter or sign that ends it.
        let end = control.find(|letter: char| ('\x40'..='\x7e').contains(&letter));
        return end.map_or("", |end| &control[end + 1..]);
    }
    if let Some(command) = after.strip_prefix(']') {
        // A title or a link: up to a bell or to the escape of `ESC \`.
        return match command.find(['\x07', '\x1b']) {
            Some(end) if command[end..].starts_with('\x07') => &command[end + 1..],
            Some(end) => command[end + 1..].strip_prefix('\\').unwrap_or(&command[end + 1..]),
            None => "",
        };
    }
    let mut letters = after.chars();
    // A choice of character set names the set with one more letter.
    if matches!(letters.next(), Some('(' | ')')) {
        letters.next();
    }
    letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_taken_out_and_all_else_stays() {
        assert_eq!(plain("no colour [31m"), "no colour [31m");
        assert_eq!(plain("\x1b[1;31mred\x1b[0m and \x1b[Kmore"), "red and more");
        assert_eq!(plain("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 end"), "link end");
        assert_eq!(plain("cut \x1b[3"), "cut ");
        assert_eq!(plain("\x1b(Bplain ä"), "plain ä");
    }
}
