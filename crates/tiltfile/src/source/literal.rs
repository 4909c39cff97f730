//! String literals: escapes that Tilt refuses and the interpreter accepts, and raw strings that both parse differently.

use std::borrow::Cow;
use std::ops::Range;

use super::token::{Kind, Token};

/// An error in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) range: Range<usize>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Returns the first invalid escape sequence.
pub(super) fn problem(text: &str, tokens: &[Token]) -> Option<Problem> {
    tokens.iter().filter(|token| token.kind == Kind::Text).find_map(|token| {
        let literal = Literal::of(&text[token.range()]);
        if literal.raw || !literal.body.contains('\\') {
            return None;
        }
        let start = token.start + literal.body_at;
        let (at, length, message, hint) = bad_escape(literal.body, literal.bytes)?;
        Some(Problem { range: start + at..start + at + length, message, hint: Some(hint) })
    })
}

struct Literal<'t> {
    raw: bool,
    bytes: bool,
    quotes: &'t str,
    body: &'t str,
    body_at: usize,
}

impl<'t> Literal<'t> {
    fn of(text: &'t str) -> Self {
        let prefix = text.find(['"', '\'']).unwrap_or(0);
        let quoted = &text[prefix..];
        let quote = &quoted[..quoted.len().min(1)];
        let triple = quoted.len() >= 6 && quoted.starts_with(&quote.repeat(3));
        let width = if triple { 3 } else { quote.len() };
        let quotes = &quoted[..width];
        let closed = quoted.len() >= 2 * width && quoted.ends_with(quotes);
        let end = if closed { text.len() - width } else { text.len() };
        let body_at = (prefix + width).min(end);
        let has = |letter: char| text[..prefix].contains([letter, letter.to_ascii_uppercase()]);
        Self { raw: has('r'), bytes: has('b'), quotes, body: &text[body_at..end], body_at }
    }
}

/// Returns position in the body, length, message and hint.
fn bad_escape(body: &str, bytes: bool) -> Option<(usize, usize, String, String)> {
    let mut at = 0;
    while let Some(offset) = body[at..].find('\\') {
        at += offset;
        let rest = &body[at + 1..];
        let character = rest.chars().next()?;
        let digits = |radix: u32, most: usize| {
            rest.chars()
                .skip(usize::from(radix == 16))
                .take(most)
                .take_while(|c| c.is_digit(radix))
                .collect::<String>()
        };
        match character {
            'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' | '\'' | '"' | '\n' | '\r' | 'u' | 'U' => {}
            // Other errors are left to the parser.
            'x' | '0'..='7' => {
                let (name, radix, most) = if character == 'x' { ("hex", 16, 2) } else { ("octal", 8, 3) };
                let digits = digits(radix, most);
                let value = u32::from_str_radix(&digits, radix).unwrap_or(0);
                if value > 0x7f && !bytes {
                    let shown = if character == 'x' { format!("x{digits}") } else { digits };
                    let message = format!("non-ASCII {name} escape \\{shown}");
                    return Some((
                        at,
                        shown.len() + 1,
                        message,
                        format!("write \\u{value:04X} for this character"),
                    ));
                }
            }
            other => {
                let message = format!("invalid escape sequence \\{other}");
                let hint = format!("write \\\\{other} for a backslash, or a raw string: r'…'");
                return Some((at, 1 + other.len_utf8(), message, hint));
            }
        }
        at += 1 + character.len_utf8();
    }
    None
}

/// Rewrites a literal for the interpreter, which would drop the backslash before a quote in a raw string.
pub(super) fn rewritten(text: &str) -> Cow<'_, str> {
    let literal = Literal::of(text);
    if !literal.raw || !(literal.body.contains("\\'") || literal.body.contains("\\\"")) {
        return Cow::Borrowed(text);
    }
    let mut body = String::new();
    let mut characters = literal.body.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            body.push(character);
            continue;
        }
        body.push_str("\\\\");
        match characters.next() {
            Some('\\') => body.push_str("\\\\"),
            Some(quote @ ('\'' | '"')) => body.extend(['\\', quote]),
            Some(other) => body.push(other),
            None => {}
        }
    }
    let prefix = if literal.bytes { "b" } else { "" };
    Cow::Owned(format!("{prefix}{0}{body}{0}", literal.quotes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_escapes_are_found() {
        let bad =
            |text: &str| problem(text, &super::super::token::tokens(text)).map(|p| (p.range, p.message));
        assert_eq!(bad("x = 'a\\d'"), Some((6..8, "invalid escape sequence \\d".into())));
        assert_eq!(bad("x = '\\xff'"), Some((5..9, "non-ASCII hex escape \\xff".into())));
        assert_eq!(bad("x = '\\377'"), Some((5..9, "non-ASCII octal escape \\377".into())));
        for good in
            ["r'\\d'", "'\\\\d \\n\\x41\\101\\u00e9'", "b'\\xff'", "'''a\\\nb'''", "# '\\d'", "'", "r'"]
        {
            assert_eq!(bad(good), None, "{good}");
        }
    }

    #[test]
    fn raw_strings_keep_their_backslashes() {
        assert_eq!(rewritten("r'\\d'"), "r'\\d'");
        assert_eq!(rewritten("r'\\''"), "'\\\\\\''");
        assert_eq!(rewritten("r\"a\\\\\\\"\""), "\"a\\\\\\\\\\\\\\\"\"");
    }
}
