//! `LiveUpdate`.

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::ApiKind;
use super::{is_empty, null_if_empty};

/// Copies saved files into running containers, without a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdate {
    /// What is wanted.
    pub spec: LiveUpdateSpec,
    /// What is so. The session writes it.
    pub status: LiveUpdateStatus,
}

impl ApiKind for LiveUpdate {
    const NAME: &'static str = "LiveUpdate";
    const PLURAL: &'static str = "liveupdates";
}

/// What goes where, when files are saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSpec {
    /// The folder that local paths count from.
    pub base_path: String,
    /// Which containers.
    pub selector: LiveUpdateSelector,
    /// A save of one of these cannot be copied: it takes a build.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stop_paths: Vec<String>,
    /// Which files go where.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub syncs: Vec<LiveUpdateSync>,
    /// Commands that run in the container after files were copied.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub execs: Vec<LiveUpdateExec>,
    /// "always" if the container is restarted after each update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart: String,
    /// Set if all files go into every container that starts.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub initial_sync: Option<LiveUpdateInitialSync>,
    /// Where saves are seen.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub sources: Vec<LiveUpdateSource>,
}

/// Where saves are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSource {
    /// The FileWatch that sees them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file_watch: String,
    /// The ImageMap whose builds have them, once they are built.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_map: String,
}

/// Which containers; one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSelector {
    /// Those of a Docker Compose service.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub docker_compose: Option<LiveUpdateDockerComposeSelector>,
    /// Those of pods.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes: Option<LiveUpdateKubernetesSelector>,
}

/// Containers of pods; found by one of image, imageMapName and containerName.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateKubernetesSelector {
    /// The KubernetesDiscovery that finds the pods.
    pub discovery_name: String,
    /// The KubernetesApply that the pods come of: only those of its last apply count.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub apply_name: String,
    /// Those that run the image of this ImageMap.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_map_name: String,
    /// Those of this name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_name: String,
    /// Those that run this image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image: String,
}

/// Containers of a Docker Compose service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateDockerComposeSelector {
    /// The name of the service.
    pub service: String,
}

/// A path and its place in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSync {
    /// The path on this machine.
    pub local_path: String,
    /// The absolute path in the container.
    pub container_path: String,
}

/// A command in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateExec {
    /// The command, word by word.
    pub args: Vec<String>,
    /// It runs only if one of these was saved; without any, always.
    #[schemars(skip_serializing_if = "is_empty")]
    #[serde(serialize_with = "null_if_empty")]
    #[schemars(with = "Vec<String>")]
    pub trigger_paths: Vec<String>,
    /// Whether the command itself is left out of the log.
    pub echo_off: bool,
}

/// All files go into every container that starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LiveUpdateInitialSync {}

/// How far each container is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateStatus {
    /// The containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Vec<LiveUpdateContainerStatus>,
    /// Set if it cannot be done.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub failed: Option<LiveUpdateStateFailed>,
}

/// How far a container is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateContainerStatus {
    /// The container.
    #[serde(rename = "containerID", default, skip_serializing_if = "is_empty")]
    pub container_id: String,
    /// Its name in the pod.
    pub container_name: String,
    /// The pod.
    pub pod_name: String,
    /// The namespace in the cluster; without one it is that of the kubeconfig context.
    pub namespace: String,
    /// The newest save that it has.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_file_time_synced: Option<Timestamp>,
    /// What the last command that failed said.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_exec_error: String,
    /// Set while it cannot be updated.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<LiveUpdateContainerStateWaiting>,
}

/// Why a container cannot be updated now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateContainerStateWaiting {
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
}

/// Why it cannot be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateStateFailed {
    /// Why, in a word.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
    /// Since when it is so.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_transition_time: Option<Timestamp>,
}
