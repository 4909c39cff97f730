//! `Tiltfile`.

use std::collections::BTreeMap;

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::triggers::{RestartOnSpec, StopOnSpec};

/// A Tiltfile and the result of its last load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Tiltfile {
    /// The desired state.
    pub spec: TiltfileSpec,
    /// The observed state, set by the session.
    pub status: TiltfileStatus,
}

impl ApiKind for Tiltfile {
    const PLURAL: &'static str = "tiltfiles";
}

/// The path of a Tiltfile and the settings for loading it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileSpec {
    /// Arguments of the Tiltfile. A change reloads it.
    #[schemars(skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// Labels added to all resources of the Tiltfile.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Path of the Tiltfile.
    pub path: String,
    /// Triggers that reload the Tiltfile.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart_on: Option<RestartOnSpec>,
    /// Triggers that stop a load.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stop_on: Option<StopOnSpec>,
}

/// The result of the last load; one of `waiting`, `running` and `terminated` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStatus {
    /// Set while the Tiltfile is being loaded.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: Option<TiltfileStateRunning>,
    /// Set when the last load has finished.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: Option<TiltfileStateTerminated>,
    /// Set while the Tiltfile has not been loaded.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<TiltfileStateWaiting>,
}

/// Details of a load that has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStateWaiting {
    /// Reason why the load is waiting.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// Details of a running load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStateRunning {
    /// Reasons for the load.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reasons: Vec<String>,
    /// Time when the load started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
}

/// Details of a finished load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStateTerminated {
    /// The error; empty on success.
    #[schemars(skip_serializing_if = "is_empty")]
    pub error: String,
    /// Time when the load finished.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// Reasons for the load.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reasons: Vec<String>,
    /// Time when the load started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// Number of warnings.
    #[schemars(skip_serializing_if = "is_empty")]
    pub warning_count: i32,
}
