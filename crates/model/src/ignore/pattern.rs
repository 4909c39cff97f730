//! One pattern as a small automaton over characters: a set of live positions, advanced by each character.
//!
//! It is an automaton rather than a regular expression because it takes a few dozen bytes per pattern (a project has
//! thousands), never backtracks, and can also tell whether something *below* a directory could still match.

/// Positions are bits of a word. [`Pattern::parse`] refuses longer patterns.
const MOST_TOKENS: usize = 126;

#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) exception: bool,
    /// The leading literal characters. Comparing these excludes most paths.
    literal: String,
    /// What follows the literal, from the first wildcard on.
    tokens: Vec<Token>,
}

#[derive(Debug, PartialEq)]
enum Token {
    Char(char),
    /// `?`: one character, not `/`.
    One,
    /// `*`: any characters but `/`.
    Star,
    /// `**` in the middle or `**/`: nothing, or anything that ends in `/`.
    Folders,
    /// `**` at the end, or at the start of a plain suffix: anything.
    Anything,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// The set of live positions. Bit i of the first word is "before token i"; of the second "inside token i", which only
/// `Folders` needs: only a `/` leaves it.
type Live = [u128; 2];

/// The rest of a pattern after a directory and its `/`.
enum Below {
    Nothing,
    /// The directory is a prefix of the literal.
    InLiteral,
    Live(Live),
}

impl Pattern {
    /// `text` is cleaned, relative and not empty.
    pub(super) fn parse(text: &str, exception: bool) -> Result<Self, &'static str> {
        let mut tokens = tokens(text)?;
        let plain = tokens.iter().map_while(|token| match token {
            Token::Char(char) => Some(*char),
            _ => None,
        });
        let literal: String = plain.collect();
        tokens.drain(..literal.chars().count());
        if tokens.len() > MOST_TOKENS {
            return Err("more than 126 characters follow its first wildcard");
        }
        Ok(Self { exception, literal, tokens })
    }

    /// Returns whether it matches the path or one of its parents.
    pub(super) fn matches_path_or_parent(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(self.literal.as_str()) else { return false };
        if self.tokens.is_empty() {
            return rest.is_empty() || rest.starts_with('/');
        }
        let mut live = self.start();
        let mut previous = self.literal.chars().next_back();
        for char in rest.chars() {
            // `previous` is none only before the first character, where there is no parent to match yet, and a `/`
            // only after the literal's own: "a/" is not a parent by that name.
            if char == '/' && previous.is_some() && self.accepts(live) {
                return true;
            }
            live = self.step(live, char);
            if live == [0, 0] {
                return false;
            }
            previous = Some(char);
        }
        previous != Some('/') && self.accepts(live)
    }

    /// Returns whether it certainly matches every path below this directory (empty: the base).
    pub(super) fn matches_all_below(&self, directory: &str) -> bool {
        if !directory.is_empty() && self.matches_path_or_parent(directory) {
            return true;
        }
        // A last `*` or `**` that is live right after the directory's `/` matches every name in it.
        let Some(Token::Star | Token::Anything) = self.tokens.last() else { return false };
        match self.below(directory) {
            Below::Live(live) => live[0] & (1 << (self.tokens.len() - 1)) != 0,
            Below::Nothing | Below::InLiteral => false,
        }
    }

    /// Returns whether it could match a path below this directory, or matches the directory or a parent of it.
    pub(super) fn may_match_below(&self, directory: &str) -> bool {
        if directory.is_empty() || self.matches_path_or_parent(directory) {
            return true;
        }
        match self.below(directory) {
            Below::Live(live) => live != [0, 0],
            Below::InLiteral => true,
            Below::Nothing => false,
        }
    }

    fn below(&self, directory: &str) -> Below {
        let start = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        if let Some(rest) = start.strip_prefix(self.literal.as_str()) {
            return Below::Live(rest.chars().fold(self.start(), |live, char| self.step(live, char)));
        }
        if self.literal.starts_with(&start) { Below::InLiteral } else { Below::Nothing }
    }

    fn start(&self) -> Live {
        let mut live = [0, 0];
        self.enter(&mut live, 0);
        live
    }

    fn accepts(&self, live: Live) -> bool {
        live[0] & (1 << self.tokens.len()) != 0
    }

    /// Makes a position live, and those after tokens that may match nothing.
    fn enter(&self, live: &mut Live, position: usize) {
        let mut position = position;
        loop {
            live[0] |= 1 << position;
            match self.tokens.get(position) {
                Some(Token::Star | Token::Folders | Token::Anything) => position += 1,
                _ => return,
            }
        }
    }

    fn step(&self, live: Live, char: char) -> Live {
        let mut next = [0, 0];
        for (position, token) in self.tokens.iter().enumerate() {
            let before = live[0] & (1 << position) != 0;
            let inside = live[1] & (1 << position) != 0;
            if !before && !inside {
                continue;
            }
            match token {
                Token::Folders => {
                    next[1] |= 1 << position;
                    if char == '/' {
                        self.enter(&mut next, position + 1);
                    }
                }
                Token::Anything => self.enter(&mut next, position),
                Token::Star if char != '/' => self.enter(&mut next, position),
                token if token.takes(char) => self.enter(&mut next, position + 1),
                _ => {}
            }
        }
        next
    }
}

impl Token {
    fn takes(&self, char: char) -> bool {
        match self {
            Token::Char(own) => *own == char,
            Token::One => char != '/',
            Token::Class { negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&char)) != *negated
            }
            Token::Star | Token::Folders | Token::Anything => false,
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        tokens.push(match char {
            '*' if rest.next_if_eq(&'*').is_some() => {
                let folder = rest.next_if_eq(&'/').is_some();
                // To moby, a leading `**` before plain text means "ends with": `**.txt` matches `a.txt`.
                let suffix =
                    tokens.is_empty() && !folder && !rest.clone().any(|char| "*?[]\\".contains(char));
                if rest.peek().is_none() || suffix { Token::Anything } else { Token::Folders }
            }
            '*' => Token::Star,
            '?' => Token::One,
            '\\' => Token::Char(rest.next().ok_or("it ends in a backslash")?),
            '[' => class(&mut rest)?,
            char => Token::Char(char),
        });
    }
    Ok(tokens)
}

fn class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Token, &'static str> {
    const UNCLOSED: &str = "a [ is not closed";
    let negated = rest.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next().ok_or(UNCLOSED)? {
            ']' if ranges.is_empty() => return Err("a character class is empty"),
            ']' => return Ok(Token::Class { negated, ranges }),
            '-' => return Err("a range has no start"),
            '\\' => rest.next().ok_or(UNCLOSED)?,
            char => char,
        };
        let last = if rest.next_if_eq(&'-').is_some() {
            match rest.next().ok_or(UNCLOSED)? {
                ']' | '-' => return Err("a range has no end"),
                '\\' => rest.next().ok_or(UNCLOSED)?,
                char => char,
            }
        } else {
            first
        };
        ranges.push((first, last));
    }
}
