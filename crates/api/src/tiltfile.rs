//! `Tiltfile`.

use std::collections::BTreeMap;

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::triggers::{RestartOnSpec, StopOnSpec};

/// A Tiltfile that is loaded: where it is, its arguments, and what became of the last load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Tiltfile {
    /// What is wanted.
    pub spec: TiltfileSpec,
    /// What is so. The session writes it.
    pub status: TiltfileStatus,
}

impl ApiKind for Tiltfile {
    const PLURAL: &'static str = "tiltfiles";
}

/// Which Tiltfile, and how it is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileSpec {
    /// Its arguments. Others load it anew.
    #[schemars(skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// Labels for all that it declares.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The file.
    pub path: String,
    /// What starts it anew.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart_on: Option<RestartOnSpec>,
    /// What stops a load.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stop_on: Option<StopOnSpec>,
}

/// What became of the last load; one of waiting, running and terminated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStatus {
    /// Set while it runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: Option<TiltfileStateRunning>,
    /// Set when it has ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: Option<TiltfileStateTerminated>,
    /// Set while it has not begun.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<TiltfileStateWaiting>,
}

/// It has not been loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStateWaiting {
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// It is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStateRunning {
    /// Why it is loaded.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reasons: Vec<String>,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
}

/// The load has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltfileStateTerminated {
    /// What went wrong; empty if nothing did.
    #[schemars(skip_serializing_if = "is_empty")]
    pub error: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// Why it was loaded.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reasons: Vec<String>,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// How many warnings there were.
    #[schemars(skip_serializing_if = "is_empty")]
    pub warning_count: i32,
}
