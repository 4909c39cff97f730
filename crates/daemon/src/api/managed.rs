//! Checks writes to objects that lilt manages. Clients may change labels and annotations, and the few fields that request
//! an action.

use lilt_api::{Notes, Object, ObjectKind};
use lilt_engine::parse_bool;
use lilt_store::{Key, Refusal};
use serde_json::{Map, Value};

/// Prefixes of annotations and labels that only lilt writes.
const RESERVED_PREFIXES: [&str; 2] = ["lilt.dev/", "tilt.dev/"];

/// The effect of a write to a managed object.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ManagedWrite {
    pub(super) notes: Notes,
    /// Whether it requests an action: a toggle, a click, other arguments.
    pub(super) is_action: bool,
}

pub(super) fn check(key: &Key, before: &Object, wanted: &Object) -> Result<ManagedWrite, Refusal> {
    let mut notes = Notes::between(before, wanted);
    refuse_reserved(&notes)?;
    let rest = |object: &Object| -> Map<String, Value> {
        let noted = |name: &str| matches!(name, "labels" | "annotations" | "managedFields");
        object
            .metadata
            .iter()
            .filter(|(name, _)| !noted(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    if !is_same(&Value::Object(rest(before)), &Value::Object(rest(wanted))) {
        return Err(forbidden(
            "lilt itself keeps this object: of its metadata, labels and annotations can be changed",
        ));
    }
    let part = |name: &str| {
        let of = |object: &Object| object.content.get(name).cloned().unwrap_or_default();
        !is_same(&of(before), &of(wanted))
    };
    let path = |object: &Object| object.content.get("spec").and_then(|spec| spec.get("path")).cloned();
    let is_action = match key.kind {
        ObjectKind::ConfigMap => is_switched(before, wanted, &mut notes)?,
        ObjectKind::Tiltfile if path(before) != path(wanted) => {
            return Err(forbidden("the Tiltfile of a session stays where it is"));
        }
        ObjectKind::Tiltfile if part("status") => {
            return Err(forbidden("lilt itself says what becomes of a Tiltfile"));
        }
        ObjectKind::Tiltfile => part("spec"),
        ObjectKind::UIButton if part("spec") => {
            return Err(forbidden("lilt itself keeps this button: it can be clicked, and not be changed"));
        }
        ObjectKind::UIButton => part("status"),
        _ if part("spec") || part("status") => {
            return Err(forbidden(
                "lilt itself keeps this object: its labels and annotations can be changed",
            ));
        }
        _ => false,
    };
    Ok(ManagedWrite { notes, is_action })
}

fn forbidden(why: &str) -> Refusal {
    Refusal::Forbidden(why.to_owned())
}

/// Rejects changes of labels and annotations that lilt itself sets.
fn refuse_reserved(notes: &Notes) -> Result<(), Refusal> {
    let mut names = notes.labels.keys().chain(notes.annotations.keys());
    match names.find(|name| RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))) {
        Some(name) => Err(Refusal::Forbidden(format!("lilt itself keeps {name} of this object"))),
        None => Ok(()),
    }
}

/// Returns whether a `ConfigMap` now enables or disables its resource. Its value must be a boolean.
fn is_switched(before: &Object, wanted: &Object, notes: &mut Notes) -> Result<bool, Refusal> {
    let switch = |object: &Object| -> String {
        let data = object.content.get("data").and_then(|data| data.get("isDisabled"));
        data.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let value = switch(wanted);
    let Some(is_disabled) = parse_bool(&value) else {
        let why = "must be \"true\" or \"false\": it switches the resource off and on".to_owned();
        return Err(Refusal::Invalid { field: "data.isDisabled", value, why });
    };
    // These are the spellings that lilt writes itself; other spellings are kept as a note.
    if matches!(value.as_str(), "true" | "false") {
        notes.data.insert("isDisabled".to_owned(), None);
    }
    Ok(parse_bool(&switch(before)) != Some(is_disabled))
}

/// Returns whether two values are equivalent. An empty value is equivalent to an absent one.
fn is_same(before: &Value, wanted: &Value) -> bool {
    match (before, wanted) {
        (Value::Object(before), Value::Object(wanted)) => {
            let none = Value::Null;
            let names = before.keys().chain(wanted.keys());
            let of = |members: &Map<String, Value>, name: &str| members.get(name).unwrap_or(&none).clone();
            names.into_iter().all(|name| is_same(&of(before, name), &of(wanted, name)))
        }
        (Value::Array(before), Value::Array(wanted)) => {
            before.len() == wanted.len()
                && before.iter().zip(wanted).all(|(before, wanted)| is_same(before, wanted))
        }
        (before, wanted) => before == wanted || (is_empty(before) && is_empty(wanted)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(kind: ObjectKind, before: Value, wanted: Value) -> Result<ManagedWrite, Refusal> {
        check(&Key::new(kind, "x"), &Object::read(before), &Object::read(wanted))
    }

    #[test]
    fn managed_object_accepts_only_labels_and_annotations() {
        let before = json!({"metadata": {"name": "x"}, "spec": {}, "status": {"order": 1}});
        let labelled = json!({"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {}, "status": {"order": 1, "queued": false}});
        let found = write(ObjectKind::UIResource, before.clone(), labelled).expect("it may be");
        assert_eq!((found.is_action, found.notes.labels.len()), (false, 1));
        let refused = [
            json!({"metadata": {"name": "x"}, "status": {"order": 2}}),
            json!({"metadata": {"name": "x", "annotations": {"lilt.dev/hold": "no"}}, "status": {"order": 1}}),
            json!({"metadata": {"name": "x", "finalizers": ["mine"]}, "status": {"order": 1}}),
        ];
        for wanted in refused {
            let found = write(ObjectKind::UIResource, before.clone(), wanted.clone());
            assert!(matches!(found, Err(Refusal::Forbidden(_))), "{wanted}: {found:?}");
        }
    }

    #[test]
    fn disable_switch_is_a_boolean_beside_other_data() {
        let map = |data: Value| json!({"metadata": {"name": "web-disable"}, "data": data});
        let before = map(json!({"isDisabled": "false"}));
        let found =
            write(ObjectKind::ConfigMap, before.clone(), map(json!({"isDisabled": "1", "more": "x"})))
                .expect("one");
        assert!(found.is_action && found.notes.data.len() == 2);
        let found =
            write(ObjectKind::ConfigMap, before.clone(), map(json!({"isDisabled": "0"}))).expect("one");
        assert!(!found.is_action);
        for data in [json!({}), json!({"isDisabled": "maybe"})] {
            let found = write(ObjectKind::ConfigMap, before.clone(), map(data));
            assert!(matches!(found, Err(Refusal::Invalid { .. })), "{found:?}");
        }
    }
}
