//! Builds values from tokens: nodes, anchors and aliases, merge keys.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::YamlError;
use super::resolve::{self, Scalar};
use super::scanner::{Mark, Scanner, TokenKind, error, error_within};

/// The maximum nesting. Parsing and using values is recursive: deeper texts would overflow the stack.
const DEPTH: usize = 256;
/// Limits of what aliases copy in total, since a few lines can expand to any size.
const COPIED_NODES: usize = 10_000_000;
const COPIED_BYTES: usize = 256 << 20;

/// A document and its first line, counted from 1.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) line: u32,
    pub(super) value: Value,
}

/// Parses the first document of a text; none if there is none. As in Kubernetes tools, the rest is ignored.
pub(super) fn first_document(text: &str) -> Result<Option<Document>, YamlError> {
    let mut composer = Composer {
        scanner: Scanner::new(text),
        anchors: HashMap::new(),
        tag_directives: Vec::new(),
        depth: 0,
        decoded: Size { nodes: 1, bytes: 0 },
        from_aliases: 0,
        copied: Size::default(),
    };
    composer.document()
}

#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
}

enum Anchor {
    /// The node with this anchor is not complete.
    Open,
    Complete {
        value: Value,
        size: Size,
    },
}

/// A node, whose scalar may turn out to be a key.
enum Node<'t> {
    Scalar(Scalar<'t>),
    /// `<<` without quotes.
    Merge,
    Value(Value),
}

struct Composer<'t> {
    scanner: Scanner<'t>,
    anchors: HashMap<&'t str, Anchor>,
    tag_directives: Vec<(&'t str, Cow<'t, str>)>,
    depth: usize,
    /// All nodes so far, counting those of aliases each time.
    decoded: Size,
    /// How many of them came from aliases.
    from_aliases: usize,
    copied: Size,
}

#[derive(Clone, Copy)]
enum Context {
    Block,
    /// A value of a block mapping: a sequence there need not be indented.
    BlockMapping,
    Flow,
}

impl<'t> Composer<'t> {
    fn document(&mut self) -> Result<Option<Document>, YamlError> {
        self.directives()?;
        let is_explicit = self.scanner.take_if(|kind| matches!(kind, TokenKind::DocumentStart))?;
        let token = self.scanner.peek()?;
        let mark = token.mark;
        let is_empty = matches!(
            token.kind,
            TokenKind::StreamEnd
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::VersionDirective
                | TokenKind::TagDirective { .. }
        );
        if is_empty {
            if !is_explicit && !matches!(token.kind, TokenKind::StreamEnd) {
                return Err(error("did not find expected <document start>", mark));
            }
            return Ok(None);
        }
        let node = self.node(Context::Block)?;
        // go-yaml scans this token, too, before it ignores the rest.
        self.scanner.peek()?;
        Ok(Some(Document { line: mark.line + 1, value: node_value(node, mark)? }))
    }

    fn directives(&mut self) -> Result<(), YamlError> {
        let mut found = false;
        loop {
            match self.scanner.peek()?.kind {
                TokenKind::VersionDirective => {
                    self.scanner.take()?;
                }
                TokenKind::TagDirective { .. } => {
                    if let TokenKind::TagDirective { handle, prefix } = self.scanner.take()?.kind {
                        self.tag_directives.push((handle, prefix));
                    }
                }
                TokenKind::DocumentStart | TokenKind::StreamEnd => return Ok(()),
                _ if found => {
                    let mark = self.scanner.peek()?.mark;
                    return Err(error("did not find expected <document start>", mark));
                }
                _ => return Ok(()),
            }
            found = true;
        }
    }

    fn value(&mut self, context: Context) -> Result<Value, YamlError> {
        let mark = self.scanner.peek()?.mark;
        node_value(self.node(context)?, mark)
    }

    fn empty(&mut self) -> Value {
        self.decoded.nodes += 1;
        Value::Null
    }

    fn node(&mut self, context: Context) -> Result<Node<'t>, YamlError> {
        let start = self.scanner.peek()?.mark;
        if let TokenKind::Alias(name) = self.scanner.peek()?.kind {
            self.scanner.take()?;
            return self.alias(name, start).map(Node::Value);
        }
        let (anchor, tag) = self.properties()?;
        if let Some(name) = anchor {
            self.anchors.insert(name, Anchor::Open);
        }
        let before = self.decoded;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(error(&format!("the text is nested more than {DEPTH} levels deep"), start));
        }
        let has_properties = anchor.is_some() || tag.is_some();
        let node = self.content(context, start, tag, has_properties)?;
        self.depth -= 1;
        match anchor {
            Some(name) => self.remember(name, node, before, start).map(Node::Value),
            None => Ok(node),
        }
    }

    /// Parses anchor and tag, in either order.
    fn properties(&mut self) -> Result<(Option<&'t str>, Option<Cow<'t, str>>), YamlError> {
        let mut anchor = None;
        let mut tag = None;
        loop {
            match self.scanner.peek()?.kind {
                TokenKind::Anchor(name) if anchor.is_none() => {
                    self.scanner.take()?;
                    anchor = Some(name);
                }
                TokenKind::Tag { .. } if tag.is_none() => {
                    let token = self.scanner.take()?;
                    if let TokenKind::Tag { handle, suffix } = token.kind {
                        tag = Some(self.full_tag(handle, suffix, token.mark)?);
                    }
                }
                _ => return Ok((anchor, tag)),
            }
        }
    }

    fn full_tag(&self, handle: &str, suffix: Cow<'t, str>, mark: Mark) -> Result<Cow<'t, str>, YamlError> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        let declared = self.tag_directives.iter().find(|(name, _)| *name == handle);
        let prefix = match (declared, handle) {
            (Some((_, prefix)), _) => prefix.as_ref(),
            (None, "!") => "!",
            (None, "!!") => "tag:yaml.org,2002:",
            _ => return Err(error(&format!("the tag handle {handle} is not declared"), mark)),
        };
        Ok(Cow::Owned(format!("{prefix}{suffix}")))
    }

    fn content(
        &mut self,
        context: Context,
        start: Mark,
        tag: Option<Cow<'t, str>>,
        has_properties: bool,
    ) -> Result<Node<'t>, YamlError> {
        let token = self.scanner.peek()?;
        let mark = token.mark;
        let is_block = !matches!(context, Context::Flow);
        match token.kind {
            TokenKind::BlockEntry if matches!(context, Context::BlockMapping) => {
                self.decoded.nodes += 1;
                self.indentless_sequence().map(Node::Value)
            }
            TokenKind::Scalar { .. } => {
                let TokenKind::Scalar { text, is_plain } = self.scanner.take()?.kind else {
                    return self.content(context, start, tag, has_properties);
                };
                self.scalar(text, is_plain, tag.as_deref(), mark)
            }
            TokenKind::FlowSequenceStart => self.flow_sequence(mark).map(Node::Value),
            TokenKind::FlowMappingStart => self.flow_mapping(mark).map(Node::Value),
            TokenKind::BlockSequenceStart if is_block => self.block_sequence(mark).map(Node::Value),
            TokenKind::BlockMappingStart if is_block => self.block_mapping(mark).map(Node::Value),
            _ if has_properties => self.scalar(Cow::Borrowed(""), true, tag.as_deref(), start),
            _ => Err(error("did not find expected node content", mark)),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        is_plain: bool,
        tag: Option<&str>,
        mark: Mark,
    ) -> Result<Node<'t>, YamlError> {
        self.decoded.nodes += 1;
        self.decoded.bytes += text.len();
        match tag {
            Some("tag:yaml.org,2002:merge") if text == "<<" => Ok(Node::Merge),
            Some(tag) => {
                resolve::tagged(tag, text).map(Node::Scalar).map_err(|message| error(&message, mark))
            }
            None if is_plain && text == "<<" => Ok(Node::Merge),
            None if is_plain => Ok(Node::Scalar(resolve::plain(text))),
            None => Ok(Node::Scalar(Scalar::Text(text))),
        }
    }

    fn block_sequence(&mut self, start: Mark) -> Result<Value, YamlError> {
        self.scanner.take()?;
        self.decoded.nodes += 1;
        let mut items = Vec::new();
        while self.scanner.take_if(|kind| matches!(kind, TokenKind::BlockEntry))? {
            let value = match self.scanner.peek()?.kind {
                TokenKind::BlockEntry | TokenKind::BlockEnd => self.empty(),
                _ => self.value(Context::Block)?,
            };
            items.push(value);
        }
        let token = self.scanner.take()?;
        if !matches!(token.kind, TokenKind::BlockEnd) {
            return Err(error_within("did not find expected '-' indicator", token.mark, "the list", start));
        }
        Ok(Value::Array(items))
    }

    fn indentless_sequence(&mut self) -> Result<Value, YamlError> {
        let mut items = Vec::new();
        while self.scanner.take_if(|kind| matches!(kind, TokenKind::BlockEntry))? {
            let value = match self.scanner.peek()?.kind {
                TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                    self.empty()
                }
                _ => self.value(Context::Block)?,
            };
            items.push(value);
        }
        Ok(Value::Array(items))
    }

    fn block_mapping(&mut self, start: Mark) -> Result<Value, YamlError> {
        fn is_end(kind: &TokenKind<'_>) -> bool {
            matches!(kind, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd)
        }
        self.scanner.take()?;
        self.decoded.nodes += 1;
        let mut fields = Map::new();
        loop {
            let mark = self.scanner.peek()?.mark;
            let has_key = self.scanner.take_if(|kind| matches!(kind, TokenKind::Key))?;
            if !has_key && !matches!(self.scanner.peek()?.kind, TokenKind::Value) {
                break;
            }
            let key = if !has_key || is_end(&self.scanner.peek()?.kind) {
                self.decoded.nodes += 1;
                Node::Scalar(Scalar::Null)
            } else {
                self.node(Context::BlockMapping)?
            };
            let has_value = self.scanner.take_if(|kind| matches!(kind, TokenKind::Value))?;
            let value = if !has_value || is_end(&self.scanner.peek()?.kind) {
                self.empty()
            } else {
                self.value(Context::BlockMapping)?
            };
            insert(&mut fields, key, value, mark)?;
        }
        let token = self.scanner.take()?;
        if !matches!(token.kind, TokenKind::BlockEnd) {
            return Err(error_within("did not find expected key", token.mark, "the mapping", start));
        }
        Ok(Value::Object(fields))
    }

    fn flow_sequence(&mut self, start: Mark) -> Result<Value, YamlError> {
        self.scanner.take()?;
        self.decoded.nodes += 1;
        let mut items = Vec::new();
        loop {
            match self.scanner.peek()?.kind {
                TokenKind::FlowSequenceEnd => break,
                TokenKind::Key => items.push(self.pair()?),
                _ => items.push(self.value(Context::Flow)?),
            }
            let mark = self.scanner.peek()?.mark;
            if !self.scanner.take_if(|kind| matches!(kind, TokenKind::FlowEntry))? {
                if matches!(self.scanner.peek()?.kind, TokenKind::FlowSequenceEnd) {
                    break;
                }
                return Err(error_within("did not find expected ',' or ']'", mark, "the list", start));
            }
        }
        self.scanner.take()?;
        Ok(Value::Array(items))
    }

    /// A mapping of one key, which needs no braces within a flow sequence.
    fn pair(&mut self) -> Result<Value, YamlError> {
        fn is_end(kind: &TokenKind<'_>) -> bool {
            matches!(kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd)
        }
        let mark = self.scanner.take()?.mark;
        self.decoded.nodes += 1;
        let (key, value) = self.flow_entry(is_end)?;
        let mut fields = Map::new();
        insert(&mut fields, key, value, mark)?;
        Ok(Value::Object(fields))
    }

    fn flow_mapping(&mut self, start: Mark) -> Result<Value, YamlError> {
        fn is_end(kind: &TokenKind<'_>) -> bool {
            matches!(kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd)
        }
        self.scanner.take()?;
        self.decoded.nodes += 1;
        let mut fields = Map::new();
        loop {
            let mark = self.scanner.peek()?.mark;
            if matches!(self.scanner.peek()?.kind, TokenKind::FlowMappingEnd) {
                break;
            }
            let (key, value) = if self.scanner.take_if(|kind| matches!(kind, TokenKind::Key))? {
                self.flow_entry(is_end)?
            } else {
                // A key without a value.
                let key = self.node(Context::Flow)?;
                (key, self.empty())
            };
            insert(&mut fields, key, value, mark)?;
            let mark = self.scanner.peek()?.mark;
            if !self.scanner.take_if(|kind| matches!(kind, TokenKind::FlowEntry))? {
                if matches!(self.scanner.peek()?.kind, TokenKind::FlowMappingEnd) {
                    break;
                }
                return Err(error_within("did not find expected ',' or '}'", mark, "the mapping", start));
            }
        }
        self.scanner.take()?;
        Ok(Value::Object(fields))
    }

    /// Parses what follows a key indicator in a flow collection.
    fn flow_entry(&mut self, is_end: fn(&TokenKind<'_>) -> bool) -> Result<(Node<'t>, Value), YamlError> {
        let kind = &self.scanner.peek()?.kind;
        let key = if is_end(kind) || matches!(kind, TokenKind::Value) {
            self.decoded.nodes += 1;
            Node::Scalar(Scalar::Null)
        } else {
            self.node(Context::Flow)?
        };
        let has_value = self.scanner.take_if(|kind| matches!(kind, TokenKind::Value))?;
        let value = if !has_value || is_end(&self.scanner.peek()?.kind) {
            self.empty()
        } else {
            self.value(Context::Flow)?
        };
        Ok((key, value))
    }

    fn remember(
        &mut self,
        name: &'t str,
        node: Node<'t>,
        before: Size,
        mark: Mark,
    ) -> Result<Value, YamlError> {
        let value = node_value(node, mark)?;
        let size =
            Size { nodes: self.decoded.nodes - before.nodes, bytes: self.decoded.bytes - before.bytes };
        self.charge(size, mark)?;
        self.anchors.insert(name, Anchor::Complete { value: value.clone(), size });
        Ok(value)
    }

    fn alias(&mut self, name: &str, mark: Mark) -> Result<Value, YamlError> {
        let size = match self.anchors.get(name) {
            Some(Anchor::Complete { size, .. }) => *size,
            Some(Anchor::Open) => {
                return Err(error(&format!("the value of the anchor '{name}' contains itself"), mark));
            }
            None => return Err(error(&format!("unknown anchor '{name}' referenced"), mark)),
        };
        self.decoded.nodes += 1 + size.nodes;
        self.decoded.bytes += size.bytes;
        self.from_aliases += size.nodes;
        let is_excessive = self.from_aliases > 100
            && self.decoded.nodes > 1000
            && self.from_aliases as f64 / self.decoded.nodes as f64 > allowed_alias_ratio(self.decoded.nodes);
        if is_excessive {
            return Err(error("document contains excessive aliasing", mark));
        }
        self.charge(size, mark)?;
        match self.anchors.get(name) {
            Some(Anchor::Complete { value, .. }) => Ok(value.clone()),
            _ => Ok(Value::Null),
        }
    }

    fn charge(&mut self, size: Size, mark: Mark) -> Result<(), YamlError> {
        self.copied.nodes += size.nodes;
        self.copied.bytes += size.bytes;
        if self.copied.nodes > COPIED_NODES || self.copied.bytes > COPIED_BYTES {
            return Err(error("document contains excessive aliasing", mark));
        }
        Ok(())
    }
}

/// Returns the allowed share of nodes from aliases, as in go-yaml: from 99 % in small documents to 10 % in large ones.
fn allowed_alias_ratio(nodes: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let place = (nodes as f64 - LOW) / (HIGH - LOW);
    0.99 - 0.89 * place.clamp(0.0, 1.0)
}

fn node_value(node: Node<'_>, mark: Mark) -> Result<Value, YamlError> {
    match node {
        Node::Value(value) => Ok(value),
        Node::Scalar(scalar) => scalar.into_value().map_err(|message| error(&message, mark)),
        Node::Merge => Ok(Value::String("<<".to_owned())),
    }
}

/// Inserts a field. As in go-yaml v2, the last of equal keys wins, and merged fields win over those before the merge.
fn insert(fields: &mut Map<String, Value>, key: Node<'_>, value: Value, mark: Mark) -> Result<(), YamlError> {
    let key = match key {
        Node::Merge => return merge(fields, value, mark),
        Node::Scalar(scalar) => scalar.into_key(),
        // A scalar with an anchor, or an alias to one.
        Node::Value(Value::String(text)) => Ok(text),
        Node::Value(Value::Bool(flag)) => Scalar::Bool(flag).into_key(),
        Node::Value(Value::Number(number)) => Ok(number.to_string()),
        Node::Value(Value::Null) => Scalar::Null.into_key(),
        Node::Value(Value::Array(_) | Value::Object(_)) => {
            Err("a list or a mapping cannot be the key of a mapping".to_owned())
        }
    };
    fields.insert(key.map_err(|message| error(&message, mark))?, value);
    Ok(())
}

fn merge(fields: &mut Map<String, Value>, value: Value, mark: Mark) -> Result<(), YamlError> {
    let wrong = || error("map merge requires map or sequence of maps as the value", mark);
    match value {
        Value::Object(merged) => fields.extend(merged),
        // The first mapping wins.
        Value::Array(items) => {
            for item in items.into_iter().rev() {
                let Value::Object(merged) = item else { return Err(wrong()) };
                fields.extend(merged);
            }
        }
        _ => return Err(wrong()),
    }
    Ok(())
}
