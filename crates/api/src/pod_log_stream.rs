//! `PodLogStream`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::time::Time;

/// Brings the logs of a pod's containers into a resource's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStream {
    /// What is wanted.
    pub spec: PodLogStreamSpec,
    /// What is so. The session writes it.
    pub status: PodLogStreamStatus,
}

impl ApiKind for PodLogStream {
    const PLURAL: &'static str = "podlogstreams";
    const SHORT_NAMES: &'static [&'static str] = &["pls"];
}

/// Whose logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStreamSpec {
    /// The name of the Cluster object; without one it is "default".
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
    /// The pod.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod: String,
    /// The namespace in the cluster; without one it is that of the kubeconfig context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
    /// Lines before that are left out.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub since_time: Option<Time>,
    /// Only these.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub only_containers: Vec<String>,
    /// All but these.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ignore_containers: Vec<String>,
}

/// Which logs of pods are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStreamTemplateSpec {
    /// Lines before that are left out.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub since_time: Option<Time>,
    /// Only those of these containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub only_containers: Vec<String>,
    /// All but those of these containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ignore_containers: Vec<String>,
}

/// How it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodLogStreamStatus {
    /// Each container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_statuses: Vec<ContainerLogStreamStatus>,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

/// The log of one container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerLogStreamStatus {
    /// Whether it is read.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub active: bool,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// The name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
    /// Whether all of it was read.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: bool,
}

/// Sidecars whose logs are not shown.
pub const QUIET_CONTAINERS: [&str; 4] = ["istio-init", "istio-proxy", "linkerd-proxy", "linkerd-init"];

impl PodLogStreamTemplateSpec {
    /// Returns the template that ignores [`QUIET_CONTAINERS`].
    pub fn without_sidecars() -> Self {
        Self { ignore_containers: QUIET_CONTAINERS.map(str::to_owned).into(), ..Self::default() }
    }
}
