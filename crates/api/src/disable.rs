//! The enabled state of objects: where it is stored and how it is reported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::time::Time;

/// Source of the enabled state of an object; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DisableSource {
    /// ConfigMap value that disables the object if it is `true`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub config_map: Option<ConfigMapDisableSource>,
    /// ConfigMap values that disable the object if all of them are `true`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub every_config_map: Vec<ConfigMapDisableSource>,
}

/// Reference to a ConfigMap value that enables or disables an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapDisableSource {
    /// Name of the ConfigMap.
    pub name: String,
    /// Key of the value, which is `true` or `false`.
    pub key: String,
}

/// Whether and why an object is disabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DisableStatus {
    /// Whether the object is disabled, for whatever reason.
    pub disabled: bool,
    /// One of `Enabled`, `Disabled`, `Pending` (a value is missing) and `Error`.
    pub state: String,
    /// Reason for the state.
    pub reason: String,
    /// Time when the state last changed.
    pub last_update_time: Option<Time>,
}

/// Whether a resource is disabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DisableResourceStatus {
    /// Number of sources of the resource that are enabled.
    pub enabled_count: i32,
    /// Number of sources of the resource that are disabled.
    pub disabled_count: i32,
    /// One of `Enabled`, `Disabled`, `Pending` (a value is missing) and `Error`.
    pub state: String,
    /// Sources that determine whether the resource is disabled.
    pub sources: Vec<DisableSource>,
}
