//! `PodLogStream`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::time::Time;

/// Streams the logs of a pod's containers to the log of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStream {
    /// The desired state.
    pub spec: PodLogStreamSpec,
    /// The observed state, set by the session.
    pub status: PodLogStreamStatus,
}

impl ApiKind for PodLogStream {
    const PLURAL: &'static str = "podlogstreams";
    const SHORT_NAMES: &'static [&'static str] = &["pls"];
}

/// The pod and the containers whose logs are streamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStreamSpec {
    /// Name of the Cluster object. Defaults to `default`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
    /// Name of the pod.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod: String,
    /// Namespace of the pod. Defaults to that of the kubeconfig context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
    /// Skips log lines before this time.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub since_time: Option<Time>,
    /// Streams only these containers. Defaults to all containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub only_containers: Vec<String>,
    /// Skips these containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ignore_containers: Vec<String>,
}

/// The logs of pods to stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStreamTemplateSpec {
    /// Skips log lines before this time.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub since_time: Option<Time>,
    /// Streams only these containers. Defaults to all containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub only_containers: Vec<String>,
    /// Skips these containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ignore_containers: Vec<String>,
}

/// The observed state of the log streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStreamStatus {
    /// State of the log stream of each container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_statuses: Vec<ContainerLogStreamStatus>,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

/// State of the log stream of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerLogStreamStatus {
    /// Whether the log is being read.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub active: bool,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Name of the container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
    /// Whether the log was read to its end.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: bool,
}

/// Sidecar containers whose logs are skipped by default.
pub const QUIET_CONTAINERS: [&str; 4] = ["istio-init", "istio-proxy", "linkerd-proxy", "linkerd-init"];

impl PodLogStreamTemplateSpec {
    /// Returns the template that ignores [`QUIET_CONTAINERS`].
    pub fn without_sidecars() -> Self {
        Self { ignore_containers: QUIET_CONTAINERS.map(str::to_owned).into(), ..Self::default() }
    }
}
