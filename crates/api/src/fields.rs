//! Writing JSON as Go writes it: fields in order, some only if they say something.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use serde_json::Value;

use lilt_model::files::IgnoreRule;
use lilt_model::secret::{Redactor, redact_values};

/// JSON with field names that are known beforehand: a project has hundreds of thousands, and a map of texts would be
/// most of the work of writing them.
#[derive(Debug)]
pub enum Node {
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
    pub const NULL: Self = Self::Value(Value::Null);

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

    /// As JSON that can be changed. Of a field that was put twice, the last counts.
    pub fn value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::List(items) => items.into_iter().map(Self::value).collect(),
            Self::Fields(Fields(fields)) => {
                fields.into_iter().map(|(name, node)| (name.to_owned(), node.value())).collect()
            }
        }
    }

    /// Redacts the values of a field of this name; names, paths and keys stay.
    #[must_use]
    pub fn without_secrets(self, field: &str, redactor: &Redactor) -> Self {
        if redactor.is_empty() {
            return self;
        }
        match self {
            Self::Value(value) => Self::Value(redact_values(field, value, redactor)),
            Self::List(items) => {
                Self::List(items.into_iter().map(|item| item.without_secrets(field, redactor)).collect())
            }
            Self::Fields(Fields(fields)) => {
                let within =
                    |(name, node): (&'static str, Self)| (name, node.without_secrets(name, redactor));
                Self::Fields(Fields(fields.into_iter().map(within).collect()))
            }
        }
    }
}

/// Puts together an object.
#[derive(Debug, Default)]
pub struct Fields(Vec<(&'static str, Node)>);

impl Fields {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn put(mut self, name: &'static str, value: impl Into<Node>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Leaves out what Go's `omitempty` leaves out.
    #[must_use]
    pub fn put_unless_empty(self, name: &'static str, value: impl Into<Node>) -> Self {
        let value = value.into();
        if value.is_empty() { self } else { self.put(name, value) }
    }

    pub fn finish(self) -> Node {
        Node::Fields(self)
    }

    /// As JSON that can be changed.
    pub fn value(self) -> Value {
        self.finish().value()
    }
}

/// A list that nothing was ever put into is null in Go.
pub fn list_or_null<T: Into<Node>>(items: impl IntoIterator<Item = T>) -> Node {
    let list: Node = items.into_iter().collect();
    if list.is_empty() { Node::NULL } else { list }
}

pub fn path(path: &Path) -> String {
    path.display().to_string()
}

pub fn paths(all: &[PathBuf]) -> Vec<String> {
    all.iter().map(|one| path(one)).collect()
}

pub fn ignores(rules: &[IgnoreRule]) -> Vec<Node> {
    let write = |rule: &IgnoreRule| {
        Fields::new()
            .put("basePath", path(&rule.base))
            .put_unless_empty("patterns", rule.patterns.clone())
            .finish()
    };
    rules.iter().map(write).collect()
}

/// As it may stand in the path of the API.
pub fn sanitized(name: &str) -> String {
    match name {
        "." | ".." => name.replace('.', "_"),
        _ => name.replace(['/', '%'], "_"),
    }
}
