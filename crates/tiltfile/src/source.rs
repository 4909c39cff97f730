//! The front end: rewrites a Tiltfile for the Starlark parser.
//!
//! Tilt's dialect has `while`, tabs as indentation and `assert` as an ordinary name, and its strings, dicts and sets
//! have methods that the interpreter lacks or implements differently. All of that is rewritten here, before parsing, and
//! every position of the interpreter is mapped back to the user's text. The only errors reported here are literals and
//! nesting that the interpreter would accept; other malformed text is passed on unchanged to the parser.

mod depth;
mod literal;
mod overrides;
mod rewrite;
mod token;

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use token::tokens;

pub(crate) use literal::Problem;
pub(crate) use overrides::is_internal;

/// The endless iterable that `while` is rewritten to loop over.
pub(crate) const ENDLESS: &str = "__forever__";
/// What `%` calls.
pub(crate) const PERCENT: &str = "__percent__";
/// What `*` calls.
pub(crate) const TIMES: &str = "__times__";
/// What `+` calls.
pub(crate) const PLUS: &str = "__plus__";
/// What `<<` calls.
pub(crate) const SHIFT: &str = "__shift__";
/// What `==` calls.
pub(crate) const EQUAL: &str = "__equal__";
/// What `!=` calls.
pub(crate) const UNEQUAL: &str = "__unequal__";
/// What comparisons call in files that may have sets, which the interpreter does not compare.
pub(crate) const COMPARISONS: [(&str, &str); 4] =
    [("<", "__less__"), ("<=", "__at_most__"), (">", "__greater__"), (">=", "__at_least__")];
/// The name that replaces `assert`.
pub(crate) const ASSERT: &str = "assert__";

/// Returns the name of a function of a Tiltfile; none for builtins. The interpreter prefixes the former with the
/// absolute path of the file.
pub(crate) fn defined_name(text: &str) -> Option<&str> {
    text.contains(['/', '\\']).then(|| match text.rsplit('.').next().unwrap_or(text) {
        ASSERT => "assert",
        name => name,
    })
}

/// A file as the user wrote it and as the parser sees it.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
    rewritten: String,
    /// Sorted by `at`, without gaps.
    segments: Vec<Segment>,
    line_starts: Vec<usize>,
    /// Identifiers, and strings that could be identifiers.
    words: HashSet<String>,
    problem: Option<Problem>,
}

/// A segment of the rewritten text and its range in the user's text.
#[derive(Debug)]
struct Segment {
    at: usize,
    original: Range<usize>,
    /// Whether it was copied byte by byte; otherwise the whole segment maps to the whole of `original`.
    copied: bool,
}

impl Source {
    pub(crate) fn new(path: impl Into<PathBuf>, text: String) -> Self {
        let found = tokens(&text);
        let words = found.iter().filter_map(|token| token.word(&text)).map(str::to_owned).collect();
        let problem = depth::problem(&text, &found).or_else(|| literal::problem(&text, &found));
        // A text with a problem is not evaluated.
        let (rewritten, segments) = match problem {
            None => rewrite::rewrite(&text, &found),
            Some(_) => (String::new(), Vec::new()),
        };
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { path: path.into(), rewritten, segments, line_starts, words, problem, text }
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

    /// Returns the first problem that Tilt refuses and the parser would accept.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// Whether the name occurs in the file.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.words.contains(name)
    }

    /// Whether a position is in a line without indentation: such a line is in no function.
    pub(crate) fn is_on_unindented_line(&self, offset: usize) -> bool {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = &self.text[before.rfind('\n').map_or(0, |at| at + 1)..];
        !line.starts_with([' ', '\t'])
    }

    /// Whether the name is bound by lines without indentation only: then it is a global variable.
    pub(crate) fn binds_at_top_only(&self, name: &str) -> bool {
        let binds = |line: &str| {
            let Some(rest) = line.strip_prefix("def ").unwrap_or(line).strip_prefix(name) else {
                return false;
            };
            let rest =
                rest.trim_start().trim_start_matches(['+', '-', '*', '/', '%', '|', '&', '^', '<', '>']);
            (rest.starts_with('=') && !rest.starts_with("=="))
                || (line.starts_with("def ") && rest.starts_with('('))
        };
        let indented = |line: &str| line.starts_with([' ', '\t']) && binds(line.trim_start());
        self.text.lines().any(binds) && !self.text.lines().any(indented)
    }

    /// Maps a range of the rewritten text to the user's text.
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

    /// Returns line and column, counted from 1, the column in characters.
    pub(crate) fn line_and_column(&self, offset: usize) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts[line - 1];
        let before = self.text.get(start..offset.min(self.text.len())).unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (number(line), number(before.chars().count() + 1))
    }
}

#[cfg(test)]
mod tests;
