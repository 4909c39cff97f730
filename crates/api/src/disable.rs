//! Where it is stored whether something is disabled, and how that is reported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::time::Time;

/// Where it is written whether something is off; one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DisableSource {
    /// Off if this value is true.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub config_map: Option<ConfigMapDisableSource>,
    /// Off if all of these values are true.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub every_config_map: Vec<ConfigMapDisableSource>,
}

/// A value of a ConfigMap that says whether something is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapDisableSource {
    /// The name of the ConfigMap.
    pub name: String,
    /// Which value of it: true or false.
    pub key: String,
}

/// Whether something is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DisableStatus {
    /// Whether it is off, for whatever reason.
    pub disabled: bool,
    /// Enabled, Disabled, Pending while a value is missing, or Error.
    pub state: String,
    /// Why, in a word or a sentence.
    pub reason: String,
    /// Since when it is so.
    pub last_update_time: Option<Time>,
}

/// Whether a resource is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DisableResourceStatus {
    /// How many of its parts are on.
    pub enabled_count: i32,
    /// How many of its parts are off.
    pub disabled_count: i32,
    /// Enabled, Disabled, Pending while a value is missing, or Error.
    pub state: String,
    /// Where it is written.
    pub sources: Vec<DisableSource>,
}
