//! Fingerprints of objects, which tell from the metadata alone whether somebody changed them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::apply::DEPLOYED_BY;
use crate::inject::write_sorted;

/// Annotations that are not part of the desired state.
const NOTES: &[&str] = &["deployment.kubernetes.io/revision", DEPLOYED_BY];

/// Returns a string that stays the same as long as nobody changes the desired state: status and server-side
/// bookkeeping do not count.
pub(crate) fn fingerprint(meta: &ObjectMeta) -> String {
    let state = match meta.generation.filter(|generation| *generation > 0) {
        Some(generation) => format!("g{generation}"),
        None => version(meta),
    };
    let mut noted = meta.annotations.clone().unwrap_or_default();
    noted.retain(|key, _| !NOTES.contains(&key.as_str()));
    let said = serde_json::json!({"labels": meta.labels, "annotations": noted,
        "deleting": meta.deletion_timestamp.is_some()});
    format!("{}:{state}:{}", meta.uid.as_deref().unwrap_or_default(), digest(&said))
}

/// Identifies the version of an object whose kind has no generations.
///
/// If a controller writes its status, as with autoscalers every few seconds, the field managers are used instead of
/// the resource version.
fn version(meta: &ObjectMeta) -> String {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    let is_status = |entry: &ManagedFieldsEntry| entry.subresource.as_deref() == Some("status");
    if !entries.iter().any(is_status) {
        return format!("v{}", meta.resource_version.as_deref().unwrap_or_default());
    }
    let others: Vec<&ManagedFieldsEntry> = entries.iter().filter(|entry| !is_status(entry)).collect();
    format!("m{}", digest(&serde_json::json!(others)))
}

/// Returns a digest of a manifest that does not depend on the order of keys.
pub fn digest(manifest: &Value) -> String {
    let mut text = String::new();
    write_sorted(manifest, &mut text);
    Sha256::digest(text.as_bytes()).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// An object that was applied before: if both values are the same, it does not have to be applied again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownObject {
    pub manifest: String,
    pub fingerprint: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(value: Value) -> ObjectMeta {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn fingerprint_ignores_status_changes() {
        let before = meta(json!({"uid": "u", "generation": 2, "resourceVersion": "5", "labels": {"a": "b"}}));
        let status = meta(json!({"uid": "u", "generation": 2, "resourceVersion": "6", "labels": {"a": "b"},
            "annotations": {"deployment.kubernetes.io/revision": "2"}}));
        assert_eq!(fingerprint(&before), fingerprint(&status));
        for other in [
            json!({"uid": "u", "generation": 3, "labels": {"a": "b"}}),
            json!({"uid": "u", "generation": 2, "labels": {"a": "c"}}),
            json!({"uid": "v", "generation": 2, "labels": {"a": "b"}}),
        ] {
            assert_ne!(fingerprint(&before), fingerprint(&meta(other)));
        }
        let versioned = |version: &str| fingerprint(&meta(json!({"uid": "u", "resourceVersion": version})));
        assert_ne!(versioned("1"), versioned("2"));
        let scaler = |version: &str, time: &str| {
            fingerprint(&meta(json!({"uid": "u", "resourceVersion": version, "managedFields": [
                {"manager": "tilt", "operation": "Apply", "time": time},
                {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}]})))
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
        assert_eq!(scaler("1", early), scaler("2", early));
        assert_ne!(scaler("1", early), scaler("1", late));
    }
}
