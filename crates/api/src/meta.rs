//! Metadata of objects, and what else the API takes over from Kubernetes.

use std::collections::BTreeMap;

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::is_empty;
use super::time::Time;

/// What all objects have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Its name, unique among its kind.
    #[schemars(skip_serializing_if = "is_empty")]
    pub name: String,
    /// The beginning of a name that the server completes.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub generate_name: String,
    /// Not used: these objects have no namespaces.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
    /// Not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub self_link: String,
    /// Tells it from later objects of the same name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub uid: String,
    /// Another one after each change; who writes with an old one is refused.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub resource_version: String,
    /// Not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub generation: i64,
    /// Short texts by name, for selectors.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Notes by name, of any content.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// When it was made.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(with = "Option<Time>")]
    pub creation_timestamp: Option<Timestamp>,
    /// When its deletion was asked for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub deletion_timestamp: Option<Time>,
    /// How long its deletion may take.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub deletion_grace_period_seconds: i64,
    /// To which objects it belongs. It goes with the last of them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// What must be done before it goes; whoever does it takes its name out.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finalizers: Vec<String>,
    /// Who wrote which fields.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub managed_fields: Vec<ManagedFieldsEntry>,
}

/// An object that others belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the object.
    pub api_version: String,
    /// What the object is.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The uid of the owner.
    pub uid: String,
    /// Whether the owner manages it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub controller: bool,
    /// Whether the owner waits for it when it is deleted in the foreground.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub block_owner_deletion: bool,
}

/// What one manager has written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedFieldsEntry {
    /// Who.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub manager: String,
    /// Apply, or Update for every other way to write.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub operation: String,
    /// Group and version of the object.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub api_version: String,
    /// When.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub time: Option<Time>,
    /// FieldsV1.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub fields_type: String,
    /// The fields, as a tree.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    pub fields_v1: Option<Value>,
    /// The part of the object that was written.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub subresource: String,
}

/// Which labels; all of it must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with these values.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// What must be so of labels.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// What must be so of a label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelectorRequirement {
    /// The name of the label.
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// The values for In and NotIn.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub values: Vec<String>,
}

/// Something that is so, or is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// Not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub observed_generation: i64,
    /// Since when it is so.
    pub last_transition_time: Option<Time>,
    /// Why, in a word or a sentence.
    pub reason: String,
    /// More about it, for people.
    pub message: String,
}

impl From<&BTreeMap<String, String>> for LabelSelector {
    fn from(labels: &BTreeMap<String, String>) -> Self {
        Self { match_labels: labels.clone(), match_expressions: Vec::new() }
    }
}
