//! Field ownership, as the API server records it in `metadata.managedFields`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, ObjectMeta};
use kube::core::Status;
use serde_json::{Value, json};

/// Tilt's field manager: whoever switches between the tools keeps the ownership of fields.
pub(super) const FIELD_MANAGER: &str = "tilt";
/// The annotation in which `kubectl apply` and Tilt record what they applied.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const KUBECTL_APPLY: &str = "kubectl-client-side-apply";

/// Moves the fields that a client-side tool set to our manager, so that fields removed from the manifest are removed
/// from the object.
pub(super) struct Takeover {
    /// The new `managedFields`, complete.
    pub(super) entries: Vec<ManagedFieldsEntry>,
    /// The previous managers, without our own.
    pub(super) from: Vec<String>,
}

/// Returns none if there is nothing to take over.
pub(super) fn takeover(meta: &ObjectMeta) -> Option<Takeover> {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    let ours = entries.iter().find(|entry| is_ours(entry));
    let version = |entry: &ManagedFieldsEntry| ours.is_none_or(|ours| ours.api_version == entry.api_version);
    let (taken, mut left): (Vec<ManagedFieldsEntry>, Vec<ManagedFieldsEntry>) =
        entries.iter().cloned().partition(|entry| is_client_side(entry) && version(entry));
    let api_version = taken.first()?.api_version.clone();
    // Only entries of the same API version can be merged.
    let (taken, others): (Vec<_>, Vec<_>) =
        taken.into_iter().partition(|entry| entry.api_version == api_version);
    left.extend(others);
    let mut fields = ours.and_then(|entry| entry.fields_v1.clone()).map_or_else(|| json!({}), |it| it.0);
    for entry in &taken {
        merge_fields(&mut fields, entry.fields_v1.as_ref().map_or(&Value::Null, |it| &it.0));
    }
    left.retain(|entry| !is_ours(entry));
    left.push(ManagedFieldsEntry {
        api_version,
        fields_type: Some("FieldsV1".to_owned()),
        fields_v1: Some(FieldsV1(fields)),
        manager: Some(FIELD_MANAGER.to_owned()),
        operation: Some("Apply".to_owned()),
        subresource: None,
        time: taken.iter().filter_map(|entry| entry.time.clone()).max(),
    });
    let from = taken.into_iter().filter_map(|entry| entry.manager);
    Some(Takeover { entries: left, from: from.filter(|name| name != FIELD_MANAGER).collect() })
}

/// Whether lilt, Tilt or a client-side tool has applied the object.
pub(super) fn was_applied(meta: &ObjectMeta) -> bool {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    entries.iter().any(|entry| is_ours(entry) || is_client_side(entry))
}

/// Whether another tool has applied the object after us. Earlier tools' fields became ours with our first apply.
pub(super) fn is_applied_over(meta: &ObjectMeta) -> bool {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    let is_other = |entry: &ManagedFieldsEntry| entry.manager.as_deref() != Some(FIELD_MANAGER);
    entries.iter().any(is_ours) && entries.iter().any(|entry| is_client_side(entry) && is_other(entry))
}

/// Whether an autoscaler sets the number of replicas.
pub(crate) fn is_autoscaled(meta: &ObjectMeta) -> bool {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    entries.iter().any(|entry| {
        let manager = entry.manager.as_deref().unwrap_or_default();
        let scales = entry.subresource.as_deref() == Some("scale");
        scales && (manager.ends_with("controller-manager") || manager.contains("autoscaler"))
    })
}

fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(FIELD_MANAGER)
        && entry.operation.as_deref() == Some("Apply")
        && is_whole(entry)
}

fn is_whole(entry: &ManagedFieldsEntry) -> bool {
    entry.subresource.as_deref().unwrap_or_default().is_empty()
}

fn is_client_side(entry: &ManagedFieldsEntry) -> bool {
    let manager = entry.manager.as_deref().unwrap_or_default();
    let annotations =
        entry.fields_v1.as_ref().and_then(|fields| fields.0.pointer("/f:metadata/f:annotations"));
    let notes = annotations.is_some_and(|it| it.get(format!("f:{LAST_APPLIED}")).is_some());
    entry.operation.as_deref() == Some("Update")
        && is_whole(entry)
        && (notes || manager == KUBECTL_APPLY || manager == FIELD_MANAGER)
}

pub(crate) fn merge_fields(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { return };
    for (key, value) in from {
        merge_fields(into.entry(key.clone()).or_insert_with(|| json!({})), value);
    }
}

/// A field that another manager set to another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) manager: String,
    /// For example `.data.key`.
    pub(super) field: String,
}

impl Conflict {
    /// Returns the field and key if the conflict is about an entry of a ConfigMap or Secret.
    pub(super) fn data_key(&self) -> Option<(&'static str, &str)> {
        let of = |list: &'static str| self.field.strip_prefix(&format!(".{list}.")).map(|key| (list, key));
        of("data").or_else(|| of("binaryData"))
    }

    /// Whether a person made the change, with one of kubectl's other commands.
    pub(super) fn is_manual_edit(&self) -> bool {
        self.manager.starts_with("kubectl")
    }
}

pub(super) fn conflicts(status: &Status) -> Vec<Conflict> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let conflicts = causes.filter(|cause| cause.reason == "FieldManagerConflict");
    conflicts
        .map(|cause| Conflict {
            // For example: conflict with "kubectl-edit" using apps/v1
            manager: cause.message.split('"').nth(1).unwrap_or("somebody").to_owned(),
            field: cause.field.clone(),
        })
        .collect()
}

/// Formats managers and fields, for example `kubectl-edit (.data.key, .data.other), helm (.spec.replicas)`.
pub(super) fn describe_owners(conflicts: &[Conflict]) -> String {
    let mut managers: Vec<&str> = conflicts.iter().map(|conflict| conflict.manager.as_str()).collect();
    managers.sort_unstable();
    managers.dedup();
    let fields = |manager: &str| {
        let own = conflicts.iter().filter(|conflict| conflict.manager == manager);
        own.map(|conflict| conflict.field.as_str()).collect::<Vec<_>>().join(", ")
    };
    let all: Vec<String> =
        managers.into_iter().map(|manager| format!("{manager} ({})", fields(manager))).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(entries: Value) -> ObjectMeta {
        serde_json::from_value(json!({"managedFields": entries})).unwrap()
    }

    #[test]
    fn apply_by_another_tool_is_detected() {
        let entry = |manager: &str, operation: &str| json!({"manager": manager, "operation": operation});
        let ours = entry(FIELD_MANAGER, "Apply");
        assert!(!is_applied_over(&meta(json!([ours]))));
        assert!(!is_applied_over(&meta(json!([entry(KUBECTL_APPLY, "Update")]))));
        assert!(!is_applied_over(&meta(json!([ours, entry(FIELD_MANAGER, "Update")]))));
        assert!(is_applied_over(&meta(json!([ours, entry(KUBECTL_APPLY, "Update")]))));
    }

    #[test]
    fn client_side_fields_are_taken_over() {
        let noted = json!({"f:metadata": {"f:annotations": {format!("f:{LAST_APPLIED}"): {}}}, "f:data": {"f:a": {}}});
        let before = meta(json!([
            {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1", "fieldsV1": noted},
            {"manager": "tilt", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:b": {}}}},
            {"manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:c": {}}}},
        ]));
        let takeover = takeover(&before).unwrap();
        assert_eq!(takeover.from, ["kubectl-client-side-apply"]);
        assert_eq!(takeover.entries.len(), 2);
        let ours = takeover.entries[1].fields_v1.as_ref().unwrap();
        assert_eq!(ours.0["f:data"], json!({"f:a": {}, "f:b": {}}));
        let after = ObjectMeta { managed_fields: Some(takeover.entries), ..ObjectMeta::default() };
        assert!(super::takeover(&after).is_none() && was_applied(&after));
    }

    #[test]
    fn autoscaler_is_distinguished_from_kubectl_scale() {
        let scaled = |manager: &str| {
            meta(json!([{"manager": manager, "operation": "Update", "subresource": "scale", "fieldsV1": {}}]))
        };
        assert!(is_autoscaled(&scaled("kube-controller-manager")));
        assert!(!is_autoscaled(&scaled("kubectl")));
    }
}
