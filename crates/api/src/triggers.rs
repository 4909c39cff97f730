//! Triggers that start, restart and stop objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::time::Time;

/// Objects that trigger a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct RestartOnSpec {
    /// Names of FileWatch objects; a file change is a trigger.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file_watches: Vec<String>,
    /// Names of UIButton objects; a click is a trigger, and its inputs become environment variables.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ui_buttons: Vec<String>,
}

/// Objects that trigger a start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct StartOnSpec {
    /// Ignores clicks before this time.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_after: Option<Time>,
    /// Names of UIButton objects; a click is a trigger, and its inputs become environment variables.
    pub ui_buttons: Vec<String>,
}

/// Objects that trigger a stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct StopOnSpec {
    /// Names of UIButton objects; a click is a trigger.
    pub ui_buttons: Vec<String>,
}
