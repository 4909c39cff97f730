//! Server-side apply: who set which field is remembered, so that a field that its owner no longer names goes away and
//! two owners do not silently overwrite one another.

use std::collections::BTreeSet;

use lilt_model::Timestamp;
use serde_json::{Map, Value, json};

use super::failure::Failure;

/// A field: names on the way to it. Lists are one field.
type Path = Vec<String>;

/// Members that belong to the server or tell what the object is; nobody owns them.
const NOBODYS: [&[&str]; 8] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "creationTimestamp"],
    &["metadata", "managedFields"],
    &["metadata", "generateName"],
];

/// The object after a manager applied its configuration. `Err` tells which fields belong to others.
pub(crate) fn applied(
    object: &Value,
    configuration: &Value,
    manager: &str,
    force: bool,
    now: Timestamp,
) -> Result<Value, Conflicts> {
    let mut object = object.clone();
    let wanted = fields(configuration);
    let mut owners = Owners::read(&object);
    let conflicts = owners.others(manager, &wanted, &object, configuration);
    if !conflicts.is_empty() && !force {
        return Err(Conflicts(conflicts));
    }
    for (other, path) in &conflicts {
        owners.disown(other, path);
    }
    for path in owners.owned(manager).difference(&wanted) {
        if !owners.is_shared(manager, path) {
            remove(&mut object, path);
        }
    }
    for path in &wanted {
        if let Some(value) = at(configuration, path) {
            set(&mut object, path, value.clone());
        }
    }
    owners.set(manager, wanted, now);
    owners.write(&mut object);
    Ok(object)
}

/// Fields that others own with another value: the owner and the field.
#[derive(Debug)]
pub(crate) struct Conflicts(Vec<(String, Path)>);

impl Conflicts {
    pub(crate) fn words(&self) -> String {
        let each = self.0.iter().map(|(owner, path)| format!("conflict with {owner:?}: .{}", path.join(".")));
        format!("Apply failed with {} conflict(s): {}", self.0.len(), each.collect::<Vec<_>>().join(", "))
    }
}

/// What an object says about who owns what.
struct Owners(Vec<Owner>);

struct Owner {
    manager: String,
    fields: BTreeSet<Path>,
    time: Value,
}

impl Owners {
    fn read(object: &Value) -> Self {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let owners = entries.into_iter().flatten().map(|entry| {
            let mut fields = BTreeSet::new();
            decode(&entry["fieldsV1"], &mut Vec::new(), &mut fields);
            let manager = entry["manager"].as_str().unwrap_or_default().to_owned();
            Owner { manager, fields, time: entry["time"].clone() }
        });
        Self(owners.collect())
    }

    fn owned(&self, manager: &str) -> BTreeSet<Path> {
        self.0
            .iter()
            .filter(|owner| owner.manager == manager)
            .flat_map(|owner| owner.fields.clone())
            .collect()
    }

    fn is_shared(&self, manager: &str, path: &Path) -> bool {
        self.0.iter().any(|owner| owner.manager != manager && owner.fields.contains(path))
    }

    fn others(
        &self,
        manager: &str,
        wanted: &BTreeSet<Path>,
        object: &Value,
        configuration: &Value,
    ) -> Vec<(String, Path)> {
        let others = self.0.iter().filter(|owner| owner.manager != manager);
        others
            .flat_map(|owner| {
                owner.fields.intersection(wanted).map(|path| (owner.manager.clone(), path.clone()))
            })
            .filter(|(_, path)| at(object, path) != at(configuration, path))
            .collect()
    }

    fn disown(&mut self, manager: &str, path: &Path) {
        for owner in self.0.iter_mut().filter(|owner| owner.manager == manager) {
            owner.fields.remove(path);
        }
    }

    fn set(&mut self, manager: &str, fields: BTreeSet<Path>, now: Timestamp) {
        // Who applies the same again has changed nothing.
        if self.0.iter().any(|owner| owner.manager == manager && owner.fields == fields) {
            return self.0.retain(|owner| !owner.fields.is_empty());
        }
        self.0.retain(|owner| owner.manager != manager && !owner.fields.is_empty());
        self.0.push(Owner { manager: manager.to_owned(), fields, time: json!(now.whole_seconds()) });
    }

    fn write(&self, object: &mut Value) {
        let entries: Vec<Value> = self.0.iter().map(Owner::to_json).collect();
        object["metadata"]["managedFields"] = Value::Array(entries);
    }
}

impl Owner {
    fn to_json(&self) -> Value {
        let mut tree = Value::Object(Map::new());
        for path in &self.fields {
            let mut place = &mut tree;
            for name in path {
                place = &mut place[format!("f:{name}")];
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
            }
        }
        json!({
            "manager": self.manager, "operation": "Apply", "apiVersion": "tilt.dev/v1alpha1", "time": self.time,
            "fieldsType": "FieldsV1", "fieldsV1": tree,
        })
    }
}

fn decode(tree: &Value, path: &mut Path, fields: &mut BTreeSet<Path>) {
    let members = tree.as_object().filter(|members| members.keys().any(|name| name.starts_with("f:")));
    let Some(members) = members else {
        if !path.is_empty() {
            fields.insert(path.clone());
        }
        return;
    };
    for (name, inner) in members {
        if let Some(name) = name.strip_prefix("f:") {
            path.push(name.to_owned());
            decode(inner, path, fields);
            path.pop();
        }
    }
}

/// The fields that a configuration names.
fn fields(configuration: &Value) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    collect(configuration, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, path: &mut Path, found: &mut BTreeSet<Path>) {
    if NOBODYS.iter().any(|nobodys| path.iter().eq(nobodys.iter())) {
        return;
    }
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                path.push(name.clone());
                collect(value, path, found);
                path.pop();
            }
        }
        _ if path.is_empty() => {}
        _ => {
            found.insert(path.clone());
        }
    }
}

fn at<'v>(value: &'v Value, path: &Path) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn set(object: &mut Value, path: &Path, value: Value) {
    let mut place = object;
    for name in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[name.as_str()];
    }
    *place = value;
}

fn remove(object: &mut Value, path: &Path) {
    let Some((last, way)) = path.split_last() else { return };
    let parent = way.iter().try_fold(object, |value, name| value.get_mut(name));
    if let Some(Value::Object(members)) = parent {
        members.remove(last);
    }
}

/// The manager that a request names.
pub(crate) fn manager(given: Option<&str>) -> Result<String, Failure> {
    let missing = || Failure::bad_request("fieldManager is required for apply patch");
    given.filter(|name| !name.is_empty()).map(str::to_owned).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(object: &Value, manager: &str, configuration: Value, force: bool) -> Result<Value, String> {
        applied(object, &configuration, manager, force, Timestamp::ZERO)
            .map_err(|conflicts| conflicts.words())
    }

    #[test]
    fn what_its_owner_no_longer_names_goes_away() {
        let empty = json!({"kind": "ConfigMap", "metadata": {"name": "c"}});
        let one = apply(
            &empty,
            "me",
            json!({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}}),
            false,
        );
        let one = one.expect("no conflict");
        assert_eq!(one["data"], json!({"a": "1", "b": "2"}));
        let two = apply(&one, "me", json!({"metadata": {"name": "c"}, "data": {"a": "3"}}), false)
            .expect("no conflict");
        assert_eq!(two["data"], json!({"a": "3"}));
    }

    #[test]
    fn owners_do_not_overwrite_one_another() {
        let object = json!({"metadata": {"name": "c"}, "data": {}});
        let mine = apply(&object, "me", json!({"data": {"a": "1"}}), false).expect("no conflict");
        let refused = apply(&mine, "you", json!({"data": {"a": "2", "b": "2"}}), false);
        assert_eq!(refused, Err("Apply failed with 1 conflict(s): conflict with \"me\": .data.a".to_owned()));
        let same =
            apply(&mine, "you", json!({"data": {"a": "1"}}), false).expect("the same value is no conflict");
        let shared = apply(&same, "me", json!({"data": {"z": "9"}}), false).expect("no conflict");
        assert_eq!(shared["data"], json!({"a": "1", "z": "9"}), "it is yours too");
        let forced = apply(&mine, "you", json!({"data": {"a": "2"}}), true).expect("forced");
        assert_eq!(forced["data"], json!({"a": "2"}));
        let mine_again = apply(&forced, "me", json!({"data": {"b": "1"}}), false).expect("no conflict");
        assert_eq!(mine_again["data"], json!({"a": "2", "b": "1"}), "what was taken is not removed");
    }
}
