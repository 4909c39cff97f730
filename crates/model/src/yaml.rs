//! Parses and writes YAML as Kubernetes tools do: `yes` and `on` are booleans, `0755` is octal, the last of two equal
//! keys wins. The order of keys is kept.
//!
//! The parser follows `sigs.k8s.io/yaml` with go-yaml v2, which Tilt, kubectl and Helm use. YAML 1.2 parsers refuse some
//! of the files that it accepts, and parse others differently.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

mod compose;
#[cfg(test)]
mod go_cases;
mod resolve;
mod scalars;
mod scanner;
mod stream;

pub use resolve::json_number;
pub use stream::decode;

/// Why YAML could not be parsed or written. Displayed as `line 3: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    pub message: String,
    /// Counted from 1.
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for YamlError {}

/// Parses all documents that are not empty.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let documents = stream::documents(text, 0)?;
    Ok(documents.into_iter().map(|document| document.value).collect())
}

/// Parses one document; null if there is none.
pub fn document(text: &str) -> Result<Value, YamlError> {
    let mut documents = documents(text)?;
    match documents.len() {
        0 => Ok(Value::Null),
        1 => Ok(documents.remove(0)),
        count => Err(YamlError {
            message: format!("expected one YAML document, found {count}"),
            line: None,
            column: None,
        }),
    }
}

/// Parses Kubernetes objects, each with the first line of its document. `List` kinds are replaced by their items.
pub fn objects(text: &str) -> Result<Vec<(u32, Value)>, YamlError> {
    let documents = match stream::json_documents(text)? {
        Some(documents) => documents,
        None => stream::documents(text, 0)?,
    };
    let mut objects = Vec::new();
    for document in documents {
        let mut flat = Vec::new();
        flatten(document.value, &mut flat);
        objects.extend(flat.into_iter().map(|object| (document.line, object)));
    }
    Ok(objects)
}

fn flatten(mut object: Value, into: &mut Vec<Value>) {
    let is_list = object.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match object.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items.into_iter().for_each(|item| flatten(item, into)),
        Some(items) => {
            object["items"] = items;
            into.push(object);
        }
        None => into.push(object),
    }
}

/// Writes a document with sorted keys, as Tilt does.
pub fn encode(value: &Value) -> Result<String, YamlError> {
    serde_saphyr::to_string(&Plain(&sorted(value))).map_err(|error| YamlError {
        message: error.to_string(),
        line: None,
        column: None,
    })
}

/// Writes a stream of objects, each as `kubectl get -o yaml` does.
pub fn stream<'o>(objects: impl IntoIterator<Item = &'o Value>) -> String {
    // JSON is YAML, too, and can represent everything.
    let text = |object: &Value| encode(object).unwrap_or_else(|_| format!("{object}\n"));
    objects.into_iter().map(text).collect::<Vec<_>>().join("---\n")
}

pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            Value::Object(fields.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        other => other.clone(),
    }
}

/// Serializes the numbers of a value as numbers.
///
/// With `arbitrary_precision`, which starlark enables for the whole program, serde_json does so only for JSON.
struct Plain<'v>(&'v Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => match (number.as_i64(), number.to_string().parse::<i128>()) {
                (Some(number), _) => serializer.serialize_i64(number),
                (None, Ok(number)) => serializer.serialize_i128(number),
                (None, Err(_)) => serializer.serialize_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::Array(items) => serializer.collect_seq(items.iter().map(Plain)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(key, value)| (key, Plain(value))))
            }
            // A block scalar could not be parsed: the tab looks like indentation.
            Value::String(text) if text.contains('\n') && text.trim_start_matches('\n').starts_with('\t') => {
                DoubleQuoted(text).serialize(serializer)
            }
            other => other.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_are_parsed_as_in_kubernetes() {
        let cases = [
            ("a: yes\nb: off\nc: 'yes'", json!({"a": true, "b": false, "c": "yes"})),
            ("mode: 0755\nplain: 755", json!({"mode": 493, "plain": 755})),
            ("a: 1\na: 2", json!({"a": 2})),
            ("z: 1\na: 2", json!({"z": 1, "a": 2})),
            (
                "base: &b {x: 1}\nother:\n  <<: *b\n  z: 2",
                json!({"base": {"x": 1}, "other": {"x": 1, "z": 2}}),
            ),
            ("v: 1.10\nw: 1e3\nx: ~\ns: 1.2.3", json!({"v": 1.1, "w": 1000, "x": null, "s": "1.2.3"})),
            ("big: 12345678901234567890", json!({"big": 12345678901234567890.0})),
        ];
        for (text, expected) in cases {
            assert_eq!(document(text).as_ref(), Ok(&expected), "{text}");
        }
        let keys: Vec<_> = document("z: 1\na: 2").unwrap().as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["z", "a"]);
    }

    #[test]
    fn documents_and_lists_are_split() {
        let text = "---\n# nothing\n---\nkind: List\nitems:\n- kind: A\n- kind: BList\n  items: [{kind: B}]\n---\nkind: C\nitems: 3\n";
        assert_eq!(
            objects(text),
            Ok(vec![
                (4, json!({"kind": "A"})),
                (4, json!({"kind": "B"})),
                (10, json!({"kind": "C", "items": 3}))
            ])
        );
        assert_eq!(documents(""), Ok(vec![]));
    }

    #[test]
    fn thousands_of_documents_are_parsed() {
        let text = "a: 1\n---\n".repeat(5_000);
        assert_eq!(documents(&text).map(|documents| documents.len()), Ok(5_000));
    }

    #[test]
    fn errors_have_a_location() {
        let error = documents("a: 1\n---\nb: [1, 2\nc: 3\n").unwrap_err();
        assert!(error.line.is_some_and(|line| (3..=5).contains(&line)), "{error:?}");
        assert!(!error.message.is_empty());
    }

    #[test]
    fn texts_that_begin_with_a_tab_can_be_parsed_again() {
        for text in ["\t%YAML 1.2\n", "\n\n\tx\ny", "\tx", " \tx\ny", "x\n\ty\n"] {
            let value = json!({"a": [text]});
            let written = encode(&value).unwrap();
            assert_eq!(document(&written), Ok(value), "{written}");
        }
    }

    #[test]
    fn written_documents_can_be_parsed_again() {
        let value =
            json!({"b": ["yes", "1", 1, null, true, "a: b", "x\ny\n"], "a": {"empty": {}, "none": []}});
        let text = encode(&value).unwrap();
        assert!(text.starts_with("a:"), "{text}");
        assert_eq!(document(&text), Ok(value));
    }

    #[test]
    fn documents_know_their_lines() {
        let text = "# a comment\n---\n\nkind: A\n---\n# nothing\n---\nkind: B\nx: |\n  text\n--- {kind: C}\n";
        let lines: Vec<u32> = objects(text).expect("it is YAML").into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [4, 8, 11]);
    }
}
