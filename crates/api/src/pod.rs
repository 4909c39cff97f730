//! Pods, as a `KubernetesDiscovery` reports them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::time::Time;

/// A pod, as the cluster tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// What it came of.
    #[serde(rename = "ancestorUID", default, skip_serializing_if = "is_empty")]
    pub ancestor_uid: String,
    /// What the cluster says of it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub conditions: Vec<PodCondition>,
    /// Its containers.
    pub containers: Vec<Container>,
    /// When it was made.
    pub created_at: Option<Time>,
    /// Whether it is about to go.
    pub deleting: bool,
    /// What is wrong with it.
    pub errors: Vec<String>,
    /// Those that run before the others.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub init_containers: Vec<Container>,
    /// The name.
    pub name: String,
    /// The namespace in the cluster; without one it is that of the kubeconfig context.
    pub namespace: String,
    /// What made it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub owner: Option<PodOwner>,
    /// Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
    /// Tells pods of one deployment from those of the next.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_template_spec_hash: String,
    /// How it is, as `kubectl get pods` says it.
    pub status: String,
    /// Its uid.
    pub uid: String,
}

/// Something that is so of a pod, or is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// Since when it is so.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_transition_time: Option<Time>,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// True, False or Unknown.
    pub status: String,
    /// What it is about, such as Ready.
    #[serde(rename = "type")]
    pub kind: String,
}

/// What made a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodOwner {
    /// Group and version of the object.
    pub api_version: String,
    /// When that was made.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub creation_timestamp: Option<Time>,
    /// What the object is.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// What the container runtime calls it.
    pub id: String,
    /// The image that it runs.
    pub image: String,
    /// The name.
    pub name: String,
    /// The ports that it declares.
    pub ports: Vec<i32>,
    /// Whether it is ready.
    pub ready: bool,
    /// How often it was started again.
    pub restarts: i32,
    /// How it is; one of three.
    pub state: ContainerState,
}

/// How a container is; one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerState {
    /// Set while it runs.
    pub running: Option<ContainerStateRunning>,
    /// Set when it has ended.
    pub terminated: Option<ContainerStateTerminated>,
    /// Set while it has not begun.
    pub waiting: Option<ContainerStateWaiting>,
}

/// It has not begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateWaiting {
    /// Why, in a word or a sentence.
    pub reason: String,
}

/// It runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateRunning {
    /// When it began.
    pub started_at: Option<Time>,
}

/// It has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateTerminated {
    /// The code that the process ended with.
    pub exit_code: i32,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// When it began.
    pub started_at: Option<Time>,
}
