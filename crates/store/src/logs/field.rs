//! Filters lines by fields of structured logs: lines that are JSON objects.

use lilt_model::escape::plain;
use serde_json::Value;

/// Matches lines that are JSON objects with this value at this path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// `level`, or `request.path` for a nested member. A key that contains dots takes precedence.
    pub path: String,
    /// A string without quotes, or any other value as JSON.
    pub value: String,
}

impl Field {
    /// Parses `path=value`.
    pub fn parse(text: &str) -> Option<Field> {
        let (path, value) = text.split_once('=').filter(|(path, _)| !path.is_empty())?;
        Some(Field { path: path.to_owned(), value: value.to_owned() })
    }

    pub(super) fn matches(&self, line: &str) -> bool {
        let line = plain(line);
        let line = line.trim();
        if !line.starts_with('{') || !line.ends_with('}') {
            return false;
        }
        // Parsing every line would be slow. A line without the last key cannot have the field.
        let key = self.path.rsplit('.').next().unwrap_or(&self.path);
        line.contains(key)
            && serde_json::from_str::<Value>(line).is_ok_and(|object| {
                find(&object, &self.path).is_some_and(|found| match found {
                    Value::String(text) => *text == self.value,
                    other => serde_json::to_string(other).is_ok_and(|text| text == self.value),
                })
            })
    }
}

fn find<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = object.get(path) {
        return Some(found);
    }
    let (first, rest) = path.split_once('.')?;
    find(object.get(first)?, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(field: &str, line: &str) -> bool {
        Field::parse(field).expect("a field").matches(line)
    }

    #[test]
    fn values_must_be_equal() {
        let line = r#"{"level":"error","status":500,"request":{"path":"/a=b"},"a.b":null,"ok":true}"#;
        for field in ["level=error", "status=500", "request.path=/a=b", "a.b=null", "ok=true"] {
            assert!(matches(field, line), "{field}");
        }
        for field in ["level=err", "status=50", "path=/a=b", "request=x", "nothing=", "ok="] {
            assert!(!matches(field, line), "{field}");
        }
    }

    #[test]
    fn lines_that_are_not_objects_do_not_match() {
        for line in ["level=error", "[1]", "{level: error}", "", "{\"level\":\"error\"} and more"] {
            assert!(!matches("level=error", line), "{line}");
        }
        assert!(matches("level=error", "\x1b[31m{\"level\":\"error\"}\x1b[0m "));
        assert!(Field::parse("=x").is_none() && Field::parse("x").is_none());
    }
}
