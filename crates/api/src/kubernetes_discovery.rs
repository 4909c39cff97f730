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

/// Looks for pods: those that came of certain objects, or that have certain labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscovery {
    /// What is wanted.
    pub spec: KubernetesDiscoverySpec,
    /// What is so. The session writes it.
    pub status: KubernetesDiscoveryStatus,
}

impl ApiKind for KubernetesDiscovery {
    const PLURAL: &'static str = "kubernetesdiscoveries";
    const SHORT_NAMES: &'static [&'static str] = &["kd", "kdisco"];
}

/// Which pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoverySpec {
    /// Where they are, and what they come of.
    pub watches: Vec<KubernetesWatchRef>,
    /// Pods of the watched namespaces with these labels count, too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_selectors: Vec<LabelSelector>,
    /// Which ports lead to the best of them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub port_forward_template_spec: Option<PortForwardTemplateSpec>,
    /// Which of their logs are shown.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_log_stream_template_spec: Option<PodLogStreamTemplateSpec>,
    /// The name of the Cluster object; without one it is "default".
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
}

/// A namespace, and an object in it that pods come of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesWatchRef {
    /// The uid of the object; without one the namespace alone counts.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub uid: String,
    /// The namespace.
    pub namespace: String,
    /// The name of the object, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
}

/// The pods that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryStatus {
    /// Since when nothing is missed.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub monitor_start_time: Option<Timestamp>,
    /// The pods, as they are now.
    pub pods: Vec<Pod>,
    /// Set while it runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: Option<KubernetesDiscoveryStateRunning>,
    /// Set while it has not begun.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<KubernetesDiscoveryStateWaiting>,
}

/// It cannot look yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryStateWaiting {
    /// Why, in a word or a sentence.
    pub reason: String,
}

/// It looks for pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryStateRunning {
    /// When it began.
    pub start_time: Option<Timestamp>,
}
