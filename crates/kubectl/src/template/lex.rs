//! Splits a template into texts and the tokens of actions.

/// A text, or the tokens of an action between braces.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Action(Vec<Token>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// `.a.b` is two; `.` alone is one without a name.
    Field(String),
    /// With its `$`.
    Variable(String),
    Name(String),
    Text(String),
    Number(serde_json::Number),
    /// `|`, `(`, `)`, `,`, `:=`, `=`
    Sign(&'static str),
    /// Separates arguments: `.a .b` is not `.a.b`.
    Space,
}

/// Splits a template, and trims whitespace beside `{{-` and `-}}`.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut trim = false;
    loop {
        let (before, after) = match rest.split_once("{{") {
            Some((before, after)) => (before, Some(after)),
            None => (rest, None),
        };
        let before = if trim { before.trim_start() } else { before };
        let Some(mut after) = after else {
            pieces.push(Piece::Text(before.to_owned()));
            return Ok(pieces);
        };
        let trims_before = after.starts_with("- ") || after.starts_with("-\n") || after.starts_with("-/*");
        if trims_before {
            after = &after[1..];
        }
        let before = if trims_before { before.trim_end() } else { before };
        pieces.push(Piece::Text(before.to_owned()));
        let end = end_of_action(after).ok_or("1: unclosed action")?;
        let mut action = &after[..end];
        rest = &after[end + 2..];
        trim = action.ends_with(" -") || action.ends_with("\n-") || action.ends_with("*/-");
        if trim {
            action = &action[..action.len() - 1];
        }
        let action = action.trim();
        if !action.starts_with("/*") {
            pieces.push(Piece::Action(words(action)?));
        }
    }
}

/// Returns the position of the closing braces, outside of quoted texts.
fn end_of_action(text: &str) -> Option<usize> {
    if text.trim_start().starts_with("/*") {
        let comment = text.find("*/")?;
        return text[comment..].find("}}").map(|at| at + comment);
    }
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some('"' | '\''), '\\') => escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '}') if text[at..].starts_with("}}") => return Some(at),
            _ => {}
        }
    }
    None
}

fn words(text: &str) -> Result<Vec<Token>, String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (word, length) = word(first, rest)?;
        words.push(word);
        rest = &rest[length..];
    }
    Ok(words)
}

/// Reads the first token and its length.
fn word(first: char, rest: &str) -> Result<(Token, usize), String> {
    let name_length = |from: usize| {
        let ends = |letter: char| letter != '_' && !letter.is_alphanumeric();
        rest[from..].find(ends).unwrap_or(rest.len() - from)
    };
    for sign in [":=", "|", "(", ")", ",", "="] {
        if rest.starts_with(sign) {
            return Ok((Token::Sign(sign), sign.len()));
        }
    }
    let after = rest[first.len_utf8()..].chars().next();
    match first {
        space if space.is_whitespace() => {
            Ok((Token::Space, rest.find(|letter: char| !letter.is_whitespace()).unwrap_or(rest.len())))
        }
        '"' => quoted(rest),
        '`' => {
            let end = rest[1..].find('`').ok_or("1: unterminated raw quoted string")?;
            Ok((Token::Text(rest[1..=end].to_owned()), end + 2))
        }
        '\'' => {
            let (word, length) = quoted(rest)?;
            let Token::Text(text) = &word else { return Err("1: bad character constant".into()) };
            let code = text.chars().next().map_or(0, u32::from);
            Ok((Token::Number(code.into()), length))
        }
        '.' if !after.is_some_and(|next| next.is_ascii_digit()) => {
            let length = name_length(1);
            Ok((Token::Field(rest[1..=length].to_owned()), length + 1))
        }
        '$' => {
            let length = name_length(1);
            Ok((Token::Variable(rest[..=length].to_owned()), length + 1))
        }
        '+' | '-' | '.' | '0'..='9' => number(rest),
        letter if letter == '_' || letter.is_alphabetic() => {
            let length = name_length(0);
            Ok((Token::Name(rest[..length].to_owned()), length))
        }
        other => Err(format!("1: unexpected {other:?} in command")),
    }
}

fn number(rest: &str) -> Result<(Token, usize), String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+-._".contains(letter);
    let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    let text = &rest[..length];
    let wrong = || format!("1: bad number syntax: {text:?}");
    let whole = text.trim_start_matches('+').parse::<i64>().ok().map(serde_json::Number::from);
    let number = whole.or_else(|| serde_json::Number::from_f64(text.parse().ok()?));
    Ok((Token::Number(number.ok_or_else(wrong)?), length))
}

/// Reads a quoted text up to its closing quote.
fn quoted(rest: &str) -> Result<(Token, usize), String> {
    let mut letters = rest.char_indices();
    let (_, quote) = letters.next().ok_or("1: unterminated quoted string")?;
    let mut text = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next().map(|(_, letter)| letter) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some(other) => text.push(other),
                None => break,
            },
            letter if letter == quote => return Ok((Token::Text(text), at + 1)),
            letter => text.push(letter),
        }
    }
    Err("1: unterminated quoted string".into())
}
