//! Changes that users make to projected objects. They are applied on top of each projection.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::object::Object;

/// New values by name; `None` means removed.
type Changes = BTreeMap<String, Option<String>>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Changes,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: Changes,
    /// Changes to the data of a `ConfigMap`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: Changes,
    /// The new value of `managedFields`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managers: Option<Value>,
}

impl Notes {
    /// Returns the changes that a write makes to an object.
    pub fn between(before: &Object, wanted: &Object) -> Self {
        let metadata = |field: &str| differences(before.metadata.get(field), wanted.metadata.get(field));
        let managers = wanted.metadata.get("managedFields");
        Self {
            labels: metadata("labels"),
            annotations: metadata("annotations"),
            data: differences(before.content.get("data"), wanted.content.get("data")),
            managers: managers.filter(|now| before.metadata.get("managedFields") != Some(*now)).cloned(),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds later changes, which override earlier ones.
    pub fn add(&mut self, later: Notes) {
        self.labels.extend(later.labels);
        self.annotations.extend(later.annotations);
        self.data.extend(later.data);
        self.managers = later.managers.or(self.managers.take());
    }

    /// Applies the changes to a projected object.
    pub fn show(&self, object: &mut Object) {
        for (field, changes) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            change(&mut object.metadata, field, changes);
        }
        change(&mut object.content, "data", &self.data);
        if let Some(managers) = &self.managers {
            object.metadata.insert("managedFields".to_owned(), managers.clone());
        }
    }
}

/// Applies changes to a map of strings.
pub fn show_in(changes: &BTreeMap<String, Option<String>>, texts: &mut BTreeMap<String, String>) {
    for (name, value) in changes {
        match value {
            Some(value) => texts.insert(name.clone(), value.clone()),
            None => texts.remove(name),
        };
    }
}

fn differences(before: Option<&Value>, wanted: Option<&Value>) -> Changes {
    let texts = |value: Option<&Value>| -> BTreeMap<String, String> {
        let members = value.and_then(Value::as_object).into_iter().flatten();
        members.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    let (before, wanted) = (texts(before), texts(wanted));
    let gone = before.keys().filter(|name| !wanted.contains_key(*name)).map(|name| (name.clone(), None));
    let new = wanted.iter().filter(|(name, value)| before.get(*name) != Some(value));
    gone.chain(new.map(|(name, value)| (name.clone(), Some(value.clone())))).collect()
}

fn change(object: &mut Map<String, Value>, field: &str, changes: &Changes) {
    if changes.is_empty() {
        return;
    }
    let members = object.entry(field).or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(members) = members else { return };
    for (name, value) in changes {
        match value {
            Some(value) => members.insert(name.clone(), Value::from(value.as_str())),
            None => members.remove(name),
        };
    }
    if members.is_empty() {
        object.remove(field);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(metadata: Value) -> Object {
        Object::read(json!({"metadata": metadata, "data": {"isDisabled": "false"}}))
    }

    #[test]
    fn notes_are_added_to_the_projected_object() {
        let before = object(json!({"name": "x", "labels": {"a": "1", "b": "1"}}));
        let wanted =
            object(json!({"name": "x", "labels": {"b": "2", "c": "3"}, "annotations": {"why": "me"}}));
        let mut notes = Notes::between(&before, &wanted);
        assert!(!notes.is_empty() && Notes::between(&before, &before).is_empty());
        let mut projected = object(json!({"name": "x", "labels": {"a": "1", "b": "1", "d": "new"}}));
        notes.show(&mut projected);
        assert_eq!(projected.metadata["labels"], json!({"b": "2", "d": "new", "c": "3"}));
        assert_eq!(projected.metadata["annotations"], json!({"why": "me"}));
        notes.add(Notes::between(&projected, &before));
        let mut projected = before.clone();
        notes.show(&mut projected);
        assert_eq!(projected, before, "all was removed again");
    }
}
