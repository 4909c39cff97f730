//! `UIResource`: one resource as page and scripts see it.

use serde::{Deserialize, Serialize};

use super::meta::ObjectMeta;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UIResource {
    pub api_version: String,
    pub kind: String,
    pub metadata: ObjectMeta,
    pub status: UIResourceStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceStatus {
    /// Written as `null` where there is none, as Tilt does.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_deploy_time: Option<Timestamp>,
    /// 0 auto; 1 manual with auto init; 2 manual; 3 auto without auto init.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trigger_mode: i32,
    /// Newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build_history: Vec<BuildTerminated>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_build: Option<BuildRunning>,
    /// Written as `null` where there is none, as Tilt does.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub pending_build_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_pending_changes: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoint_links: Vec<EndpointLink>,
    #[serde(rename = "k8sResourceInfo", default, skip_serializing_if = "Option::is_none")]
    pub k8s_resource_info: Option<KubernetesInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_resource_info: Option<LocalInfo>,
    pub runtime_status: RuntimeStatus,
    pub update_status: UpdateStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specs: Vec<TargetSpec>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub queued: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub order: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disable_status: Option<DisableResourceStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Is what runs healthy?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RuntimeStatus {
    #[default]
    Unknown,
    Ok,
    Pending,
    Error,
    NotApplicable,
    None,
}

/// Is what runs made from what is on disk?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum UpdateStatus {
    #[default]
    None,
    Pending,
    InProgress,
    Ok,
    Error,
    NotApplicable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct BuildRunning {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Timestamp>,
    #[serde(rename = "spanID", default, skip_serializing_if = "String::is_empty")]
    pub span_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct BuildTerminated {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_time: Option<Timestamp>,
    #[serde(rename = "spanID", default, skip_serializing_if = "String::is_empty")]
    pub span_id: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_crash_rebuild: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointLink {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesInfo {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod_name: String,
    /// Written as `null` where there is none, as Tilt does.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub pod_creation_time: Option<Timestamp>,
    /// Written as `null` where there is none, as Tilt does.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub pod_update_start_time: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod_status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod_status_message: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub all_containers_ready: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pod_restarts: i32,
    #[serde(rename = "spanID", default, skip_serializing_if = "String::is_empty")]
    pub span_id: String,
    /// The objects of the resource, as `web:deployment`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub display_names: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LocalInfo {
    #[serde(default, skip_serializing_if = "is_zero_long")]
    pub pid: i64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_test: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TargetSpec {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// `image`, `k8s`, `local` …
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_live_update: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DisableResourceStatus {
    pub enabled_count: i32,
    pub disabled_count: i32,
    /// `Enabled`, `Disabled` or `Pending`.
    pub state: String,
    #[cfg_attr(feature = "ts", ts(type = "unknown[]"))]
    pub sources: Vec<serde_json::Value>,
}

/// Why an update does not start, in Tilt's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Waiting {
    pub reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<WaitingOn>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct WaitingOn {
    pub group: String,
    pub api_version: String,
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// `Ready` or `UpToDate`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

// serde hands references to these predicates.
fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &i32) -> bool {
    *value == 0
}

fn is_zero_long(value: &i64) -> bool {
    *value == 0
}
