//! Computes merge patches.

use serde_json::{Map, Value};

/// Returns the merge patch between two values. Lists are replaced as a whole.
pub(crate) fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        match before.get(name) {
            Some(old) if old == value => {}
            Some(old @ Value::Object(_)) if value.is_object() => {
                patch.insert(name.clone(), difference(old, value));
            }
            _ => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

/// Returns the three-way merge patch: fields that were applied before and are no longer wanted are deleted, fields that
/// others added are kept.
pub(crate) fn three_way(applied: &Value, wanted: &Value, current: &Value) -> Value {
    let mut patch = keep(difference(current, wanted), Half::Additions);
    let deletions = keep(difference(applied, wanted), Half::Deletions);
    join(&mut patch, deletions, current);
    patch
}

/// Returns the fields that others changed since they were applied, and that the apply would overwrite.
pub(crate) fn conflicts(applied: &Value, wanted: &Value, current: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(applied, wanted, current, "", &mut found);
    found
}

fn collect(applied: &Value, wanted: &Value, current: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Object(members) = applied else { return };
    for (name, old) in members {
        let path = format!("{path}.{name}");
        let (new, now) = (wanted.get(name), current.get(name));
        if let (Some(new @ Value::Object(_)), Some(now @ Value::Object(_))) = (new, now) {
            collect(old, new, now, &path, found);
        } else if new != Some(old) && now != Some(old) && new != now {
            found.push(path);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Additions,
    Deletions,
}

fn keep(patch: Value, half: Half) -> Value {
    let Value::Object(members) = patch else { return patch };
    let kept = members.into_iter().filter_map(|(name, value)| match value {
        Value::Null => (half == Half::Deletions).then_some((name, Value::Null)),
        Value::Object(_) => {
            let inner = keep(value, half);
            let is_empty = inner.as_object().is_some_and(Map::is_empty);
            (!is_empty || half == Half::Additions).then_some((name, inner))
        }
        other => (half == Half::Additions).then_some((name, other)),
    });
    Value::Object(kept.collect())
}

/// Adds the deletions of fields that exist.
fn join(patch: &mut Value, deletions: Value, current: &Value) {
    let (Value::Object(members), Value::Object(deletions)) = (patch, deletions) else { return };
    for (name, value) in deletions {
        let Some(there) = current.get(&name) else { continue };
        match members.get_mut(&name) {
            Some(known) if value.is_object() => join(known, value, there),
            Some(_) => {}
            None if value.is_object() => {
                let mut inner = Value::Object(Map::new());
                join(&mut inner, value, there);
                if inner.as_object().is_some_and(|inner| !inner.is_empty()) {
                    members.insert(name, inner);
                }
            }
            None => drop(members.insert(name, value)),
        }
    }
}

/// Returns whether a patch changes an object.
pub(crate) fn changes(patch: &Value, object: &Value) -> bool {
    let mut after = object.clone();
    json_patch::merge(&mut after, patch);
    after != *object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn difference_patches_one_value_into_the_other() {
        let from = json!({"a": 1, "b": {"c": 1, "d": 2}, "list": [1]});
        let to = json!({"b": {"c": 1, "d": 3}, "list": [2], "e": 5});
        let patch = difference(&from, &to);
        assert_eq!(patch, json!({"a": null, "b": {"d": 3}, "list": [2], "e": 5}));
        let mut after = from;
        json_patch::merge(&mut after, &patch);
        assert_eq!(after, to);
    }

    #[test]
    fn three_way_keeps_others_fields_and_deletes_removed_ones() {
        let applied = json!({"spec": {"a": 1, "b": 2}, "labels": {"x": "1"}});
        let wanted = json!({"spec": {"a": 5}});
        let current = json!({"spec": {"a": 1, "b": 2, "theirs": 3}, "labels": {"x": "1"}, "status": {}});
        let patch = three_way(&applied, &wanted, &current);
        assert_eq!(patch, json!({"spec": {"a": 5, "b": null}, "labels": null}));
        assert!(changes(&patch, &current));
        let deleted = json!({"spec": {"a": 5, "theirs": 3}, "status": {}});
        let nothing = three_way(&applied, &wanted, &deleted);
        assert!(!changes(&nothing, &deleted), "what is gone needs no deletion: {nothing}");
    }

    #[test]
    fn conflicts_lists_changes_of_others() {
        let applied = json!({"spec": {"a": 1, "b": 1}});
        let wanted = json!({"spec": {"a": 2, "b": 1}});
        assert_eq!(conflicts(&applied, &wanted, &json!({"spec": {"a": 3, "b": 9}})), [".spec.a"]);
        assert!(conflicts(&applied, &wanted, &json!({"spec": {"a": 2, "b": 1}})).is_empty());
    }
}
