//! What starts, restarts and stops something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::time::Time;

/// What starts something anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct RestartOnSpec {
    /// Names of FileWatch objects: a save does.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file_watches: Vec<String>,
    /// Names of UIButton objects: a click does, and what was entered becomes variables.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ui_buttons: Vec<String>,
}

/// What starts something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct StartOnSpec {
    /// Clicks before that do not count.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_after: Option<Time>,
    /// Names of UIButton objects: a click does, and what was entered becomes variables.
    pub ui_buttons: Vec<String>,
}

/// What stops something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct StopOnSpec {
    /// Names of UIButton objects: a click does.
    pub ui_buttons: Vec<String>,
}
