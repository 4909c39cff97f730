//! Changing a part of an object.

use serde_json::{Map, Value};

use super::status_error::StatusError;

/// How a patch describes a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchType {
    pub(crate) fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Some(PatchType::Json),
            "application/merge-patch+json" => Some(PatchType::Merge),
            "application/strategic-merge-patch+json" => Some(PatchType::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+json" => Some(PatchType::Apply),
            _ => None,
        }
    }
}

/// Returns the object with a patch applied. Not for [`PatchType::Apply`], which depends on the owners of fields.
pub(crate) fn apply_patch(patch_type: PatchType, object: &Value, patch: Value) -> Result<Value, StatusError> {
    let mut object = object.clone();
    match patch_type {
        PatchType::Json => {
            let invalid = |error: &dyn std::fmt::Display| {
                StatusError::bad_request(format!("the patch cannot be made: {error}"))
            };
            let steps: json_patch::Patch = serde_json::from_value(patch).map_err(|error| invalid(&error))?;
            json_patch::patch(&mut object, &steps).map_err(|error| invalid(&error))?;
        }
        PatchType::Merge => json_patch::merge(&mut object, &patch),
        PatchType::Strategic | PatchType::Apply => merge(&mut object, patch),
    }
    Ok(object)
}

/// Kubernetes' own merge for types without merge keys: objects by member, lists as a whole, `$patch` directives.
fn merge(target: &mut Value, change: Value) {
    let Value::Object(mut change) = change else {
        *target = change;
        return;
    };
    match change.remove("$patch").as_ref().and_then(Value::as_str) {
        Some("replace") => {
            *target = Value::Object(change);
            return;
        }
        Some("delete") => {
            *target = Value::Null;
            return;
        }
        _ => {}
    }
    let retained = change.remove("$retainKeys");
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else { return };
    if let Some(Value::Array(keys)) = retained {
        members.retain(|name, _| keys.iter().any(|key| key.as_str() == Some(name)));
    }
    for (name, value) in change {
        if value.is_null() {
            members.remove(&name);
            continue;
        }
        merge(members.entry(name.clone()).or_insert(Value::Null), value);
        if members.get(&name).is_some_and(Value::is_null) {
            members.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(form: PatchType, change: Value) -> Value {
        let object = json!({"spec": {"a": 1, "list": [1, 2], "map": {"x": "1", "y": "2"}}});
        apply_patch(form, &object, change).expect("a patch")["spec"].clone()
    }

    #[test]
    fn every_form_changes_what_it_names() {
        let steps = json!([{"op": "replace", "path": "/spec/a", "value": 2}, {"op": "remove", "path": "/spec/map/x"}]);
        assert_eq!(after(PatchType::Json, steps), json!({"a": 2, "list": [1, 2], "map": {"y": "2"}}));
        let change = json!({"spec": {"a": null, "list": [3], "map": {"z": "3"}}});
        let wanted = json!({"list": [3], "map": {"x": "1", "y": "2", "z": "3"}});
        assert_eq!(after(PatchType::Merge, change.clone()), wanted);
        assert_eq!(after(PatchType::Strategic, change), wanted);
        let change = json!({"spec": {"map": {"$patch": "replace", "z": "3"}}});
        assert_eq!(after(PatchType::Strategic, change)["map"], json!({"z": "3"}));
        let change = json!({"spec": {"map": {"$patch": "delete"}}});
        assert_eq!(after(PatchType::Strategic, change), json!({"a": 1, "list": [1, 2]}));
    }

    #[test]
    fn steps_that_do_not_fit_are_refused() {
        let steps = json!([{"op": "test", "path": "/spec/a", "value": 5}]);
        assert!(apply_patch(PatchType::Json, &json!({"spec": {"a": 1}}), steps).is_err());
        assert!(apply_patch(PatchType::Json, &json!({}), json!({"spec": 1})).is_err());
    }
}
