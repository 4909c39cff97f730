//! Validates documents against the fields and types of a kind.

use serde_json::{Map, Value};

use super::kinds::{Field, Kind, Type, kinds};

/// A validation error of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field, such as `spec.inputs[0].name`.
    pub path: String,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The field does not exist.
    Unknown,
    /// The value has the wrong type: the expected and the actual type.
    Type { wanted: &'static str, found: &'static str },
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.fault {
            Fault::Unknown => write!(f, "unknown field {:?}", self.path),
            Fault::Type { wanted, found } => write!(f, "{}: {wanted} wanted, {found} found", self.path),
        }
    }
}

/// Returns all validation errors of an object of a kind.
pub fn check(kind: &Kind, object: &Value) -> Vec<Violation> {
    let mut check = Check { violations: Vec::new() };
    let Value::Object(members) = object else {
        check.report("", Fault::Type { wanted: "an object", found: name_of(object) });
        return check.violations;
    };
    for (name, value) in members {
        match name.as_str() {
            "apiVersion" | "kind" => check.value(name, &Type::Text, value),
            "metadata" => check.value(name, &Type::Part("ObjectMeta"), value),
            name => check.field(name, name, &kind.fields, value),
        }
    }
    check.violations
}

/// Removes unknown fields.
pub fn prune(kind: &Kind, object: &mut Value) {
    let Value::Object(members) = object else { return };
    members.retain(|name, value| match name.as_str() {
        "apiVersion" | "kind" => true,
        "metadata" => {
            prune_value(&Type::Part("ObjectMeta"), value);
            true
        }
        name => prune_field(&kind.fields, name, value),
    });
}

fn prune_field(fields: &[Field], name: &str, value: &mut Value) -> bool {
    let Some(field) = fields.iter().find(|field| field.name == name) else { return false };
    prune_value(&field.of, value);
    true
}

fn prune_value(of: &Type, value: &mut Value) {
    match (of, value) {
        (Type::List(inner), Value::Array(items)) => {
            items.iter_mut().for_each(|item| prune_value(inner, item));
        }
        (Type::Part(part), Value::Object(members)) => {
            members.retain(|name, value| prune_field(kinds().part(part), name, value));
        }
        _ => {}
    }
}

/// Adds missing required fields with empty values to a part of an object (`spec` or `status`).
pub fn complete(part: &str, value: &mut Map<String, Value>) {
    for field in kinds().part(part) {
        match value.get_mut(field.name) {
            Some(found) => complete_value(&field.of, found),
            None if field.required => {
                let mut empty = empty(&field.of);
                complete_value(&field.of, &mut empty);
                value.insert(field.name.to_owned(), empty);
            }
            None => {}
        }
    }
}

fn complete_value(of: &Type, value: &mut Value) {
    match (of, value) {
        (Type::List(inner), Value::Array(items)) => {
            items.iter_mut().for_each(|item| complete_value(inner, item));
        }
        (Type::Part(part), Value::Object(members)) => complete(part, members),
        _ => {}
    }
}

fn empty(of: &Type) -> Value {
    match of {
        Type::Text | Type::Duration => Value::String(String::new()),
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 => Value::from(0),
        Type::Time | Type::MicroTime | Type::Any => Value::Null,
        Type::Map | Type::Part(_) => Value::Object(Map::new()),
        Type::List(_) => Value::Array(Vec::new()),
    }
}

struct Check {
    violations: Vec<Violation>,
}

impl Check {
    fn report(&mut self, path: &str, fault: Fault) {
        self.violations.push(Violation { path: path.to_owned(), fault });
    }

    fn field(&mut self, path: &str, name: &str, fields: &[Field], value: &Value) {
        match fields.iter().find(|field| field.name == name) {
            Some(field) => self.value(path, &field.of, value),
            None => self.report(path, Fault::Unknown),
        }
    }

    fn value(&mut self, path: &str, of: &Type, value: &Value) {
        match (of, value) {
            // Null means absent.
            (_, Value::Null) | (Type::Any, _) => {}
            (Type::List(inner), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(&format!("{path}[{index}]"), inner, item);
                }
            }
            (Type::Part(part), Value::Object(members)) => {
                for (name, value) in members {
                    self.field(&format!("{path}.{name}"), name, kinds().part(part), value);
                }
            }
            (Type::Map, Value::Object(members)) => {
                for (name, value) in members {
                    self.value(&format!("{path}.{name}"), &Type::Text, value);
                }
            }
            _ if is_plain(of, value) => {}
            _ => self.report(path, Fault::Type { wanted: wanted(of), found: name_of(value) }),
        }
    }
}

fn is_plain(of: &Type, value: &Value) -> bool {
    match of {
        Type::Text => value.is_string(),
        Type::Duration => value.as_str().is_some_and(|text| lilt_model::duration::parse(text).is_ok()),
        Type::Time | Type::MicroTime => {
            value.as_str().is_some_and(|text| lilt_model::Timestamp::from_rfc3339(text).is_some())
        }
        Type::Bool => value.is_boolean(),
        Type::Int32 => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Type::Int64 => value.as_i64().is_some(),
        Type::Map | Type::Any | Type::List(_) | Type::Part(_) => false,
    }
}

fn wanted(of: &Type) -> &'static str {
    match of {
        Type::Text => "a string",
        Type::Bool => "a boolean",
        Type::Int32 | Type::Int64 => "an integer",
        Type::Time | Type::MicroTime => "a time such as 2006-01-02T15:04:05Z",
        Type::Duration => "a duration such as 1m30s",
        Type::Map => "an object of strings",
        Type::Any => "anything",
        Type::List(_) => "a list",
        Type::Part(_) => "an object",
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(kind: &str, object: &Value) -> Vec<String> {
        let kind = kinds().named(kind).expect("a kind");
        check(kind, object).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_every_wrong_field() {
        let object = json!({
            "apiVersion": "tilt.dev/v1alpha1", "kind": "UIButton", "extra": 1,
            "metadata": {"name": "b", "labels": {"a": 1}, "colour": "red"},
            "spec": {"text": 3, "location": {"componentID": "x"}, "inputs": [{"name": "n"}, {"nam": "n"}, 7]},
            "status": {"lastClickedAt": "yesterday"},
        });
        assert_eq!(
            violations("UIButton", &object),
            [
                "unknown field \"extra\"",
                "metadata.labels.a: a string wanted, a number found",
                "unknown field \"metadata.colour\"",
                "spec.text: a string wanted, a number found",
                "unknown field \"spec.inputs[1].nam\"",
                "spec.inputs[2]: an object wanted, a number found",
                "status.lastClickedAt: a time such as 2006-01-02T15:04:05Z wanted, a string found",
            ]
        );
        assert_eq!(violations("Cmd", &json!([])), [": an object wanted, a list found"]);
    }

    #[test]
    fn takes_out_what_is_unknown_and_adds_what_must_be_there() {
        let kind = kinds().named("UIButton").expect("a kind");
        let mut object = json!({"kind": "UIButton", "metadata": {"name": "b", "x": 1}, "spec": {"inputs": [{"y": 1}]}, "z": 1});
        prune(kind, &mut object);
        assert_eq!(object, json!({"kind": "UIButton", "metadata": {"name": "b"}, "spec": {"inputs": [{}]}}));
        let spec = object["spec"].as_object_mut().expect("an object");
        complete("UIButtonSpec", spec);
        let wanted = json!({
            "inputs": [{"name": ""}], "text": "", "location": {"componentID": "", "componentType": ""},
        });
        assert_eq!(object["spec"], wanted);
    }
}
