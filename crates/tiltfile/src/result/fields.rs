//! Writing JSON as Go writes it: fields in order, some only if they say something.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_model::files::IgnoreRule;
use lilt_model::secret::Redactor;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// JSON with field names that are known beforehand: a project has hundreds of thousands, and a map of texts would be
/// most of the work of writing them.
#[derive(Debug)]
pub(super) enum Node {
    Value(Value),
    List(Vec<Node>),
    Fields(Fields),
}

impl<T: Into<Value>> From<T> for Node {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl<T: Into<Node>> FromIterator<T> for Node {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::List(items.into_iter().map(T::into).collect())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Fields(Fields(fields)) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

impl Node {
    pub(super) const NULL: Self = Self::Value(Value::Null);

    /// Whether Go's `omitempty` leaves it out.
    fn is_empty(&self) -> bool {
        match self {
            Self::Value(Value::Null) => true,
            Self::Value(Value::Bool(value)) => !value,
            Self::Value(Value::Number(number)) => number.as_i64() == Some(0),
            Self::Value(Value::String(text)) => text.is_empty(),
            Self::Value(Value::Array(items)) => items.is_empty(),
            Self::Value(Value::Object(fields)) => fields.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Fields(Fields(fields)) => fields.is_empty(),
        }
    }

    pub(super) fn without_secrets(self, redactor: &Redactor) -> Self {
        if redactor.is_empty() {
            return self;
        }
        let within = |node: Self| node.without_secrets(redactor);
        match self {
            Self::Value(value) => Self::Value(without_secrets(value, redactor)),
            Self::List(items) => Self::List(items.into_iter().map(within).collect()),
            Self::Fields(Fields(fields)) => {
                Self::Fields(Fields(fields.into_iter().map(|(name, node)| (name, within(node))).collect()))
            }
        }
    }
}

fn without_secrets(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => redactor.redact(&text).into_owned().into(),
        Value::Array(items) => items.into_iter().map(|item| without_secrets(item, redactor)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (redactor.redact(&key).into_owned(), without_secrets(value, redactor)))
            .collect(),
        other => other,
    }
}

/// Puts together an object.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(&'static str, Node)>);

impl Fields {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn put(mut self, name: &'static str, value: impl Into<Node>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Leaves out what Go's `omitempty` leaves out.
    pub(super) fn put_unless_empty(self, name: &'static str, value: impl Into<Node>) -> Self {
        let value = value.into();
        if value.is_empty() { self } else { self.put(name, value) }
    }

    pub(super) fn finish(self) -> Node {
        Node::Fields(self)
    }
}

/// A list that nothing was ever put into is null in Go.
pub(super) fn list_or_null<T: Into<Node>>(items: impl IntoIterator<Item = T>) -> Node {
    let list: Node = items.into_iter().collect();
    if list.is_empty() { Node::NULL } else { list }
}

pub(super) fn path(path: &Path) -> String {
    path.display().to_string()
}

pub(super) fn paths(all: &[PathBuf]) -> Vec<String> {
    all.iter().map(|one| path(one)).collect()
}

pub(super) fn ignores(rules: &[IgnoreRule]) -> Vec<Node> {
    let write = |rule: &IgnoreRule| {
        Fields::new()
            .put("basePath", path(&rule.base))
            .put_unless_empty("patterns", rule.patterns.clone())
            .finish()
    };
    rules.iter().map(write).collect()
}

pub(super) fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// As it may stand in the path of the API.
pub(super) fn sanitized(name: &str) -> String {
    match name {
        "." | ".." => name.replace('.', "_"),
        _ => name.replace(['/', '%'], "_"),
    }
}
