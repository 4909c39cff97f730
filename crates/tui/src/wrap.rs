//! Wraps text by display width.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Returns the ranges of a text that fit into rows of this width, at least one. A wider character gets its own row.
pub(crate) fn rows(text: &str, width: usize) -> Vec<Range<usize>> {
    // Fast path: most lines are short ASCII.
    if text.len() <= width && text.is_ascii() {
        return std::iter::once(0..text.len()).collect();
    }
    let mut rows = Vec::new();
    let (mut begin, mut used) = (0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        let columns = grapheme.width();
        if used + columns > width.max(1) && at > begin {
            rows.push(begin..at);
            (begin, used) = (at, 0);
        }
        used += columns;
    }
    rows.push(begin..text.len());
    rows
}

pub(crate) fn count(text: &str, width: usize) -> usize {
    rows(text, width).len()
}

/// Returns the byte index after the first columns of a text.
pub(crate) fn skip(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        if used >= columns {
            return at;
        }
        used += grapheme.width();
    }
    text.len()
}

/// Cuts a text to so many columns, and replaces its end by `…` if it is longer.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut end = 0;
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > room {
            break;
        }
        end = at + grapheme.len();
    }
    if columns == 0 { String::new() } else { format!("{}…", &text[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: usize) -> Vec<&str> {
        rows(text, width).into_iter().map(|row| &text[row]).collect()
    }

    #[test]
    fn rows_are_counted_in_columns() {
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("日本語", 5), ["日本", "語"]);
        assert_eq!(wrapped("e\u{301}e\u{301}e\u{301}", 2), ["e\u{301}e\u{301}", "e\u{301}"]);
        assert_eq!(wrapped("日本", 1), ["日", "本"], "too wide alone");
        assert_eq!(wrapped("ab", 0), ["a", "b"]);
    }

    #[test]
    fn cut_keeps_the_beginning() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("a-long-name", 6), "a-lon…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(&"abc"[skip("abc", 2)..], "c");
        assert_eq!(skip("abc", 9), 3);
    }
}
