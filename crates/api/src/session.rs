//! `Session`.

use lilt_model::Timestamp;
use lilt_model::settings::CiSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::time::Duration;

/// What a run of the program is for and how far each of its targets is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Session {
    /// What is wanted.
    pub spec: SessionSpec,
    /// What is so. The session writes it.
    pub status: SessionStatus,
}

impl ApiKind for Session {
    const PLURAL: &'static str = "sessions";
}

/// What the session is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSpec {
    /// The main Tiltfile.
    pub tiltfile_path: String,
    /// manual: it runs until it is stopped; ci: until everything is ready or something is broken.
    pub exit_condition: String,
    /// How patient `ci` is.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ci: Option<SessionCISpec>,
}

/// How patient `ci` is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionCISpec {
    /// How long pods may be broken after a deployment.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub k8s_grace_period: Option<Duration>,
    /// How long the whole may take; 0s: as long as it likes.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub timeout: Option<Duration>,
    /// How long a server may take to become ready.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub readiness_timeout: Option<Duration>,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionStatus {
    /// The number of the process.
    pub pid: i64,
    /// When it began.
    pub start_time: Option<Timestamp>,
    /// Whether it is over.
    pub done: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Everything that must be done or run.
    pub targets: Vec<Target>,
}

/// Something that must be done or run: NAME:update, NAME:serve or NAME:runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Target {
    /// The name.
    pub name: String,
    /// job, which ends, or server, which runs on.
    #[serde(rename = "type")]
    pub kind: String,
    /// The resources that it belongs to.
    pub resources: Vec<String>,
    /// How it is.
    pub state: TargetState,
}

/// How a target is; one of them, or none if it is not to begin by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetState {
    /// Set while it has not begun.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<TargetStateWaiting>,
    /// Set while it runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub active: Option<TargetStateActive>,
    /// Set when it has ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: Option<TargetStateTerminated>,
    /// Set while it is switched off.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disabled: Option<TargetStateDisabled>,
}

/// It waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStateWaiting {
    /// For what, in a word such as waiting-for-dep.
    pub wait_reason: String,
}

/// It runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStateActive {
    /// When it began.
    pub start_time: Option<Timestamp>,
    /// Whether it is ready.
    pub ready: bool,
    /// Since when it is ready.
    pub last_ready_time: Option<Timestamp>,
}

/// It has ended, or is broken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStateTerminated {
    /// When it began.
    pub start_time: Option<Timestamp>,
    /// When it ended.
    pub finish_time: Option<Timestamp>,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Tolerated while what is broken may still mend, Exceeded after that.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub grace_status: String,
}

/// It is switched off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct TargetStateDisabled {}

impl SessionCISpec {
    /// Returns the settings of `ci`, with the defaults that Tilt fills in. `timeout` is that of the whole run.
    pub fn new(settings: &CiSettings, timeout: std::time::Duration) -> Self {
        let readiness_timeout = settings.readiness_timeout.unwrap_or(CiSettings::READINESS_TIMEOUT);
        Self {
            k8s_grace_period: settings.k8s_grace_period.map(Duration),
            timeout: Some(Duration(timeout)),
            readiness_timeout: Some(Duration(readiness_timeout)),
        }
    }
}
