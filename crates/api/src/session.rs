//! `Session`.

use lilt_model::Timestamp;
use lilt_model::settings::CiSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::time::Duration;

/// A run of the program and the state of its targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Session {
    /// The desired state.
    pub spec: SessionSpec,
    /// The observed state, set by the session.
    pub status: SessionStatus,
}

impl ApiKind for Session {
    const PLURAL: &'static str = "sessions";
}

/// The Tiltfile and the exit condition of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSpec {
    /// Path of the main Tiltfile.
    pub tiltfile_path: String,
    /// `manual` runs until stopped; `ci` runs until all targets are ready or one has failed.
    pub exit_condition: String,
    /// Timeouts of `ci`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ci: Option<SessionCISpec>,
}

/// Timeouts of `ci`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionCISpec {
    /// Time after a deployment in which errors of pods are tolerated. Defaults to none.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub k8s_grace_period: Option<Duration>,
    /// Timeout of the whole run. Defaults to `30m`; `0s` disables it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub timeout: Option<Duration>,
    /// Time that a server may take to become ready. Defaults to `5m`; `0s` disables it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub readiness_timeout: Option<Duration>,
}

/// The observed state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionStatus {
    /// Process ID.
    pub pid: i64,
    /// Time when the session started.
    pub start_time: Option<Timestamp>,
    /// Whether the session has finished its work.
    pub done: bool,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Targets that must finish or become ready.
    pub targets: Vec<Target>,
}

/// A unit of work of a resource: `NAME:update`, `NAME:serve` or `NAME:runtime`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Target {
    /// Name of the target.
    pub name: String,
    /// `job` (runs to completion) or `server` (keeps running).
    #[serde(rename = "type")]
    pub kind: String,
    /// Names of the resources that the target belongs to.
    pub resources: Vec<String>,
    /// State of the target.
    pub state: TargetState,
}

/// State of a target; at most one field is set. None is set if the target does not start by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetState {
    /// Set while the target has not started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<TargetStateWaiting>,
    /// Set while the target runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub active: Option<TargetStateActive>,
    /// Set when the target has finished or failed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: Option<TargetStateTerminated>,
    /// Set while the target is disabled.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disabled: Option<TargetStateDisabled>,
}

/// Details of a target that has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStateWaiting {
    /// Reason as a single word, such as `waiting-for-dep`.
    pub wait_reason: String,
}

/// Details of a running target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStateActive {
    /// Time when the target started.
    pub start_time: Option<Timestamp>,
    /// Whether the target is ready.
    pub ready: bool,
    /// Time since when the target is ready.
    pub last_ready_time: Option<Timestamp>,
}

/// Details of a target that has finished or failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStateTerminated {
    /// Time when the target started.
    pub start_time: Option<Timestamp>,
    /// Time when the target finished.
    pub finish_time: Option<Timestamp>,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// `Tolerated` during the grace period of an error, `Exceeded` after it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub grace_status: String,
}

/// Details of a disabled target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct TargetStateDisabled {}

impl SessionCISpec {
    /// Returns the timeouts of `ci` with Tilt's defaults filled in. `timeout` is that of the whole run.
    pub fn new(settings: &CiSettings, timeout: std::time::Duration) -> Self {
        let readiness_timeout = settings.readiness_timeout.unwrap_or(CiSettings::READINESS_TIMEOUT);
        Self {
            k8s_grace_period: settings.k8s_grace_period.map(Duration),
            timeout: Some(Duration(timeout)),
            readiness_timeout: Some(Duration(readiness_timeout)),
        }
    }
}
