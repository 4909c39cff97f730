//! Parses the tokens of actions.

use serde_json::Value;

use super::functions::FUNCTIONS;
use super::lex::{Piece, Token};
use super::{Defined, Node, Operand, Pipeline};

/// Parses a template and the templates that it defines.
pub(super) fn parse(pieces: &[Piece]) -> Result<(Vec<Node>, Defined), String> {
    let mut parser = Parser {
        pieces,
        at: 0,
        variables: vec!["$".to_owned()],
        depth: 0,
        is_inner: false,
        defined: Defined::new(),
    };
    let (nodes, end) = parser.nodes()?;
    match end {
        Stop::Text => Ok((nodes, parser.defined)),
        Stop::Closed => Err("1: unexpected {{end}}".into()),
        Stop::Else(_) => Err("1: unexpected {{else}}".into()),
    }
}

struct Parser<'p> {
    pieces: &'p [Piece],
    at: usize,
    /// The variables in scope.
    variables: Vec<String>,
    /// The nesting of `range` blocks.
    depth: usize,
    /// The nesting of blocks, in which `define` is not allowed.
    is_inner: bool,
    defined: Defined,
}

/// The action that ends a list of nodes.
enum Stop<'p> {
    Text,
    Closed,
    /// With the tokens after `else`.
    Else(&'p [Token]),
}

impl<'p> Parser<'p> {
    fn nodes(&mut self) -> Result<(Vec<Node>, Stop<'p>), String> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.get(self.at) {
            self.at += 1;
            let words = match piece {
                Piece::Text(text) => {
                    if !text.is_empty() {
                        nodes.push(Node::Text(text.clone()));
                    }
                    continue;
                }
                Piece::Action(words) => words,
            };
            let (keyword, rest) = match words.split_first() {
                Some((Token::Name(name), rest)) => (name.as_str(), rest),
                _ => ("", &words[..]),
            };
            match keyword {
                "end" => return Ok((nodes, Stop::Closed)),
                "else" => return Ok((nodes, Stop::Else(rest))),
                "if" | "with" | "range" => nodes.push(self.block(keyword, rest)?),
                "break" | "continue" if self.depth == 0 => {
                    return Err(format!("1: {{{{{keyword}}}}} outside {{{{range}}}}"));
                }
                "break" => nodes.push(Node::Break),
                "continue" => nodes.push(Node::Continue),
                "define" if self.is_inner => return Err("1: unexpected {{define}}".into()),
                "define" => {
                    let (name, _) = named(keyword, rest)?;
                    self.define(name)?;
                }
                "block" => {
                    let (name, pipeline) = named(keyword, rest)?;
                    let pipeline = self.pipeline(pipeline)?;
                    self.define(name.clone())?;
                    nodes.push(Node::Template(name, Some(pipeline)));
                }
                "template" => {
                    let (name, pipeline) = named(keyword, rest)?;
                    let is_given = pipeline.iter().any(|word| *word != Token::Space);
                    let pipeline = if is_given { Some(self.pipeline(pipeline)?) } else { None };
                    nodes.push(Node::Template(name, pipeline));
                }
                _ => nodes.push(Node::Act(self.pipeline(words)?)),
            }
        }
        Ok((nodes, Stop::Text))
    }

    /// Parses a `define` up to its `end`; its only variables are `.` and `$`.
    fn define(&mut self, name: String) -> Result<(), String> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let depth = std::mem::take(&mut self.depth);
        let is_inner = std::mem::replace(&mut self.is_inner, true);
        let (body, end) = self.nodes()?;
        (self.variables, self.depth, self.is_inner) = (variables, depth, is_inner);
        match end {
            Stop::Closed => {
                self.defined.insert(name, body);
                Ok(())
            }
            Stop::Text => Err("1: unexpected EOF".into()),
            Stop::Else(_) => Err("1: unexpected {{else}}".into()),
        }
    }

    fn block(&mut self, keyword: &str, words: &[Token]) -> Result<Node, String> {
        let is_inner = std::mem::replace(&mut self.is_inner, true);
        let node = self.branches(keyword, words)?;
        self.is_inner = is_inner;
        Ok(node)
    }

    fn branches(&mut self, keyword: &str, words: &[Token]) -> Result<Node, String> {
        let known = self.variables.len();
        let pipeline = self.pipeline(words)?;
        self.depth += usize::from(keyword == "range");
        let (body, end) = self.nodes()?;
        self.depth -= usize::from(keyword == "range");
        let else_branch = match end {
            Stop::Text => return Err("1: unexpected EOF".into()),
            Stop::Closed => Vec::new(),
            Stop::Else(rest) => self.else_branch(rest)?,
        };
        self.variables.truncate(known);
        Ok(match keyword {
            "if" => Node::If(pipeline, body, else_branch),
            "with" => Node::With(pipeline, body, else_branch),
            _ => Node::Range(pipeline, body, else_branch),
        })
    }

    /// Parses what follows `else`: nodes up to `end`, or another block (`else if`), which shares the `end`.
    fn else_branch(&mut self, rest: &[Token]) -> Result<Vec<Node>, String> {
        let rest: &[Token] = match rest {
            [Token::Space, rest @ ..] => rest,
            rest => rest,
        };
        match rest.split_first() {
            None => match self.nodes()? {
                (nodes, Stop::Closed) => Ok(nodes),
                (_, Stop::Else(_)) => Err("1: expected end; found {{else}}".into()),
                (_, Stop::Text) => Err("1: unexpected EOF".into()),
            },
            Some((Token::Name(name), rest)) if name == "if" || name == "with" => {
                Ok(vec![self.block(name, rest)?])
            }
            Some(_) => Err("1: unexpected words in else".into()),
        }
    }

    fn pipeline(&mut self, words: &[Token]) -> Result<Pipeline, String> {
        let mut reader = Reader { words, at: 0, known: &self.variables };
        let (variables, assigns) = reader.declaration();
        let mut commands = reader.commands(false)?;
        commands.retain(|command| !command.is_empty());
        if commands.is_empty() {
            return Err("1: missing value for command".into());
        }
        if assigns && let Some(unknown) = variables.iter().find(|name| !self.variables.contains(name)) {
            return Err(format!("1: undefined variable {unknown:?}"));
        }
        if !assigns {
            self.variables.extend(variables.iter().cloned());
        }
        Ok(Pipeline { variables, assigns, commands })
    }
}

/// Parses the name of a template, and returns the remaining tokens.
fn named<'w>(keyword: &str, words: &'w [Token]) -> Result<(String, &'w [Token]), String> {
    let words = match words {
        [Token::Space, rest @ ..] => rest,
        words => words,
    };
    match words.split_first() {
        Some((Token::Text(name), rest)) => Ok((name.clone(), rest)),
        _ => Err(format!("1: {keyword}: a name in quotes is missing")),
    }
}

struct Reader<'w> {
    words: &'w [Token],
    at: usize,
    known: &'w [String],
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        while self.words.get(self.at) == Some(&Token::Space) {
            self.at += 1;
        }
    }

    /// Parses `$x :=`, `$i, $x :=` or `$x =`; reads nothing if there is no declaration.
    fn declaration(&mut self) -> (Vec<String>, bool) {
        let start = self.at;
        let mut names = Vec::new();
        loop {
            self.skip_space();
            let Some(Token::Variable(name)) = self.words.get(self.at) else { break };
            names.push(name.clone());
            self.at += 1;
            self.skip_space();
            match self.words.get(self.at) {
                Some(Token::Sign(sign @ (":=" | "="))) => {
                    self.at += 1;
                    return (names, *sign == "=");
                }
                Some(Token::Sign(",")) => self.at += 1,
                _ => break,
            }
        }
        self.at = start;
        (Vec::new(), false)
    }

    /// Parses commands up to the end or the closing parenthesis.
    fn commands(&mut self, in_group: bool) -> Result<Vec<Vec<Operand>>, String> {
        let mut commands = vec![Vec::new()];
        loop {
            self.skip_space();
            let Some(word) = self.words.get(self.at) else {
                return if in_group { Err("1: unclosed left paren".into()) } else { Ok(commands) };
            };
            self.at += 1;
            match word {
                Token::Sign("|") => commands.push(Vec::new()),
                Token::Sign(")") if in_group => return Ok(commands),
                word => {
                    let operand = self.operand(word)?;
                    commands.last_mut().expect("invariant: there is one from the beginning").push(operand);
                }
            }
        }
    }

    fn operand(&mut self, word: &Token) -> Result<Operand, String> {
        Ok(match word {
            Token::Field(name) if name.is_empty() => Operand::Dot(Vec::new()),
            Token::Field(name) => Operand::Dot([name.clone()].into_iter().chain(self.fields()).collect()),
            Token::Variable(name) if !self.known.contains(name) => {
                return Err(format!("1: undefined variable {name:?}"));
            }
            Token::Variable(name) => Operand::Variable(name.clone(), self.fields()),
            Token::Text(text) => Operand::Literal(Value::String(text.clone())),
            Token::Number(number) => Operand::Literal(Value::Number(number.clone())),
            Token::Name(name) => match name.as_str() {
                "true" => Operand::Literal(Value::Bool(true)),
                "false" => Operand::Literal(Value::Bool(false)),
                "nil" => Operand::Literal(Value::Null),
                name if FUNCTIONS.contains(&name) => Operand::Function(name.to_owned()),
                name => return Err(format!("1: function {name:?} not defined")),
            },
            Token::Sign("(") => {
                let commands = self.commands(true)?;
                let pipeline = Pipeline { variables: Vec::new(), assigns: false, commands };
                Operand::Group(pipeline, self.fields())
            }
            Token::Sign(sign) => return Err(format!("1: unexpected {sign:?} in operand")),
            Token::Space => return Err("1: missing operand".into()),
        })
    }

    /// Parses the fields that follow without a space.
    fn fields(&mut self) -> Vec<String> {
        let mut fields = Vec::new();
        while let Some(Token::Field(name)) = self.words.get(self.at) {
            fields.push(name.clone());
            self.at += 1;
        }
        fields
    }
}
