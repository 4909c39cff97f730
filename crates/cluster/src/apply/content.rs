//! The content of an applied object, without its status and field owners, as under Tilt.

use kube::api::DynamicObject;
use lilt_model::Uid;
use lilt_model::kubernetes::ObjectRef;
use serde_json::Value;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns the content from the API server's response.
pub(super) fn returned(object: &DynamicObject) -> Value {
    let mut content = serde_json::to_value(object).unwrap_or_default();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
            annotations.remove(super::DEPLOYED_BY);
        }
    }
    content
}

/// Returns the content of the manifest plus what only the cluster knows.
pub(super) fn applied(body: &Value, object: &ObjectRef, uid: &Uid) -> Value {
    let mut content = body.clone();
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), uid.as_str().into());
        if !object.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), object.namespace.as_str().into());
        }
    }
    content
}
