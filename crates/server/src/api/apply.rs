//! Who set which field is remembered: with server-side apply a field that its owner no longer names goes away, and two
//! owners do not silently overwrite one another.

use std::collections::BTreeSet;

use lilt_model::Timestamp;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::write::Half;

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
    who: &Identity,
    force: bool,
    now: Timestamp,
) -> Result<Value, Conflicts> {
    let mut object = object.clone();
    let wanted = fields(configuration);
    let mut owners = Owners::read(&object);
    let conflicts = owners.others(who, &wanted, &object, configuration);
    if !conflicts.is_empty() && !force {
        return Err(Conflicts(conflicts));
    }
    for (other, path) in &conflicts {
        owners.disown(other, path);
    }
    for path in owners.owned(who).difference(&wanted) {
        if !owners.is_shared(who, path) {
            remove(&mut object, path);
        }
    }
    for path in &wanted {
        if let Some(value) = at(configuration, path) {
            set(&mut object, path, value.clone());
        }
    }
    owners.set(who, wanted, now);
    owners.write(&mut object);
    Ok(object)
}

/// The object after somebody wrote it as a whole or patched it: what became another is theirs now.
pub(crate) fn updated(before: &Value, mut object: Value, who: &Identity, now: Timestamp) -> Value {
    let given = managers(&object).filter(|given| !given.is_empty());
    let known = managers(before);
    let (mut changed, mut removed) = (BTreeSet::new(), BTreeSet::new());
    compare(Some(before), Some(&object), &mut Vec::new(), &mut changed, &mut removed);
    // Nobody owns that there is nothing.
    changed.retain(|path| at(&object, path) != Some(&Value::Object(Map::new())));
    // Most who write have written the same fields before.
    if let Some(known) = known.filter(|known| given.is_none_or(|given| given == *known))
        && removed.is_empty()
        && is_own(known, who, &changed)
    {
        object["metadata"]["managedFields"] = Value::Array(known.clone());
        return object;
    }
    // What a client says of managers counts, as kubectl needs it to hand fields over. Nothing said means no change; one
    // that is empty means that all are forgotten.
    let mut owners = if given.is_some() { Owners::read(&object) } else { Owners::read(before) };
    for owner in &mut owners.0 {
        owner.fields.retain(|path| !removed.contains(path) && (owner.who == *who || !changed.contains(path)));
    }
    changed.extend(owners.owned(who));
    owners.set(who, changed, now);
    owners.write(&mut object);
    object
}

fn managers(object: &Value) -> Option<&Vec<Value>> {
    object.pointer("/metadata/managedFields").and_then(Value::as_array)
}

/// Whether somebody owns all of these fields, and nobody else any of them.
fn is_own(managers: &[Value], who: &Identity, fields: &BTreeSet<Path>) -> bool {
    let owns = |entry: &Value, path: &Path| {
        let found = path.iter().try_fold(&entry["fieldsV1"], |tree, name| tree.get(format!("f:{name}")));
        found.is_some_and(|tree| inner_fields(tree).is_none())
    };
    managers.iter().all(|entry| {
        let is_theirs = Identity::read(entry) == *who;
        fields.iter().all(|path| owns(entry, path) == is_theirs)
    }) && (fields.is_empty() || managers.iter().any(|entry| Identity::read(entry) == *who))
}

/// The fields that became others, and those that are gone.
fn compare(
    before: Option<&Value>,
    after: Option<&Value>,
    path: &mut Path,
    changed: &mut BTreeSet<Path>,
    removed: &mut BTreeSet<Path>,
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

/// Fields that others own with another value: the owner and the field.
#[derive(Debug)]
pub(crate) struct Conflicts(Vec<(Identity, Path)>);

impl Conflicts {
    pub(crate) fn words(&self) -> String {
        let each =
            self.0.iter().map(|(who, path)| format!("conflict with {:?}: .{}", who.manager, path.join(".")));
        format!("Apply failed with {} conflict(s): {}", self.0.len(), each.collect::<Vec<_>>().join(", "))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    /// Every other way to write.
    Update,
}

/// Who writes, and how: one and the same manager may own some fields in this way and some in that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    manager: String,
    operation: Operation,
    half: Half,
}

impl Identity {
    pub(crate) fn new(manager: String, operation: Operation, half: Half) -> Self {
        Self { manager, operation, half }
    }

    fn read(entry: &Value) -> Self {
        let operation = if entry["operation"] == "Update" { Operation::Update } else { Operation::Apply };
        let half = if entry["subresource"] == "status" { Half::Status } else { Half::Main };
        Self::new(entry["manager"].as_str().unwrap_or_default().to_owned(), operation, half)
    }
}

/// What an object says about who owns what.
struct Owners(Vec<Owner>);

struct Owner {
    who: Identity,
    fields: BTreeSet<Path>,
    time: Value,
}

impl Owners {
    fn read(object: &Value) -> Self {
        let owners = managers(object).into_iter().flatten().map(|entry| {
            let mut fields = BTreeSet::new();
            decode(&entry["fieldsV1"], &mut Vec::new(), &mut fields);
            Owner { who: Identity::read(entry), fields, time: entry["time"].clone() }
        });
        Self(owners.filter(|owner| !owner.fields.is_empty()).collect())
    }

    fn owned(&self, who: &Identity) -> BTreeSet<Path> {
        self.0.iter().filter(|owner| owner.who == *who).flat_map(|owner| owner.fields.clone()).collect()
    }

    fn is_shared(&self, who: &Identity, path: &Path) -> bool {
        self.0.iter().any(|owner| owner.who != *who && owner.fields.contains(path))
    }

    fn others(
        &self,
        who: &Identity,
        wanted: &BTreeSet<Path>,
        object: &Value,
        configuration: &Value,
    ) -> Vec<(Identity, Path)> {
        let others = self.0.iter().filter(|owner| owner.who != *who);
        others
            .flat_map(|owner| owner.fields.intersection(wanted).map(|path| (owner.who.clone(), path.clone())))
            .filter(|(_, path)| at(object, path) != at(configuration, path))
            .collect()
    }

    fn disown(&mut self, who: &Identity, path: &Path) {
        for owner in self.0.iter_mut().filter(|owner| owner.who == *who) {
            owner.fields.remove(path);
        }
    }

    fn set(&mut self, who: &Identity, fields: BTreeSet<Path>, now: Timestamp) {
        // Who writes the same again has changed nothing.
        if self.0.iter().any(|owner| owner.who == *who && owner.fields == fields) {
            return self.0.retain(|owner| !owner.fields.is_empty());
        }
        self.0.retain(|owner| owner.who != *who && !owner.fields.is_empty());
        if !fields.is_empty() {
            self.0.push(Owner { who: who.clone(), fields, time: json!(now.whole_seconds()) });
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
            let mut place = &mut tree;
            for name in path {
                place = &mut place[format!("f:{name}")];
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
            }
        }
        let operation = match self.who.operation {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        };
        let mut entry = json!({
            "manager": self.who.manager, "operation": operation, "apiVersion": "tilt.dev/v1alpha1", "time": self.time,
            "fieldsType": "FieldsV1", "fieldsV1": tree,
        });
        if self.who.half == Half::Status {
            entry["subresource"] = json!("status");
        }
        entry
    }
}

/// What is below a field; none below one that is owned as a whole.
fn inner_fields(tree: &Value) -> Option<&Map<String, Value>> {
    tree.as_object().filter(|members| members.keys().any(|name| name.starts_with("f:")))
}

fn decode(tree: &Value, path: &mut Path, fields: &mut BTreeSet<Path>) {
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

/// The one of a request that need not name any: then the program that sent it counts.
pub(crate) fn manager_or_program(given: Option<&str>, agent: &str) -> String {
    /// More than this is no name.
    const LONGEST: usize = 128;
    let program = agent.split('/').next().unwrap_or_default();
    let name = given.filter(|name| !name.is_empty()).unwrap_or(program);
    name.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(object: &Value, manager: &str, configuration: Value, force: bool) -> Result<Value, String> {
        let who = Identity::new(manager.to_owned(), Operation::Apply, Half::Main);
        applied(object, &configuration, &who, force, Timestamp::ZERO).map_err(|conflicts| conflicts.words())
    }

    fn update(before: &Value, after: Value, manager: &str, half: Half) -> Value {
        let who = Identity::new(manager.to_owned(), Operation::Update, half);
        updated(before, after, &who, Timestamp::ZERO)
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
        assert_eq!(manager_or_program(None, "kubectl/v1.34 (linux)"), "kubectl");
        assert_eq!(manager_or_program(Some("mine"), "kubectl"), "mine");
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
