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

/// A resource as people see it: what it does, whether it is ready, what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResource {
    /// Group and version of the object.
    pub api_version: String,
    /// What the object is.
    pub kind: String,
    /// Name, labels and what else all objects have.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub spec: UIResourceSpec,
    /// What is so. The session writes it.
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

/// Nothing: a resource is declared in a Tiltfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct UIResourceSpec {}

/// What is known of the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceStatus {
    /// When an update last succeeded.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_deploy_time: Option<Timestamp>,
    /// 0: saves update it; 1: they wait for a trigger; 2 and 3: the same, and it does not begin by itself (2 waits
    /// for triggers always, 3 only at first).
    #[serde(default, skip_serializing_if = "is_empty")]
    pub trigger_mode: i32,
    /// Its last updates, the newest first.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub build_history: Vec<UIBuildTerminated>,
    /// The update that runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub current_build: Option<UIBuildRunning>,
    /// Since when an update is due.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub pending_build_since: Option<Timestamp>,
    /// Whether something was saved that no update has brought.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub has_pending_changes: bool,
    /// Where it can be looked at.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub endpoint_links: Vec<UIResourceLink>,
    /// Its pod, if it is deployed to Kubernetes.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub k8s_resource_info: Option<UIResourceKubernetes>,
    /// Its process, if it is a local one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub local_resource_info: Option<UIResourceLocal>,
    /// Its container, if it is a Docker Compose service.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub compose_resource_info: Option<UIResourceCompose>,
    /// How it runs: ok, pending, error, none, unknown or not_applicable.
    #[schemars(skip_serializing_if = "is_empty")]
    pub runtime_status: RuntimeStatus,
    /// How its updates go: ok, pending, in_progress, error, none or not_applicable.
    #[schemars(skip_serializing_if = "is_empty")]
    pub update_status: UpdateStatus,
    /// What it is made of.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub specs: Vec<UIResourceTargetSpec>,
    /// Whether somebody asked for an update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub queued: bool,
    /// Where it stands among the others.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub order: i32,
    /// Whether the object is switched off, and by what.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableResourceStatus>,
    /// What its next update waits for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<UIResourceStateWaiting>,
    /// UpToDate and Ready.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub conditions: Vec<UIResourceCondition>,
}

/// An update that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBuildTerminated {
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// What it warned of.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub warnings: Vec<String>,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_time: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finish_time: Option<Timestamp>,
    /// The section of the log that tells of it.
    #[serde(rename = "spanID", default, skip_serializing_if = "is_empty")]
    pub span_id: String,
    /// Whether it replaced a container that had lost its live updates.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub is_crash_rebuild: bool,
}

/// An update that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBuildRunning {
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_time: Option<Timestamp>,
    /// The section of the log that tells of it.
    #[serde(rename = "spanID", default, skip_serializing_if = "is_empty")]
    pub span_id: String,
}

/// Where something can be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceLink {
    /// The address.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub url: String,
    /// What the link is called.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
}

/// The newest pod of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceKubernetes {
    /// Its name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_name: String,
    /// When it was made.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    #[schemars(with = "Option<Time>")]
    pub pod_creation_time: Option<Timestamp>,
    /// When the update that made it began.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    #[schemars(with = "Option<Time>")]
    pub pod_update_start_time: Option<Timestamp>,
    /// How it is, as `kubectl get pods` says it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_status: String,
    /// Why, if something is wrong.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_status_message: String,
    /// Whether all its containers are ready.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub all_containers_ready: bool,
    /// How often its containers were started again.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_restarts: i32,
    /// The section of the log that tells of it.
    #[serde(rename = "spanID", default, skip_serializing_if = "is_empty")]
    pub span_id: String,
    /// The objects of the resource, as name:kind.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub display_names: Vec<String>,
}

/// A container of Docker Compose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceCompose {
    /// What its health check says.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub health_status: String,
}

/// The process of a local resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceLocal {
    /// The number of its server's process; 0 if none runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pid: i64,
    /// Whether it is a test.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub is_test: bool,
}

/// A part of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceTargetSpec {
    /// What it is called, such as image:web.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub id: String,
    /// image, k8s, local or docker-compose.
    #[serde(rename = "type", default, skip_serializing_if = "is_empty")]
    pub kind: String,
    /// Whether saved files are copied into its containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub has_live_update: bool,
}

/// What an update waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceStateWaiting {
    /// Why, in a word or a sentence.
    pub reason: String,
    /// The objects that it waits for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub on: Vec<UIResourceStateWaitingOnRef>,
}

/// An object that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceStateWaitingOnRef {
    /// The group of its kind.
    pub group: String,
    /// Group and version of the object.
    pub api_version: String,
    /// What the object is.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// Something that is so of a resource, or is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIResourceCondition {
    /// UpToDate or Ready.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// Since when it is so.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_transition_time: Option<Timestamp>,
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
}

/// Whether what runs is healthy.
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

/// Whether what runs was made from what is on disk.
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
