//! The conditions of `lilt wait --for`.

use lilt_model::json_path::JsonPath;
use serde_json::Value;

use crate::printers::parse_relaxed_path;
use crate::problem::Problem;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    Created,
    Deleted,
    /// A condition of the status: its type and value.
    Status(String, String),
    /// A JSON path and its wanted value; `None` accepts any value.
    Path(JsonPath, Option<String>),
}

impl Condition {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        match text.to_ascii_lowercase().as_str() {
            "create" => return Ok(Condition::Created),
            "delete" => return Ok(Condition::Deleted),
            _ => {}
        }
        if let Some(rest) = text.strip_prefix("condition=") {
            let (name, value) = rest.split_once('=').unwrap_or((rest, "true"));
            return Ok(Condition::Status(name.to_owned(), value.to_owned()));
        }
        match text.strip_prefix("jsonpath=") {
            Some(rest) => path(rest),
            None => Err(Problem::message(format!("unrecognized condition: {text:?}"))),
        }
    }

    /// Returns whether it holds for an object; `None` is an object that does not exist.
    pub(super) fn holds(&self, object: Option<&Value>) -> Result<bool, Problem> {
        let Some(object) = object else { return Ok(*self == Condition::Deleted) };
        match self {
            Condition::Created => Ok(true),
            Condition::Deleted => Ok(false),
            Condition::Status(name, value) => Ok(has_status(object, name, value)),
            Condition::Path(path, wanted) => {
                let found = path.values(object, true).map_err(Problem::message)?;
                match (found.as_slice(), wanted) {
                    ([], _) => Ok(false),
                    (_, None) => Ok(true),
                    ([one], Some(wanted)) => has_value(one, wanted),
                    _ => Err(Problem::message("given jsonpath expression matches more than one value")),
                }
            }
        }
    }
}

fn has_status(object: &Value, name: &str, value: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let said = |condition: &Value, field: &str, wanted: &str| {
        condition.get(field).and_then(Value::as_str).is_some_and(|text| text.eq_ignore_ascii_case(wanted))
    };
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| said(condition, "type", name) && said(condition, "status", value))
}

fn has_value(found: &Value, wanted: &str) -> Result<bool, Problem> {
    match found {
        Value::Array(_) | Value::Object(_) => {
            Err(Problem::message("jsonpath leads to a nested object or list which is not supported"))
        }
        Value::String(text) => Ok(text == wanted),
        plain => {
            let text = plain.to_string();
            Ok(text == wanted)
        }
    }
}

/// Parses `{.a.b}=value`; `==` belongs to the path.
fn path(text: &str) -> Result<Condition, Problem> {
    let form = "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'";
    let parts = parts(text);
    let (path, value) = match parts.as_slice() {
        [path] => (path, None),
        [path, value] => (path, Some(value.trim_matches(['\'', '"']))),
        _ => return Err(Problem::message(form)),
    };
    if value == Some("") {
        return Err(Problem::message(
            "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
        ));
    }
    Ok(Condition::Path(parse_relaxed_path(path)?, value.map(str::to_owned)))
}

/// Splits at each single `=`.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = parts.last_mut().expect("invariant: there is one from the beginning");
        if letter == '=' && letters.next_if_eq(&'=').is_some() {
            last.push_str("==");
        } else if letter == '=' {
            parts.push(String::new());
        } else {
            last.push(letter);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(text: &str) -> Result<bool, String> {
        let object = json!({
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "UpToDate", "status": "False"}],
                       "exit": 0, "word": "done"},
        });
        let condition = Condition::read(text).map_err(|problem| problem.to_string())?;
        condition.holds(Some(&object)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn conditions_are_parsed_like_kubectl() {
        for text in [
            "condition=Ready",
            "condition=ready=TRUE",
            "condition=UpToDate=false",
            "create",
            "jsonpath={.status.exit}=0",
            "jsonpath='.status.word'=done".trim_matches('\''),
            "jsonpath={.status.word}",
            "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}=True",
        ] {
            let text = text.replace('\'', "");
            assert_eq!(holds(&text), Ok(true), "{text}");
        }
        for text in [
            "condition=UpToDate",
            "condition=Absent",
            "DELETE",
            "jsonpath={.absent}",
            "jsonpath={.status.exit}=1",
        ] {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
        assert_eq!(Condition::Deleted.holds(None).ok(), Some(true));
        assert_eq!(Condition::Created.holds(None).ok(), Some(false));
    }

    #[test]
    fn invalid_conditions_are_refused() {
        for text in ["ready", "jsonpath={.a}=", "jsonpath={.a}=b=c", "jsonpath={.status}=x", "jsonpath={.a"] {
            assert!(holds(text).is_err(), "{text}");
        }
    }
}
