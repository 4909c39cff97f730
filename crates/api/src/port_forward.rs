//! `PortForward`.

use lilt_model::Timestamp;
use lilt_model::kubernetes as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;

/// Forwards ports of this machine to ports of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForward {
    /// The desired state.
    pub spec: PortForwardSpec,
    /// The observed state, set by the session.
    pub status: PortForwardStatus,
}

impl ApiKind for PortForward {
    const PLURAL: &'static str = "portforwards";
    const SHORT_NAMES: &'static [&'static str] = &["pf"];
}

/// The pod and the ports to forward.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForwardSpec {
    /// Name of the pod.
    pub pod_name: String,
    /// Namespace of the pod. Defaults to that of the kubeconfig context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
    /// Ports to forward.
    pub forwards: Vec<Forward>,
    /// Name of the Cluster object. Defaults to `default`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
}

/// Port forwards to a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForwardTemplateSpec {
    /// Ports to forward.
    pub forwards: Vec<Forward>,
}

/// A port of this machine that is forwarded to a port of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Forward {
    /// Port on this machine; 0 selects a free port.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub local_port: i32,
    /// Port in the container.
    pub container_port: i32,
    /// Address to listen on. Defaults to `localhost`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
    /// Name of the link to the port.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
    /// Path appended to the URL of the link.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
}

/// The observed state of the port forwards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForwardStatus {
    /// State of each port forward.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub forward_statuses: Vec<ForwardStatus>,
}

/// State of a port forward.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ForwardStatus {
    /// Port on this machine that is in use.
    pub local_port: i32,
    /// Port in the container.
    pub container_port: i32,
    /// Addresses that are listened on.
    pub addresses: Vec<String>,
    /// Time when the port forward started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

impl PortForwardTemplateSpec {
    /// Returns a template with these forwards, or `None` if there are none.
    pub fn unless_empty(forwards: &[model::Forward]) -> Option<Self> {
        (!forwards.is_empty()).then(|| Self { forwards: forwards.iter().map(Forward::from).collect() })
    }
}

impl From<&model::Forward> for Forward {
    fn from(forward: &model::Forward) -> Self {
        let host = if forward.host.is_empty() { "localhost" } else { &forward.host };
        Self {
            local_port: forward.local_port.into(),
            container_port: forward.container_port.into(),
            host: host.to_owned(),
            name: forward.name.clone(),
            path: forward.path.clone(),
        }
    }
}

impl From<&Forward> for model::Forward {
    /// Invalid port numbers become 0, which means any free local port or the container's first port.
    fn from(forward: &Forward) -> Self {
        let port = |number: i32| u16::try_from(number).unwrap_or(0);
        Self {
            host: forward.host.clone(),
            local_port: port(forward.local_port),
            container_port: port(forward.container_port),
            name: forward.name.clone(),
            path: forward.path.clone(),
        }
    }
}
