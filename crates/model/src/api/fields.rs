//! Writing JSON as Go writes it: fields in order, some only if they say something.

use std::path::{Path, PathBuf};

use crate::files::IgnoreRule;
use serde_json::{Map, Value};

/// The fields of an object, as they are put.
#[derive(Debug, Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn put(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves out what Go's `omitempty` leaves out.
    #[must_use]
    pub fn put_unless_empty(self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let is_empty = match &value {
            Value::Null => true,
            Value::Bool(value) => !value,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
        };
        if is_empty { self } else { self.put(name, value) }
    }

    pub fn finish(self) -> Value {
        Value::Object(self.0)
    }
}

/// A list that nothing was ever put into is null in Go.
pub fn list_or_null(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::Array(items) }
}

pub fn path(path: &Path) -> String {
    path.display().to_string()
}

pub fn paths(all: &[PathBuf]) -> Vec<String> {
    all.iter().map(|one| path(one)).collect()
}

pub fn ignores(rules: &[IgnoreRule]) -> Vec<Value> {
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
