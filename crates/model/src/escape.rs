//! Finds terminal control sequences in text, and removes those that do more than set colours.

use std::borrow::Cow;
use std::ops::Range;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// Sequences that do not end within this many bytes are not treated as such: they are a program's binary output.
const LONGEST_SEQUENCE: usize = 64 * 1024;
/// An unfinished sequence at the end of a chunk of output is not held back if it is longer.
const LONGEST_UNFINISHED: usize = 4096;

/// What a control sequence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sets colours, bold, underline and the like (SGR).
    Style,
    /// Anything else: cursor, title, clipboard, links, modes, queries.
    Other,
}

/// The control sequence that `bytes` begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// There is none.
    None,
    Complete {
        length: usize,
        effect: Effect,
    },
    /// The text or the line ends before the sequence. `introducer` is the length of the bytes that introduce it.
    Unfinished {
        introducer: usize,
    },
}

/// Returns the control sequence at the beginning of `bytes`.
///
/// Recognizes the 7-bit forms (`ESC [`) and the 8-bit forms in UTF-8 (`U+009B`). No sequence continues past a line end,
/// so that a line never hides the next one.
pub fn sequence_at(bytes: &[u8]) -> Sequence {
    let (introducer, kind) = match bytes {
        [ESCAPE] => return Sequence::Unfinished { introducer: 1 },
        [ESCAPE, kind @ 0x40..=0x5f, ..] => (2, *kind),
        [ESCAPE, 0x20..=0x2f, ..] => return intermediate(bytes),
        [ESCAPE, 0x30..=0x7e, ..] => return Sequence::Complete { length: 2, effect: Effect::Other },
        // Not a sequence that any terminal knows.
        [ESCAPE, ..] => return Sequence::Complete { length: 1, effect: Effect::Other },
        [0xc2, kind @ 0x80..=0x9f, ..] => (2, kind - 0x40),
        _ => return Sequence::None,
    };
    match kind {
        b'[' => control(bytes, introducer),
        b']' | b'P' | b'X' | b'^' | b'_' => string(bytes, introducer, kind == b']'),
        _ => Sequence::Complete { length: introducer, effect: Effect::Other },
    }
}

/// Parses `ESC ( B`: intermediate bytes, then a final one.
fn intermediate(bytes: &[u8]) -> Sequence {
    let parameters = bytes[1..].iter().take_while(|byte| (0x20..=0x2f).contains(*byte)).count();
    match bytes.get(1 + parameters) {
        None => Sequence::Unfinished { introducer: 1 },
        Some(0x30..=0x7e) => Sequence::Complete { length: parameters + 2, effect: Effect::Other },
        Some(_) => Sequence::Complete { length: parameters + 1, effect: Effect::Other },
    }
}

/// Parses `ESC [ 1 ; 31 m`: parameters, intermediate bytes, then a final one.
fn control(bytes: &[u8], introducer: usize) -> Sequence {
    let body = &bytes[introducer..];
    let length = body.iter().take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
    let is_style = body[..length].iter().all(|byte| matches!(byte, b'0'..=b';'));
    match body.get(length) {
        None => Sequence::Unfinished { introducer },
        Some(b'm') if is_style => {
            Sequence::Complete { length: introducer + length + 1, effect: Effect::Style }
        }
        Some(0x40..=0x7e) => Sequence::Complete { length: introducer + length + 1, effect: Effect::Other },
        // Interrupted by something else, which is not part of it.
        Some(_) => Sequence::Complete { length: introducer + length, effect: Effect::Other },
    }
}

/// Parses `ESC ] 0 ; title BEL`: up to `ESC \`, its 8-bit form or, for operating system commands, a bell.
fn string(bytes: &[u8], introducer: usize, is_ended_by_bell: bool) -> Sequence {
    let complete = |length| Sequence::Complete { length, effect: Effect::Other };
    let until = bytes.len().min(LONGEST_SEQUENCE);
    for at in introducer..until {
        match bytes[at..] {
            [BELL, ..] if is_ended_by_bell => return complete(at + 1),
            [ESCAPE, b'\\', ..] | [0xc2, 0x9c, ..] => return complete(at + 2),
            [b'\n', ..] => break,
            _ => {}
        }
    }
    Sequence::Unfinished { introducer }
}

/// Removes control sequences. What remains is what a person reads and searches.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !may_have_sequences(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for range in plain_ranges(text.as_bytes()) {
        plain.push_str(&text[range]);
    }
    Cow::Owned(plain)
}

/// Removes control sequences and control characters except colours, so that the text can be printed to a terminal.
///
/// Tabs and line ends are kept. Of a sequence that does not end in its line only the introducer is removed, so that
/// nothing is hidden.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let Some(first) = bytes.iter().position(|byte| is_suspect(*byte)) else { return Cow::Borrowed(text) };
    let mut clean = String::with_capacity(text.len());
    // The beginning of what is not copied yet.
    let mut begin = 0;
    let mut at = first;
    while at < bytes.len() {
        let removed = match bytes[at] {
            byte if !is_suspect(byte) => 0,
            _ => match sequence_at(&bytes[at..]) {
                Sequence::Complete { length, effect: Effect::Style } => {
                    at += length;
                    continue;
                }
                Sequence::Complete { length, .. } => length,
                Sequence::Unfinished { introducer } => introducer,
                // The lead byte of an ordinary character, or a control character.
                Sequence::None => usize::from(bytes[at] != 0xc2),
            },
        };
        if removed > 0 {
            clean.push_str(&text[begin..at]);
            begin = at + removed;
        }
        at += removed.max(1);
    }
    clean.push_str(&text[begin..]);
    Cow::Owned(clean)
}

/// Returns whether a byte is a control character, or the first byte of an 8-bit one.
fn is_suspect(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t' && byte != b'\n') || byte == 0x7f || byte == 0xc2
}

/// Returns whether there may be a control sequence. Cheap.
pub fn may_have_sequences(bytes: &[u8]) -> bool {
    bytes.contains(&ESCAPE) || bytes.contains(&0xc2)
}

/// Returns the parts of a text between its control sequences, in order, without unfinished sequences.
pub fn plain_ranges(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut begin = 0;
    let mut at = 0;
    while at < bytes.len() {
        let length = match bytes[at] {
            ESCAPE | 0xc2 => match sequence_at(&bytes[at..]) {
                Sequence::None => 0,
                Sequence::Complete { length, .. } => length,
                Sequence::Unfinished { .. } => line_length(&bytes[at..]),
            },
            _ => 0,
        };
        if length == 0 {
            at += 1;
            continue;
        }
        if begin < at {
            ranges.push(begin..at);
        }
        at += length;
        begin = at;
    }
    if begin < bytes.len() {
        ranges.push(begin..bytes.len());
    }
    ranges
}

/// Returns how many bytes at the end of a text belong to a control sequence that is not complete yet.
///
/// Output arrives in chunks. These bytes are held back until the next chunk arrives.
pub fn unfinished_length(text: &[u8]) -> usize {
    let mut at = 0;
    // Adjacent sequences: each may be interrupted by the next one, without which it would be unfinished.
    let mut run = 0..0;
    while let Some(next) = text[at..].iter().position(|byte| matches!(byte, &ESCAPE | 0xc2)) {
        at += next;
        if run.end != at {
            run = at..at;
        }
        match sequence_at(&text[at..]) {
            Sequence::None => at += 1,
            Sequence::Complete { length, .. } => {
                at += length;
                run.end = at;
            }
            Sequence::Unfinished { introducer } => {
                if line_length(&text[at..]) == text.len() - at {
                    let length = text.len() - run.start;
                    return if length > LONGEST_UNFINISHED { 0 } else { length };
                }
                at += introducer;
            }
        }
    }
    0
}

fn line_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_removes_sequences_and_nothing_else() {
        assert_eq!(plain("no colour [31m"), "no colour [31m");
        assert_eq!(plain("\x1b[1;31mred\x1b[0m and \x1b[Kmore"), "red and more");
        assert_eq!(plain("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 end"), "link end");
        assert_eq!(plain("cut \x1b[3"), "cut ");
        assert_eq!(plain("\x1b(Bplain ä"), "plain ä");
        assert_eq!(plain("cut \x1b]0;title\nnext"), "cut \nnext");
    }

    #[test]
    fn for_terminal_keeps_colours() {
        for text in ["plain ä £ \t tab\n", "a\x1b[1;31mb\x1b[0mc\x1b[38;5;200md\x1b[48:2::1:2:3me\x1b[m"] {
            assert_eq!(for_terminal(text), text);
        }
    }

    #[test]
    fn for_terminal_removes_what_controls_the_terminal() {
        for text in [
            "\x1b[2J\x1b[Hhome",
            "\x1b]0;title\x07home",
            "\x1b]52;c;cGFzcw==\x1b\\home",
            "\x1b]52;c;cGFzcw==\u{9c}home",
            "\x1b[?1049hho\x1bcme",
            "ho\x07\x08\0\x7f\rme",
            "\u{9b}2Jhome",
            "\u{9d}0;title\x07home",
            "\x1bP+q544e\x1b\\home",
            "\x1b[>4;2mhome",
            "\x1b[6nhome",
            "home\x1b",
            "\x1b#8home",
        ] {
            assert_eq!(for_terminal(text), "home", "{text:?}");
        }
        // One without an end hides nothing.
        assert_eq!(for_terminal("home\x1b]8;;http://open"), "home8;;http://open");
        assert_eq!(for_terminal("a\x1b]0;b\nc\x07d"), "a0;b\ncd");
    }

    #[test]
    fn unfinished_sequences_are_found_at_the_end_only() {
        for (text, unfinished) in [
            ("plain é", ""),
            ("a\x1b[31mb", ""),
            ("a\x1b[31mb\x1b[3", "\x1b[3"),
            ("a\x1b[0\x1b", "\x1b[0\x1b"),
            ("a\x1b]52;c;YQ==\x1b", "\x1b]52;c;YQ==\x1b"),
            ("a\u{9d}0;title", "\u{9d}0;title"),
            ("a\x1b]0;title\nb", ""),
            ("a\x1b]0;title\nb\x1b", "\x1b"),
        ] {
            assert_eq!(unfinished_length(text.as_bytes()), unfinished.len(), "{text:?}");
        }
        let long = format!("\x1b]{}", "x".repeat(5000));
        assert_eq!(unfinished_length(long.as_bytes()), 0);
    }

    proptest! {
        #[test]
        fn pieces_are_filtered_as_the_whole_is(text in "[a\x1b\\[\\];0-9m?\u{7}\u{9b}\u{9c}\u{9d}\\\\Pé]{0,40}", cut in 0usize..40) {
            let cut = text.floor_char_boundary(cut.min(text.len()));
            let first = cut - unfinished_length(&text.as_bytes()[..cut]);
            let pieces = format!("{}{}", for_terminal(&text[..first]), for_terminal(&text[first..]));
            prop_assert_eq!(pieces, for_terminal(&text));
        }

        #[test]
        fn for_terminal_leaves_nothing_but_styles(text in "[a\x1b\\[\\];0-9m?\u{7}\u{9b}\u{9c}\u{9d}\\\\\nPé]{0,40}") {
            let clean = for_terminal(&text);
            let mut rest = clean.as_bytes();
            while let Some(byte) = rest.first() {
                let length = match sequence_at(rest) {
                    Sequence::None => {
                        prop_assert!(!byte.is_ascii_control() || *byte == b'\n', "{:?}", clean);
                        1
                    }
                    Sequence::Complete { length, effect: Effect::Style } => length,
                    other => return Err(TestCaseError::fail(format!("{other:?} in {clean:?}"))),
                };
                rest = &rest[length..];
            }
            prop_assert_eq!(for_terminal(&clean), clean.as_ref());
        }
    }
}
