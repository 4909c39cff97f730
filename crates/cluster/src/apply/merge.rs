//! The three-way merge of client-side apply: last applied, wanted and current object.
//!
//! Pure. As in `kubectl apply`, fields that were applied and are not wanted any more are removed, and fields that
//! others added stay. Lists with a merge key are merged element by element, other lists are replaced.

use serde_json::{Map, Value};

/// Lists of built-in kinds that are merged, with their merge keys.
const MERGE_KEYS: &[(&str, &[&str])] = &[
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    ("volumes", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    // Of containers and of services.
    ("ports", &["containerPort", "port"]),
    ("imagePullSecrets", &["name"]),
    ("secrets", &["name"]),
    ("hostAliases", &["ip"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("schedulingGates", &["name"]),
    ("resourceClaims", &["name"]),
    ("ownerReferences", &["uid"]),
    ("webhooks", &["name"]),
];
/// Unions: only one member may be set, so that a merge of two would be invalid.
const EXCLUSIVE: &[&str] = &["volumes", "resourceClaims", "strategy"];
/// Lists of strings to which others may add entries.
const SETS: &[&str] = &["finalizers"];

/// Returns the merged object. `before` is null if it is unknown.
pub(crate) fn three_way(before: &Value, wanted: &Value, current: &Value) -> Value {
    let keyed = is_kubernetes(wanted);
    Merge { keyed }.value("", before, wanted, current)
}

/// Returns the JSON merge patch (RFC 7386) from `from` to `to`; none if they are equal.
pub(crate) fn patch(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut changes = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        changes.insert(key.clone(), Value::Null);
    }
    for (key, value) in to {
        if let Some(change) = patch(from.get(key).unwrap_or(&Value::Null), value) {
            changes.insert(key.clone(), change);
        }
    }
    (!changes.is_empty()).then_some(Value::Object(changes))
}

/// Whether the kind is built in: the merge keys of other kinds are unknown.
fn is_kubernetes(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    !group.contains('.') || group.ends_with(".k8s.io")
}

struct Merge {
    keyed: bool,
}

impl Merge {
    fn value(&self, field: &str, before: &Value, wanted: &Value, current: &Value) -> Value {
        match (wanted, current) {
            (Value::Object(new), Value::Object(now)) => {
                let merged = Value::Object(self.fields(before, new, now));
                let exclusive = self.keyed && EXCLUSIVE.contains(&field) && merged != *current;
                if exclusive { retain_fields(&merged, new) } else { merged }
            }
            (Value::Array(new), Value::Array(now)) => self.list(field, before, new, now),
            _ => without_nulls(wanted),
        }
    }

    fn fields(
        &self,
        before: &Value,
        wanted: &Map<String, Value>,
        now: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut merged = now.clone();
        for key in before.as_object().into_iter().flat_map(Map::keys) {
            if !wanted.contains_key(key) {
                merged.remove(key);
            }
        }
        for (key, value) in wanted {
            if value.is_null() {
                merged.remove(key);
                continue;
            }
            let value = match now.get(key) {
                Some(now) => self.value(key, &before[key.as_str()], value, now),
                None => without_nulls(value),
            };
            merged.insert(key.clone(), value);
        }
        merged
    }

    fn list(&self, field: &str, before: &Value, wanted: &[Value], now: &[Value]) -> Value {
        let before = before.as_array().map(Vec::as_slice).unwrap_or_default();
        if self.keyed && SETS.contains(&field) {
            let kept = now.iter().filter(|it| !before.contains(it) && !wanted.contains(it));
            return wanted.iter().chain(kept).cloned().collect();
        }
        let keys = MERGE_KEYS.iter().find(|(name, _)| self.keyed && *name == field).map(|(_, keys)| *keys);
        let key =
            keys.into_iter().flatten().find(|key| is_unique_key(key, wanted) && is_unique_key(key, now));
        let Some(key) = key else { return wanted.iter().map(without_nulls).collect() };
        let named = |list: &[Value], element: &Value| -> Option<Value> {
            list.iter().find(|other| other[*key] == element[*key]).cloned()
        };
        let merge = |element: &Value| match named(now, element) {
            Some(now) => self.value(field, &named(before, element).unwrap_or_default(), element, &now),
            None => without_nulls(element),
        };
        let added = |element: &&Value| named(wanted, element).is_none() && named(before, element).is_none();
        wanted.iter().map(merge).chain(now.iter().filter(added).cloned()).collect()
    }
}

/// Whether all elements have the field, with different values. Environment variables, for example, may occur twice.
fn is_unique_key(key: &str, elements: &[Value]) -> bool {
    elements.iter().enumerate().all(|(at, element)| {
        let value = element.get(key);
        value.is_some() && elements[..at].iter().all(|earlier| earlier.get(key) != value)
    })
}

fn retain_fields(merged: &Value, wanted: &Map<String, Value>) -> Value {
    let fields = merged.as_object().into_iter().flatten();
    let fields = fields.filter(|(key, _)| wanted.contains_key(*key));
    Value::Object(fields.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Removes fields that are null.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        simple => simple.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(spec: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "spec": spec})
    }

    #[test]
    fn removed_fields_vanish_and_fields_of_others_stay() {
        let before = pod(json!({"containers": [{"name": "a", "image": "1", "tty": true}, {"name": "old"}],
            "nodeName": "n", "finalizers": ["mine"]}));
        let wanted =
            pod(json!({"containers": [{"name": "a", "image": "2", "stdin": null}], "finalizers": []}));
        let current = pod(
            json!({"nodeName": "n", "restartPolicy": "Always", "finalizers": ["mine", "theirs"],
            "containers": [{"name": "a", "image": "1", "tty": true, "stdin": true, "policy": "x"}, {"name": "old"},
                {"name": "sidecar"}]}),
        );
        let merged = three_way(&before, &wanted, &current);
        let expected = pod(json!({"restartPolicy": "Always", "finalizers": ["theirs"],
            "containers": [{"name": "a", "image": "2", "policy": "x"}, {"name": "sidecar"}]}));
        assert_eq!(merged, expected);
        assert_eq!(three_way(&wanted, &wanted, &merged), merged);
    }

    #[test]
    fn volume_with_another_source_is_replaced() {
        let wanted = pod(json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}));
        let current =
            pod(json!({"volumes": [{"name": "v", "configMap": {"name": "c", "defaultMode": 420}}]}));
        assert_eq!(three_way(&Value::Null, &wanted, &current), wanted);
        let same = pod(json!({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}));
        assert_eq!(three_way(&Value::Null, &same, &current), current);
    }

    #[test]
    fn lists_without_unique_keys_are_replaced() {
        let twice = pod(json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}));
        let current = pod(json!({"env": [{"name": "A", "value": "0"}, {"name": "B"}]}));
        assert_eq!(three_way(&Value::Null, &twice, &current), twice);
        let custom = |env: Value| json!({"apiVersion": "example.com/v1", "env": env});
        let wanted = custom(json!([{"name": "A"}]));
        assert_eq!(three_way(&Value::Null, &wanted, &custom(json!([{"name": "B"}]))), wanted);
    }

    #[test]
    fn patch_contains_only_differences() {
        let from = json!({"a": 1, "b": {"c": [1], "d": 2}, "e": 3});
        let to = json!({"a": 1, "b": {"c": [2], "d": 2}, "f": {"g": 1}});
        assert_eq!(patch(&from, &to), Some(json!({"b": {"c": [2]}, "e": null, "f": {"g": 1}})));
        assert_eq!(patch(&to, &to), None);
    }
}
