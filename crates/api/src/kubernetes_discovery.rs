//! `KubernetesDiscovery`.

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::meta::LabelSelector;
use super::pod::Pod;
use super::pod_log_stream::PodLogStreamTemplateSpec;
use super::port_forward::PortForwardTemplateSpec;

/// Finds pods by owner or by label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscovery {
    /// The desired state.
    pub spec: KubernetesDiscoverySpec,
    /// The observed state, set by the session.
    pub status: KubernetesDiscoveryStatus,
}

impl ApiKind for KubernetesDiscovery {
    const PLURAL: &'static str = "kubernetesdiscoveries";
    const SHORT_NAMES: &'static [&'static str] = &["kd", "kdisco"];
}

/// The pods to find.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoverySpec {
    /// Namespaces to watch, and owners of the pods.
    pub watches: Vec<KubernetesWatchRef>,
    /// Label selectors of additional pods in the watched namespaces.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_selectors: Vec<LabelSelector>,
    /// Port forwards to the best matching pod.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub port_forward_template_spec: Option<PortForwardTemplateSpec>,
    /// Logs of the pods to stream.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_log_stream_template_spec: Option<PodLogStreamTemplateSpec>,
    /// Name of the Cluster object. Defaults to `default`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
}

/// A namespace to watch, and an owner of pods in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesWatchRef {
    /// UID of the owner. If empty, pods are found only by `extraSelectors`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub uid: String,
    /// Namespace to watch. Defaults to that of the kubeconfig context.
    pub namespace: String,
    /// Name of the owner, for display only.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
}

/// The pods that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryStatus {
    /// Time when watching started; changes after it are reported.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub monitor_start_time: Option<Timestamp>,
    /// Current pods.
    pub pods: Vec<Pod>,
    /// Set while pods are watched.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: Option<KubernetesDiscoveryStateRunning>,
    /// Set while watching has not started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<KubernetesDiscoveryStateWaiting>,
}

/// Details of a discovery that has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryStateWaiting {
    /// Reason why the discovery is waiting.
    pub reason: String,
}

/// Details of a running discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryStateRunning {
    /// Time when watching started.
    pub start_time: Option<Timestamp>,
}
