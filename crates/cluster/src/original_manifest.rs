//! Reconstructs the manifest of an object that another tool applied, as far as the cluster records it.
//!
//! Drops fields set by the server or by controllers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use serde_json::{Map, Value, json};

use crate::apply::{LAST_APPLIED, merge_fields};

/// Returns the manifest: what `kubectl apply` recorded, or the fields that were applied server-side.
///
/// Tools that create or update objects in another way also own the fields that the server defaults. Of such objects
/// only the name is returned.
pub(crate) fn manifest_of(object: &Value, meta: &ObjectMeta) -> Value {
    let noted = meta.annotations.as_ref().and_then(|notes| notes.get(LAST_APPLIED));
    let mut manifest = match noted.and_then(|text| serde_json::from_str(text).ok()) {
        Some(Value::Object(manifest)) => manifest,
        _ => applied(object, meta),
    };
    let metadata = manifest.entry("metadata").or_insert_with(|| json!({}));
    metadata["name"] = object["metadata"]["name"].clone();
    for name in ["apiVersion", "kind"] {
        manifest.insert(name.to_owned(), object[name].clone());
    }
    Value::Object(manifest)
}

fn applied(object: &Value, meta: &ObjectMeta) -> Map<String, Value> {
    let mut fields = json!({});
    for entry in meta.managed_fields.iter().flatten().filter(|entry| is_applied(entry)) {
        merge_fields(&mut fields, entry.fields_v1.as_ref().map_or(&Value::Null, |it| &it.0));
    }
    match select_fields(object, &fields) {
        Some(Value::Object(applied)) if fields != json!({}) => applied,
        _ => Map::new(),
    }
}

fn is_applied(entry: &ManagedFieldsEntry) -> bool {
    let whole = entry.subresource.as_deref().unwrap_or_default().is_empty();
    whole && entry.operation.as_deref() == Some("Apply")
}

/// Returns the parts of a value that `fields` (as in `managedFields`) names; none if it has none of them.
///
/// In `managedFields`, `f:` precedes a field, `k:` the keys of a list item, `v:` the item itself.
fn select_fields(value: &Value, fields: &Value) -> Option<Value> {
    let named = fields.as_object()?;
    // Only the value itself is named: it is owned as a whole.
    if named.keys().all(|key| key == ".") {
        return Some(value.clone());
    }
    match value {
        Value::Object(members) => {
            let part = |(key, inner): (&String, &Value)| {
                let name = key.strip_prefix("f:")?;
                Some((name.to_owned(), select_fields(members.get(name)?, inner)?))
            };
            Some(Value::Object(named.iter().filter_map(part).collect()))
        }
        Value::Array(items) => {
            let part =
                |item: &Value| named.iter().find_map(|(key, inner)| select_item_fields(item, key, inner));
            Some(Value::Array(items.iter().filter_map(part).collect()))
        }
        _ => Some(value.clone()),
    }
}

fn select_item_fields(item: &Value, key: &str, inner: &Value) -> Option<Value> {
    if let Some(whole) = key.strip_prefix("v:") {
        let whole: Value = serde_json::from_str(whole).ok()?;
        return (whole == *item).then(|| item.clone());
    }
    let keys: Map<String, Value> = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
    if !keys.iter().all(|(name, value)| item.get(name).is_none_or(|it| it == value)) {
        return None;
    }
    let mut part = select_fields(item, inner)?;
    // The keys identify the item, even if the server defaulted them.
    part.as_object_mut()?.extend(keys);
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(annotations: Value, entries: Value) -> ObjectMeta {
        serde_json::from_value(json!({"annotations": annotations, "managedFields": entries})).unwrap()
    }

    #[test]
    fn manifest_contains_applied_fields_only() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "n", "uid": "u", "labels": {"a": "1", "b": "2"}},
            "spec": {"replicas": 2, "progressDeadlineSeconds": 600, "finalizers": ["x", "y"],
                "ports": [{"port": 80, "protocol": "TCP", "nodePort": 3}, {"port": 81, "protocol": "TCP"}],
                "selector": {"matchLabels": {"app": "web"}}}});
        let entries = json!([
            {"manager": "helm", "operation": "Apply", "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:replicas": {}, "f:selector": {}, "f:finalizers": {"v:\"y\"": {}}, "f:gone": {},
                    "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}}},
            {"manager": "controller", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {"f:b": {}}}}},
            {"manager": "other", "operation": "Apply", "subresource": "status",
                "fieldsV1": {"f:spec": {"f:progressDeadlineSeconds": {}}}},
        ]);
        let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "labels": {"a": "1"}},
            "spec": {"replicas": 2, "finalizers": ["y"], "ports": [{"port": 80, "protocol": "TCP"}],
                "selector": {"matchLabels": {"app": "web"}}}});
        assert_eq!(manifest_of(&object, &meta(json!({}), entries)), expected);
    }

    #[test]
    fn last_applied_annotation_is_the_manifest() {
        let object =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"x": 1}});
        let bare = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}});
        assert_eq!(manifest_of(&object, &meta(json!({}), json!([]))), bare);
        let noted =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"y": 2}});
        let annotations = json!({LAST_APPLIED: noted.to_string()});
        assert_eq!(manifest_of(&object, &meta(annotations, json!([]))), noted);
    }
}
