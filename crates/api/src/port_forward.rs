//! `PortForward`.

use lilt_model::Timestamp;
use lilt_model::kubernetes as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;

/// Leads ports of this machine to ports of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForward {
    /// What is wanted.
    pub spec: PortForwardSpec,
    /// What is so. The session writes it.
    pub status: PortForwardStatus,
}

impl ApiKind for PortForward {
    const PLURAL: &'static str = "portforwards";
    const SHORT_NAMES: &'static [&'static str] = &["pf"];
}

/// From where to where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForwardSpec {
    /// The pod.
    pub pod_name: String,
    /// The namespace in the cluster; without one it is that of the kubeconfig context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
    /// The ports.
    pub forwards: Vec<Forward>,
    /// The name of the Cluster object; without one it is "default".
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
}

/// Which ports lead to a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForwardTemplateSpec {
    /// The ports.
    pub forwards: Vec<Forward>,
}

/// A port of this machine that leads to one of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Forward {
    /// The port on this machine; 0 takes one that is free.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub local_port: i32,
    /// The port in the container.
    pub container_port: i32,
    /// The address on this machine; without one it is localhost.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
    /// What the link to it is called.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
    /// What is appended to the link.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
}

/// How it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PortForwardStatus {
    /// Each of the ports.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub forward_statuses: Vec<ForwardStatus>,
}

/// How a forward goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ForwardStatus {
    /// The port on this machine that it has.
    pub local_port: i32,
    /// The port in the container.
    pub container_port: i32,
    /// Where it listens.
    pub addresses: Vec<String>,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

impl PortForwardTemplateSpec {
    /// Returns the template of these forwards; none without any.
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
    /// Ports that do not exist become 0: any port, or the container's first one.
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
