//! What may be written of objects that lilt itself keeps: people's labels and annotations, and the few fields that mean
//! something when they are written.

use lilt_api::{Notes, Object};
use lilt_engine::parse_bool;
use lilt_store::{Key, Refusal};
use serde_json::{Map, Value};

/// Prefixes of annotations and labels that are ours to write.
const OURS: [&str; 2] = ["lilt.dev/", "tilt.dev/"];

/// What a write comes to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Written {
    pub(super) notes: Notes,
    /// It asks for something: a switch, a click, other arguments.
    pub(super) acts: bool,
}

pub(super) fn written(key: &Key, before: &Object, wanted: &Object) -> Result<Written, Refusal> {
    let mut notes = Notes::between(before, wanted);
    refuse_ours(&notes)?;
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
    let acts = match key.kind {
        "ConfigMap" => switches(before, wanted, &mut notes)?,
        "Tiltfile" if before.text("/spec/path") != wanted.text("/spec/path") => {
            return Err(forbidden("the Tiltfile of a session stays where it is"));
        }
        "Tiltfile" if part("status") => return Err(forbidden("lilt itself says what becomes of a Tiltfile")),
        "Tiltfile" => part("spec"),
        "UIButton" if part("spec") => {
            return Err(forbidden("lilt itself keeps this button: it can be clicked, and not be changed"));
        }
        "UIButton" => part("status"),
        _ if part("spec") || part("status") => {
            return Err(forbidden(
                "lilt itself keeps this object: its labels and annotations can be changed",
            ));
        }
        _ => false,
    };
    Ok(Written { notes, acts })
}

fn forbidden(why: &str) -> Refusal {
    Refusal::Forbidden(why.to_owned())
}

/// What lilt says about an object is not to be overwritten.
fn refuse_ours(notes: &Notes) -> Result<(), Refusal> {
    let mut names = notes.labels.keys().chain(notes.annotations.keys());
    match names.find(|name| OURS.iter().any(|prefix| name.starts_with(prefix))) {
        Some(name) => Err(Refusal::Forbidden(format!("lilt itself keeps {name} of this object"))),
        None => Ok(()),
    }
}

/// Whether the value that switches a resource is another one. What it says must be one of two things.
fn switches(before: &Object, wanted: &Object, notes: &mut Notes) -> Result<bool, Refusal> {
    const SWITCH: &str = "/data/isDisabled";
    let said = wanted.text(SWITCH);
    let Some(is_disabled) = parse_bool(said) else {
        let why = "must be \"true\" or \"false\": it switches the resource off and on".to_owned();
        return Err(Refusal::Invalid { field: "data.isDisabled", value: said.to_owned(), why });
    };
    // It is the resource that says so; a word of one's own for it is a note.
    if matches!(said, "true" | "false") {
        notes.data.insert("isDisabled".to_owned(), None);
    }
    Ok(parse_bool(before.text(SWITCH)) != Some(is_disabled))
}

/// Whether two values say the same: what is empty is as good as not there.
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

    fn write(kind: &'static str, before: Value, wanted: Value) -> Result<Written, Refusal> {
        written(&Key::new(kind, "x"), &Object::read(before), &Object::read(wanted))
    }

    #[test]
    fn people_note_what_they_like_and_change_nothing_else() {
        let before = json!({"metadata": {"name": "x"}, "spec": {}, "status": {"order": 1}});
        let labelled = json!({"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {}, "status": {"order": 1, "queued": false}});
        let found = write("UIResource", before.clone(), labelled).expect("it may be");
        assert_eq!((found.acts, found.notes.labels.len()), (false, 1));
        let refused = [
            json!({"metadata": {"name": "x"}, "status": {"order": 2}}),
            json!({"metadata": {"name": "x", "annotations": {"lilt.dev/hold": "no"}}, "status": {"order": 1}}),
            json!({"metadata": {"name": "x", "finalizers": ["mine"]}, "status": {"order": 1}}),
        ];
        for wanted in refused {
            let found = write("UIResource", before.clone(), wanted.clone());
            assert!(matches!(found, Err(Refusal::Forbidden(_))), "{wanted}: {found:?}");
        }
    }

    #[test]
    fn a_switch_says_one_of_two_things_and_may_have_company() {
        let map = |data: Value| json!({"metadata": {"name": "web-disable"}, "data": data});
        let before = map(json!({"isDisabled": "false"}));
        let found =
            write("ConfigMap", before.clone(), map(json!({"isDisabled": "1", "more": "x"}))).expect("one");
        assert!(found.acts && found.notes.data.len() == 2);
        let found = write("ConfigMap", before.clone(), map(json!({"isDisabled": "0"}))).expect("one");
        assert!(!found.acts);
        for data in [json!({}), json!({"isDisabled": "maybe"})] {
            let found = write("ConfigMap", before.clone(), map(data));
            assert!(matches!(found, Err(Refusal::Invalid { .. })), "{found:?}");
        }
    }
}
