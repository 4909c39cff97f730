//! Parses the text of an expression.

use super::{End, Node};

/// Returns one list of nodes for each pair of braces and for each text between them.
pub(super) fn parse(text: &str) -> Result<Vec<Vec<Node>>, String> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some(open) = rest.find('{') else {
            blocks.push(vec![Node::Text(rest.to_owned())]);
            break;
        };
        if open > 0 {
            blocks.push(vec![Node::Text(rest[..open].to_owned())]);
        }
        let mut reader = Reader { text: &rest[open + 1..], at: 0 };
        blocks.push(reader.action()?);
        rest = &reader.text[reader.at..];
    }
    Ok(blocks)
}

/// Parses an expression without braces.
fn action(text: &str) -> Result<Vec<Node>, String> {
    Reader { text: &format!("{text}}}"), at: 0 }.action()
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take(&mut self, length: usize) -> String {
        let taken = self.rest()[..length].to_owned();
        self.at += length;
        taken
    }

    /// Parses up to and including the closing brace.
    fn action(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        loop {
            if self.rest().starts_with("[?(") {
                self.at += 3;
                nodes.push(self.filter()?);
                continue;
            }
            if self.rest().starts_with("..") {
                self.at += 2;
                nodes.push(Node::Recursive);
                if self.rest().starts_with(|next: char| next == '_' || next.is_alphanumeric()) {
                    nodes.push(self.field());
                }
                continue;
            }
            match self.next() {
                None | Some('\r' | '\n') => return Err("unclosed action".into()),
                Some('}') => return Ok(nodes),
                // The object itself.
                Some(' ' | '@' | '$') => {}
                Some('[') => self.brackets(&mut nodes)?,
                Some(quote @ ('"' | '\'')) => nodes.push(Node::Text(self.quoted(quote)?)),
                Some('.') => {
                    let field = self.field();
                    nodes.push(field);
                }
                Some(next) if next == '+' || next == '-' || next.is_ascii_digit() => {
                    self.at -= 1;
                    nodes.push(self.number()?);
                }
                Some(next) if next == '_' || next.is_alphanumeric() => {
                    self.at -= next.len_utf8();
                    nodes.push(self.identifier()?);
                }
                Some(other) => return Err(format!("unrecognized character in action: {other:?}")),
            }
        }
    }

    fn field(&mut self) -> Node {
        let mut escaped = false;
        let ends = |next: char| {
            let ends = !escaped && is_terminator(next);
            escaped = !escaped && next == '\\';
            ends
        };
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        match self.take(length).as_str() {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        }
    }

    fn identifier(&mut self) -> Result<Node, String> {
        let length = self.rest().find(is_terminator).unwrap_or(self.rest().len());
        match self.take(length).as_str() {
            "true" => Ok(Node::Bool(true)),
            "false" => Ok(Node::Bool(false)),
            "range" => Ok(Node::Range),
            "end" => Ok(Node::EndOfRange),
            other => Err(format!("unrecognized identifier {other}")),
        }
    }

    fn number(&mut self) -> Result<Node, String> {
        let sign = usize::from(self.rest().starts_with(['+', '-']));
        let digits = self.rest()[sign..].find(|next: char| next != '.' && !next.is_ascii_digit());
        let text = self.take(digits.map_or(self.rest().len(), |digits| digits + sign));
        text.parse().map(Node::Number).map_err(|_| format!("cannot parse number {text}"))
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated quoted string".into()),
                Some('\\') => text.extend(self.next().map(unescaped)),
                Some(next) if next == quote => return Ok(text),
                Some(next) => text.push(next),
            }
        }
    }

    fn brackets(&mut self, nodes: &mut Vec<Node>) -> Result<(), String> {
        let length = self.rest().find([']', '\n']).ok_or("unterminated array")?;
        let text = self.take(length);
        if self.next() != Some(']') {
            return Err("unterminated array".into());
        }
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 1 {
            let lists = parts.into_iter().map(|part| action(&format!("[{}]", part.trim())));
            nodes.push(Node::Union(lists.collect::<Result<_, _>>()?));
            return Ok(());
        }
        if let Some(key) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            nodes.extend(action(&format!(".{key}"))?);
            return Ok(());
        }
        nodes.push(slice(if text == "*" { ":" } else { &text })?);
        Ok(())
    }

    fn filter(&mut self) -> Result<Node, String> {
        let start = self.at;
        let mut quote = None;
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated filter".into()),
                Some('\\') => {
                    self.next();
                }
                Some(next @ ('"' | '\'')) if quote.is_none() => quote = Some(next),
                Some(next) if quote == Some(next) => quote = None,
                Some(')') if quote.is_none() => break,
                Some(_) => {}
            }
        }
        let text = self.text[start..self.at - 1].to_owned();
        if self.next() != Some(']') {
            return Err("unclosed array expect ]".into());
        }
        let is_operator = |next: char| matches!(next, '!' | '<' | '>' | '=');
        match text.find(is_operator).filter(|start| *start > 0) {
            None => Ok(Node::Filter { left: action(&text)?, operator: "exists".into(), right: Vec::new() }),
            Some(start) => {
                let length = text[start..].find(|next| !is_operator(next)).unwrap_or(text.len() - start);
                let (operator, right) = text[start..].split_at(length);
                Ok(Node::Filter {
                    left: action(&text[..start])?,
                    operator: operator.to_owned(),
                    right: action(right)?,
                })
            }
        }
    }
}

fn unescaped(letter: char) -> char {
    match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}

fn slice(text: &str) -> Result<Node, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &str| match part {
        "" => Ok(None),
        part => part.parse::<i64>().map(Some).map_err(|_| format!("invalid array index {text}")),
    };
    match parts.as_slice() {
        [""] => Err(format!("invalid array index {text}")),
        [one] => Ok(Node::Slice { start: number(one)?, end: End::AfterStart, step: None }),
        [start, end, step @ ..] if step.len() < 2 => Ok(Node::Slice {
            start: number(start)?,
            end: number(end)?.map_or(End::Open, End::At),
            step: number(step.first().copied().unwrap_or_default())?,
        }),
        _ => Err(format!("invalid array index {text}")),
    }
}

fn is_terminator(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}
