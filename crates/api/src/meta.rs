//! Metadata of objects, and other types shared with the Kubernetes API.

use std::collections::BTreeMap;

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::is_empty;
use super::time::Time;

/// Metadata that every object has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Name of the object, unique within its kind.
    #[schemars(skip_serializing_if = "is_empty")]
    pub name: String,
    /// Prefix of a name that the server generates if `name` is empty.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub generate_name: String,
    /// Not used: objects of this API have no namespace.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
    /// Not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub self_link: String,
    /// Unique ID of the object; an object recreated with the same name has a different one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub uid: String,
    /// Version of the object; changes with every update. Updates with an outdated version are rejected.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub resource_version: String,
    /// Not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub generation: i64,
    /// Key-value pairs to organize and select objects.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Key-value pairs with arbitrary metadata; not used for selection.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Time when the object was created.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(with = "Option<Time>")]
    pub creation_timestamp: Option<Timestamp>,
    /// Time when deletion of the object was requested.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub deletion_timestamp: Option<Time>,
    /// Seconds that the object has to terminate gracefully before it is removed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub deletion_grace_period_seconds: i64,
    /// Owners of the object. It is deleted when the last of them is deleted.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// Names that must be removed before the object is deleted, each by the component responsible for it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finalizers: Vec<String>,
    /// Fields set by each field manager.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub managed_fields: Vec<ManagedFieldsEntry>,
}

/// Reference to an object that owns this one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// API group and version of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// UID of the owner.
    pub uid: String,
    /// Whether the owner is the managing controller.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub controller: bool,
    /// Whether foreground deletion of the owner waits until this object is deleted.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub block_owner_deletion: bool,
}

/// Fields set by one field manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedFieldsEntry {
    /// Name of the field manager.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub manager: String,
    /// `Apply`, or `Update` for any other write.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub operation: String,
    /// API version in which the fields were set.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub api_version: String,
    /// Time when the manager last changed the fields.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub time: Option<Time>,
    /// Format of the fields: always `FieldsV1`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub fields_type: String,
    /// Set of fields, as a tree.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    pub fields_v1: Option<Value>,
    /// Subresource that was written; empty for the object itself.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub subresource: String,
}

/// A label query; all requirements must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Required values by label key.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements as expressions.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// A requirement for the value of a label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelectorRequirement {
    /// Key of the label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub values: Vec<String>,
}

/// One aspect of the state of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub observed_generation: i64,
    /// Time of the last change of `status`.
    pub last_transition_time: Option<Time>,
    /// Reason for the last change of `status`.
    pub reason: String,
    /// Human-readable details.
    pub message: String,
}

impl From<&BTreeMap<String, String>> for LabelSelector {
    fn from(labels: &BTreeMap<String, String>) -> Self {
        Self { match_labels: labels.clone(), match_expressions: Vec::new() }
    }
}
