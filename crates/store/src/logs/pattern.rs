//! A text or regular expression to search for in lines.

use lilt_model::escape::plain;
use regex::{Regex, RegexBuilder};

use crate::segments::segment::Segment;

/// The message for an invalid regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPattern(pub String);

#[derive(Clone, Debug)]
pub struct Pattern {
    line: Regex,
    /// Searches many lines at once for possible matches. None if the expression may match at the ends of the whole text.
    block: Option<Regex>,
}

impl Pattern {
    /// Creates a pattern from a regular expression, which is case-sensitive unless it has `(?i)`.
    pub fn regex(expression: &str) -> Result<Pattern, InvalidPattern> {
        let no_pattern = |error: regex::Error| InvalidPattern(error.to_string());
        let line = Regex::new(expression).map_err(no_pattern)?;
        let block = RegexBuilder::new(expression).multi_line(true).build().map_err(no_pattern)?;
        Ok(Pattern { line, block: (!means_whole_text(expression)).then_some(block) })
    }

    /// Creates a pattern that matches this text.
    pub fn text(text: &str) -> Result<Pattern, InvalidPattern> {
        Self::regex(&regex::escape(text))
    }

    /// Creates a pattern that matches this text in upper or lower case.
    pub fn words(text: &str) -> Result<Pattern, InvalidPattern> {
        Self::regex(&format!("(?i){}", regex::escape(text)))
    }

    /// Returns whether a text matches, ignoring colours.
    pub fn matches(&self, text: &str) -> bool {
        self.line.is_match(&plain(text))
    }

    /// Returns the matching lines in a range of a segment, in order.
    pub(super) fn find(&self, segment: &Segment, from: usize, until: usize) -> Vec<u32> {
        if from >= until {
            return Vec::new();
        }
        let text = &segment.text[segment.begin_of(from)..segment.entries[until - 1].end as usize];
        match &self.block {
            // A colour in the middle of a word would prevent a match.
            Some(block) if !text.contains('\x1b') => self.find_in_block(block, segment, from, until),
            _ => (from..until)
                .filter(|index| self.matches(segment.text_of(*index)))
                .map(|it| it as u32)
                .collect(),
        }
    }

    fn find_in_block(&self, block: &Regex, segment: &Segment, from: usize, until: usize) -> Vec<u32> {
        let mut found = Vec::new();
        let mut index = from;
        while index < until {
            let begin = segment.begin_of(index);
            let end = segment.entries[until - 1].end as usize;
            // Up to the end, so that the last line is searched with its line end.
            let Some(place) = block.find(&segment.text[begin..end]) else { break };
            let at = (begin + place.start()) as u32;
            index += segment.entries[index..until].partition_point(|entry| entry.end <= at);
            if index >= until {
                break;
            }
            // A match that began here may extend past the line, which does not count.
            if self.line.is_match(segment.text_of(index)) {
                found.push(index as u32);
            }
            index += 1;
        }
        found
    }
}

/// Returns whether an expression may match at the ends of the whole text, so that many lines cannot be searched at once.
fn means_whole_text(expression: &str) -> bool {
    let switches_lines_off = |flags: &str| {
        let off = flags.split_once('-').map_or("", |(_, off)| off);
        off.bytes().take_while(u8::is_ascii_alphabetic).any(|flag| flag == b'm')
    };
    let anchored = ["\\A", "\\z"].iter().any(|anchor| expression.contains(anchor));
    anchored || expression.split("(?").skip(1).any(switches_lines_off)
}

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;

    use super::*;
    use crate::segments::segment::{Entry, Marks};

    fn segment(lines: &[&str]) -> Segment {
        let mut segment = Segment::default();
        for line in lines {
            segment.text.push_str(line);
            segment.text.push('\n');
            let end = segment.text.len() as u32;
            segment.entries.push(Entry { time: Timestamp(0), end, span: 0, marks: Marks::default() });
        }
        segment
    }

    fn found(expression: &str, lines: &[&str]) -> Vec<u32> {
        let pattern = Pattern::regex(expression).unwrap();
        let segment = segment(lines);
        let found = pattern.find(&segment, 0, lines.len());
        let one_by_one: Vec<u32> =
            (0..lines.len()).filter(|index| pattern.matches(lines[*index])).map(|it| it as u32).collect();
        assert_eq!(found, one_by_one, "{expression}");
        found
    }

    #[test]
    fn searching_many_lines_equals_searching_each() {
        let lines = ["GET /a 200", "", "GET /b 500 error", "x", "error", "\x1b[31merr\x1b[0mor 7", "200"];
        assert_eq!(found("error", &lines), [2, 4, 5]);
        let plain = &lines[..5];
        assert_eq!(found("error", plain), [2, 4]);
        assert_eq!(found("^error$", plain), [4]);
        assert_eq!(found("^$", plain), [1]);
        assert_eq!(found("\\Ax\\z", plain), [3]);
        assert_eq!(found("00\\s", plain), [2]);
        assert_eq!(found("[^a]*", plain), [0, 1, 2, 3, 4]);
        assert_eq!(found("(?i)get", plain), [0, 2]);
        assert_eq!(found("0\\s*x|x", plain), [3]);
        assert_eq!(found("nowhere", plain), [] as [u32; 0]);
        assert_eq!(found("(?-im)^x$", plain), [3]);
    }

    /// The page uses this for what people type between slashes.
    #[test]
    fn expression_sets_case_sensitivity() {
        let lines = ["GET /a", "get /A"];
        assert_eq!(found("(?i:get /a)", &lines), [0, 1]);
        assert_eq!(found("(?i:(?-i)get /A)", &lines), [1]);
    }

    #[test]
    fn invalid_expression_is_an_error() {
        assert!(Pattern::regex("(").unwrap_err().0.contains("unclosed group"));
        assert!(Pattern::text("(").unwrap().matches("a(b"));
        assert!(!Pattern::text("B").unwrap().matches("a(b"));
        assert!(Pattern::words("(B").unwrap().matches("a(b"));
    }
}
