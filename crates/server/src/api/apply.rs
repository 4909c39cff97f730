//! Server-side apply: which manager owns which field.
//!
//! A field that its owner no longer applies is removed, and two owners do not silently overwrite one another.

use std::collections::BTreeSet;

use lilt_model::Timestamp;
use serde_json::{Map, Value, json};

use super::status_error::StatusError;
use super::write::Half;

/// The names on the path to a field. A list is one field.
type FieldPath = Vec<String>;

/// Fields that the server sets or that identify the object. They have no owner.
const UNOWNED_FIELDS: [&[&str]; 8] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "creationTimestamp"],
    &["metadata", "managedFields"],
    &["metadata", "generateName"],
];

/// Returns the object after a manager applied its configuration, or the fields that belong to other managers.
pub(crate) fn apply_configuration(
    object: &Value,
    configuration: &Value,
    manager: &FieldManager,
    force: bool,
    now: Timestamp,
) -> Result<Value, Conflicts> {
    let mut object = object.clone();
    let wanted = fields(configuration);
    let mut owners = Owners::read(&object);
    let conflicts = owners.conflicts_with(manager, &wanted, &object, configuration);
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

/// Returns the object after a manager wrote it as a whole or patched it: the changed fields belong to that manager now.
pub(crate) fn record_changes(
    before: &Value,
    mut object: Value,
    manager: &FieldManager,
    now: Timestamp,
) -> Value {
    let given = managers(&object).filter(|given| !given.is_empty());
    let known = managers(before);
    let (mut changed, mut removed) = (BTreeSet::new(), BTreeSet::new());
    compare(Some(before), Some(&object), &mut Vec::new(), &mut changed, &mut removed);
    // Empty objects have no owner.
    changed.retain(|path| at(&object, path) != Some(&Value::Object(Map::new())));
    // The usual case: the same manager wrote the same fields before.
    if let Some(known) = known.filter(|known| given.is_none_or(|given| given == *known))
        && removed.is_empty()
        && owns_exactly(known, manager, &changed)
    {
        object["metadata"]["managedFields"] = Value::Array(known.clone());
        return object;
    }
    // Owners that a client sends count, as kubectl needs it to hand fields over. None means no change; an empty list
    // removes all.
    let mut owners = if given.is_some() { Owners::read(&object) } else { Owners::read(before) };
    for owner in &mut owners.0 {
        owner
            .fields
            .retain(|path| !removed.contains(path) && (owner.manager == *manager || !changed.contains(path)));
    }
    changed.extend(owners.owned(manager));
    owners.set(manager, changed, now);
    owners.write(&mut object);
    object
}

fn managers(object: &Value) -> Option<&Vec<Value>> {
    object.pointer("/metadata/managedFields").and_then(Value::as_array)
}

/// Returns whether a manager owns all of these fields, and nobody else any of them.
fn owns_exactly(managers: &[Value], manager: &FieldManager, fields: &BTreeSet<FieldPath>) -> bool {
    let owns = |entry: &Value, path: &FieldPath| {
        let found = path.iter().try_fold(&entry["fieldsV1"], |tree, name| tree.get(format!("f:{name}")));
        found.is_some_and(|tree| inner_fields(tree).is_none())
    };
    managers.iter().all(|entry| {
        let is_theirs = FieldManager::read(entry) == *manager;
        fields.iter().all(|path| owns(entry, path) == is_theirs)
    }) && (fields.is_empty() || managers.iter().any(|entry| FieldManager::read(entry) == *manager))
}

/// Collects the paths of changed and of removed fields.
fn compare(
    before: Option<&Value>,
    after: Option<&Value>,
    path: &mut FieldPath,
    changed: &mut BTreeSet<FieldPath>,
    removed: &mut BTreeSet<FieldPath>,
) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) if !after.is_empty() => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for name in names {
                path.push(name.clone());
                compare(before.get(name), after.get(name), path, changed, removed);
                path.pop();
            }
        }
        (before, after) => {
            if let Some(before) = before {
                collect(before, path, removed);
            }
            if let Some(after) = after {
                collect(after, path, changed);
            }
            removed.retain(|path| !changed.contains(path));
        }
    }
}

/// Fields that other managers own with another value: the owner and the field.
#[derive(Debug)]
pub(crate) struct Conflicts(Vec<(FieldManager, FieldPath)>);

impl Conflicts {
    pub(crate) fn message(&self) -> String {
        let each = self
            .0
            .iter()
            .map(|(manager, path)| format!("conflict with {:?}: .{}", manager.name, path.join(".")));
        format!("Apply failed with {} conflict(s): {}", self.0.len(), each.collect::<Vec<_>>().join(", "))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    /// Every other write.
    Update,
}

/// Who writes, and how: one program may own some fields by apply and others by update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldManager {
    name: String,
    operation: Operation,
    half: Half,
}

impl FieldManager {
    pub(crate) fn new(name: String, operation: Operation, half: Half) -> Self {
        Self { name, operation, half }
    }

    fn read(entry: &Value) -> Self {
        let operation = if entry["operation"] == "Update" { Operation::Update } else { Operation::Apply };
        let half = if entry["subresource"] == "status" { Half::Status } else { Half::Main };
        Self::new(entry["manager"].as_str().unwrap_or_default().to_owned(), operation, half)
    }
}

/// The owners of an object's fields, as in its `managedFields`.
struct Owners(Vec<Owner>);

struct Owner {
    manager: FieldManager,
    fields: BTreeSet<FieldPath>,
    time: Value,
}

impl Owners {
    fn read(object: &Value) -> Self {
        let owners = managers(object).into_iter().flatten().map(|entry| {
            let mut fields = BTreeSet::new();
            decode(&entry["fieldsV1"], &mut Vec::new(), &mut fields);
            Owner { manager: FieldManager::read(entry), fields, time: entry["time"].clone() }
        });
        Self(owners.filter(|owner| !owner.fields.is_empty()).collect())
    }

    fn owned(&self, manager: &FieldManager) -> BTreeSet<FieldPath> {
        self.0
            .iter()
            .filter(|owner| owner.manager == *manager)
            .flat_map(|owner| owner.fields.clone())
            .collect()
    }

    fn is_shared(&self, manager: &FieldManager, path: &FieldPath) -> bool {
        self.0.iter().any(|owner| owner.manager != *manager && owner.fields.contains(path))
    }

    fn conflicts_with(
        &self,
        manager: &FieldManager,
        wanted: &BTreeSet<FieldPath>,
        object: &Value,
        configuration: &Value,
    ) -> Vec<(FieldManager, FieldPath)> {
        let others = self.0.iter().filter(|owner| owner.manager != *manager);
        others
            .flat_map(|owner| {
                owner.fields.intersection(wanted).map(|path| (owner.manager.clone(), path.clone()))
            })
            .filter(|(_, path)| at(object, path) != at(configuration, path))
            .collect()
    }

    fn disown(&mut self, manager: &FieldManager, path: &FieldPath) {
        for owner in self.0.iter_mut().filter(|owner| owner.manager == *manager) {
            owner.fields.remove(path);
        }
    }

    fn set(&mut self, manager: &FieldManager, fields: BTreeSet<FieldPath>, now: Timestamp) {
        // The same fields as before keep their time.
        if self.0.iter().any(|owner| owner.manager == *manager && owner.fields == fields) {
            return self.0.retain(|owner| !owner.fields.is_empty());
        }
        self.0.retain(|owner| owner.manager != *manager && !owner.fields.is_empty());
        if !fields.is_empty() {
            self.0.push(Owner { manager: manager.clone(), fields, time: json!(now.whole_seconds()) });
        }
    }

    fn write(&self, object: &mut Value) {
        let entries: Vec<Value> = self.0.iter().map(Owner::to_json).collect();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            if !entries.is_empty() {
                metadata.insert("managedFields".to_owned(), Value::Array(entries));
            }
        }
    }
}

impl Owner {
    fn to_json(&self) -> Value {
        let mut tree = Value::Object(Map::new());
        for path in &self.fields {
            let mut node = &mut tree;
            for name in path {
                node = &mut node[format!("f:{name}")];
                if node.is_null() {
                    *node = Value::Object(Map::new());
                }
            }
        }
        let operation = match self.manager.operation {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        };
        let mut entry = json!({
            "manager": self.manager.name, "operation": operation, "apiVersion": "tilt.dev/v1alpha1", "time": self.time,
            "fieldsType": "FieldsV1", "fieldsV1": tree,
        });
        if self.manager.half == Half::Status {
            entry["subresource"] = json!("status");
        }
        entry
    }
}

/// Returns the fields below a field; none below one that is owned as a whole.
fn inner_fields(tree: &Value) -> Option<&Map<String, Value>> {
    tree.as_object().filter(|members| members.keys().any(|name| name.starts_with("f:")))
}

fn decode(tree: &Value, path: &mut FieldPath, fields: &mut BTreeSet<FieldPath>) {
    let Some(members) = inner_fields(tree) else {
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

/// Returns the fields that a configuration sets.
fn fields(configuration: &Value) -> BTreeSet<FieldPath> {
    let mut found = BTreeSet::new();
    collect(configuration, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, path: &mut FieldPath, found: &mut BTreeSet<FieldPath>) {
    if UNOWNED_FIELDS.iter().any(|unowned| path.iter().eq(unowned.iter())) {
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

fn at<'v>(value: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn set(object: &mut Value, path: &FieldPath, value: Value) {
    let mut node = object;
    for name in path {
        if !node.is_object() {
            *node = Value::Object(Map::new());
        }
        node = &mut node[name.as_str()];
    }
    *node = value;
}

fn remove(object: &mut Value, path: &FieldPath) {
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(object, |value, name| value.get_mut(name));
    if let Some(Value::Object(members)) = parent {
        members.remove(last);
    }
}

/// Returns the manager that a request names.
pub(crate) fn required_manager(given: Option<&str>) -> Result<String, StatusError> {
    let missing = || StatusError::bad_request("fieldManager is required for apply patch");
    given.filter(|name| !name.is_empty()).map(str::to_owned).ok_or_else(missing)
}

/// Returns the manager that a request names, or else the program that sent it.
pub(crate) fn manager_or_user_agent(given: Option<&str>, user_agent: &str) -> String {
    const MAX_LENGTH: usize = 128;
    let program = user_agent.split('/').next().unwrap_or_default();
    let name = given.filter(|name| !name.is_empty()).unwrap_or(program);
    name.chars().take(MAX_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(object: &Value, manager: &str, configuration: Value, force: bool) -> Result<Value, String> {
        let manager = FieldManager::new(manager.to_owned(), Operation::Apply, Half::Main);
        apply_configuration(object, &configuration, &manager, force, Timestamp::ZERO)
            .map_err(|conflicts| conflicts.message())
    }

    fn update(before: &Value, after: Value, manager: &str, half: Half) -> Value {
        let manager = FieldManager::new(manager.to_owned(), Operation::Update, half);
        record_changes(before, after, &manager, Timestamp::ZERO)
    }

    fn with(object: &Value, pointer: &str, value: Value) -> Value {
        let mut object = object.clone();
        *object.pointer_mut(pointer).expect("it is there") = value;
        object
    }

    fn owned(object: &Value, manager: &str) -> Value {
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let own = entries.into_iter().find(|entry| entry["manager"] == manager);
        own.map_or(Value::Null, |entry| entry["fieldsV1"].clone())
    }

    #[test]
    fn who_writes_a_field_owns_it_from_then_on() {
        let new = json!({"metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}});
        let made = update(&Value::Null, new, "maker", Half::Main);
        assert_eq!(owned(&made, "maker"), json!({"f:data": {"f:a": {}, "f:b": {}}}));
        let entry = &made["metadata"]["managedFields"][0];
        assert_eq!((&entry["operation"], &entry["time"]), (&json!("Update"), &json!("1970-01-01T00:00:00Z")));
        let edited = update(&made, with(&made, "/data/a", json!("9")), "editor", Half::Main);
        assert_eq!(owned(&edited, "editor"), json!({"f:data": {"f:a": {}}}));
        assert_eq!(owned(&edited, "maker"), json!({"f:data": {"f:b": {}}}));
        assert_eq!(update(&edited, edited.clone(), "nobody", Half::Main), edited, "nothing was changed");
        let emptied = update(&edited, with(&edited, "/data", json!({"b": "2"})), "editor", Half::Main);
        assert_eq!(owned(&emptied, "editor"), Value::Null, "what is gone is nobody's");
        let refused = apply(&edited, "me", json!({"data": {"a": "3"}}), false);
        assert_eq!(
            refused,
            Err("Apply failed with 1 conflict(s): conflict with \"editor\": .data.a".to_owned())
        );
        let applied = apply(&edited, "me", json!({"data": {"a": "3"}}), true).expect("forced");
        assert_eq!(
            (owned(&applied, "me"), owned(&applied, "editor")),
            (json!({"f:data": {"f:a": {}}}), Value::Null)
        );
        let taken = update(&applied, with(&applied, "/data/a", json!("4")), "editor", Half::Main);
        let refused = apply(&taken, "me", json!({"data": {"a": "3"}}), false);
        assert!(refused.is_err(), "what somebody changed by hand is not silently overwritten");
    }

    #[test]
    fn the_status_has_owners_of_its_own_and_managers_can_be_handed_over() {
        let object = json!({"metadata": {"name": "c"}, "spec": {"text": "t"}, "status": {}});
        let made = update(&Value::Null, object, "me", Half::Main);
        let clicked = update(&made, with(&made, "/status", json!({"at": "now"})), "me", Half::Status);
        let entries = clicked["metadata"]["managedFields"].as_array().expect("entries").clone();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1]["subresource"], "status");
        let mut renamed = entries;
        renamed[0]["manager"] = json!("you");
        let handed =
            update(&clicked, with(&clicked, "/metadata/managedFields", json!(renamed)), "me", Half::Main);
        assert_eq!(owned(&handed, "you"), json!({"f:spec": {"f:text": {}}}));
        let reset =
            update(&clicked, with(&clicked, "/metadata/managedFields", json!([{}])), "me", Half::Main);
        assert_eq!(reset["metadata"].get("managedFields"), None);
        assert_eq!(manager_or_user_agent(None, "kubectl/v1.34 (linux)"), "kubectl");
        assert_eq!(manager_or_user_agent(Some("mine"), "kubectl"), "mine");
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
