//! `UIResource`.

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::API_VERSION;
use super::disable::DisableResourceStatus;
use super::is_empty;
use super::kinds::ApiKind;
use super::meta::ObjectMeta;
use super::object_kind::ApiContent as _;
use super::time::Time;

/// The state of a resource, as shown to users: its updates, its readiness and its holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResource {
    /// API group and version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub spec: UIResourceSpec,
    /// The observed state, set by the session.
    pub status: UIResourceStatus,
}

impl UIResource {
    pub fn new(metadata: ObjectMeta, status: UIResourceStatus) -> Self {
        Self {
            api_version: API_VERSION.into(),
            kind: Self::KIND.name().into(),
            metadata,
            spec: UIResourceSpec {},
            status,
        }
    }
}

impl Default for UIResource {
    fn default() -> Self {
        Self::new(ObjectMeta::default(), UIResourceStatus::default())
    }
}

impl ApiKind for UIResource {
    const PLURAL: &'static str = "uiresources";
}

/// Empty: resources are defined in a Tiltfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct UIResourceSpec {}

/// The observed state of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceStatus {
    /// Time of the last successful update.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_deploy_time: Option<Timestamp>,
    /// 0: auto. 1: manual. 2: manual, without an initial update. 3: auto, once triggered manually.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub trigger_mode: i32,
    /// Recent updates, newest first.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub build_history: Vec<UIBuildTerminated>,
    /// The running update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub current_build: Option<UIBuildRunning>,
    /// Time since when an update is pending.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub pending_build_since: Option<Timestamp>,
    /// Whether files changed since the last update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub has_pending_changes: bool,
    /// Links to the endpoints of the resource.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub endpoint_links: Vec<UIResourceLink>,
    /// Details of the pod; set for Kubernetes resources.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub k8s_resource_info: Option<UIResourceKubernetes>,
    /// Details of the process; set for local resources.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub local_resource_info: Option<UIResourceLocal>,
    /// Details of the container; set for Docker Compose resources.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub compose_resource_info: Option<UIResourceCompose>,
    /// One of `ok`, `pending`, `error`, `none`, `unknown` and `not_applicable`.
    #[schemars(skip_serializing_if = "is_empty")]
    pub runtime_status: RuntimeStatus,
    /// One of `ok`, `pending`, `in_progress`, `error`, `none` and `not_applicable`.
    #[schemars(skip_serializing_if = "is_empty")]
    pub update_status: UpdateStatus,
    /// Targets of the resource.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub specs: Vec<UIResourceTargetSpec>,
    /// Whether an update was requested.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub queued: bool,
    /// Position in the list of resources.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub order: i32,
    /// Whether the resource is disabled.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableResourceStatus>,
    /// The reason why the next update has not started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<UIResourceStateWaiting>,
    /// The conditions `UpToDate` and `Ready`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub conditions: Vec<UIResourceCondition>,
}

/// A finished update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBuildTerminated {
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Warnings of the update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub warnings: Vec<String>,
    /// Time when the update started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_time: Option<Timestamp>,
    /// Time when the update finished.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finish_time: Option<Timestamp>,
    /// ID of the log span of the update.
    #[serde(rename = "spanID", default, skip_serializing_if = "is_empty")]
    pub span_id: String,
    /// Whether the update replaced a container that had lost its live updates.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub is_crash_rebuild: bool,
}

/// A running update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBuildRunning {
    /// Time when the update started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_time: Option<Timestamp>,
    /// ID of the log span of the update.
    #[serde(rename = "spanID", default, skip_serializing_if = "is_empty")]
    pub span_id: String,
}

/// A link to an endpoint of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceLink {
    /// URL of the endpoint.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub url: String,
    /// Name of the link.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
}

/// The newest pod of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceKubernetes {
    /// Name of the pod.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_name: String,
    /// Time when the pod was created.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    #[schemars(with = "Option<Time>")]
    pub pod_creation_time: Option<Timestamp>,
    /// Start time of the update that created the pod.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    #[schemars(with = "Option<Time>")]
    pub pod_update_start_time: Option<Timestamp>,
    /// Status as shown by `kubectl get pods`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_status: String,
    /// Details of an unhealthy status.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_status_message: String,
    /// Whether all containers are ready.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub all_containers_ready: bool,
    /// Number of container restarts.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_restarts: i32,
    /// ID of the log span of the pod.
    #[serde(rename = "spanID", default, skip_serializing_if = "is_empty")]
    pub span_id: String,
    /// Objects of the resource, as `name:kind`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub display_names: Vec<String>,
}

/// The container of a Docker Compose service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceCompose {
    /// Result of the container's health check.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub health_status: String,
}

/// The process of a local resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceLocal {
    /// Process ID of the server; 0 if it is not running.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pid: i64,
    /// Whether the resource is a test.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub is_test: bool,
}

/// A target of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceTargetSpec {
    /// ID of the target, such as `image:web`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub id: String,
    /// `image`, `k8s`, `local` or `docker-compose`.
    #[serde(rename = "type", default, skip_serializing_if = "is_empty")]
    pub kind: String,
    /// Whether the target has a live update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub has_live_update: bool,
}

/// The reason why an update has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceStateWaiting {
    /// Reason why the update has not started, such as `waiting-for-dep`.
    pub reason: String,
    /// Objects that the update is waiting for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub on: Vec<UIResourceStateWaitingOnRef>,
}

/// Reference to an object that an update is waiting for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceStateWaitingOnRef {
    /// API group of the object.
    pub group: String,
    /// API group and version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
}

/// One aspect of the state of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceCondition {
    /// Type of the condition: `UpToDate` or `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Time of the last change of `status`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_transition_time: Option<Timestamp>,
    /// Reason for the last change of `status`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// Human-readable details.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
}

/// Health of the running workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Status of the updates of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
