//! `Cluster`.

use lilt_model::Timestamp;
use lilt_model::cluster::ClusterInfo;
use lilt_model::registry::Registry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::path_text;
use super::is_empty;
use super::kinds::ApiKind;

/// A Kubernetes cluster or Docker engine that a session deploys to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Cluster {
    /// The desired state.
    pub spec: ClusterSpec,
    /// The observed state, set by the session.
    pub status: ClusterStatus,
}

impl ApiKind for Cluster {
    const PLURAL: &'static str = "clusters";
}

/// The connection and the registry of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// Connection settings.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub connection: Option<ClusterConnection>,
    /// Registry for images, used if the cluster does not announce one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub default_registry: Option<RegistryHosting>,
}

/// Connection settings; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterConnection {
    /// Connection to a Docker engine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub docker: Option<DockerClusterConnection>,
    /// Connection to a Kubernetes cluster.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes: Option<KubernetesClusterConnection>,
}

/// Connection to a Kubernetes cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesClusterConnection {
    /// Name of the kubeconfig context. Defaults to the current context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub context: String,
    /// Namespace for objects without one. Defaults to that of the kubeconfig context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
}

/// Connection to a Docker engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerClusterConnection {
    /// Address of the Docker engine. Defaults to that of `DOCKER_HOST` or of the current Docker context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
}

/// A container registry and its addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct RegistryHosting {
    /// Address of the registry on this machine.
    pub host: String,
    /// Address of the registry from inside pods.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host_from_cluster_network: String,
    /// Address from which the cluster's container runtime pulls images.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host_from_container_runtime: String,
    /// Name of a single repository for all images, which are then distinguished by tag.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub single_name: String,
    /// URL of instructions for setting up the registry.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub help: String,
}

/// The observed state of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// Resolved connection settings.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub connection: Option<ClusterConnectionStatus>,
    /// Server version, as reported by the cluster.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub version: String,
    /// CPU architecture of the nodes, such as `amd64`. Images are built for it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub arch: String,
    /// Time of the first successful connection.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub connected_at: Option<Timestamp>,
    /// Registry that images are pushed to.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub registry: Option<RegistryHosting>,
    /// The connection error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

/// Resolved connection settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterConnectionStatus {
    /// Settings resolved from the kubeconfig.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes: Option<KubernetesClusterConnectionStatus>,
}

/// Connection settings resolved from the kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesClusterConnectionStatus {
    /// Name of the kubeconfig context.
    pub context: String,
    /// Namespace for objects without one.
    pub namespace: String,
    /// Name of the cluster in the kubeconfig.
    pub cluster: String,
    /// Product that created the cluster, such as `kind` or `minikube`, if detected.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub product: String,
    /// Path of a kubeconfig file with only this context, which is passed to commands.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub config_path: String,
}

impl From<&ClusterInfo> for ClusterStatus {
    fn from(info: &ClusterInfo) -> Self {
        let connection = KubernetesClusterConnectionStatus {
            context: info.context.clone(),
            namespace: info.namespace.clone(),
            cluster: info.cluster.clone(),
            product: info.product.name().to_owned(),
            config_path: info.config_path.as_deref().map(path_text).unwrap_or_default(),
        };
        let architecture = info.platform.as_deref().and_then(|platform| platform.split('/').nth(1));
        Self {
            connection: Some(ClusterConnectionStatus { kubernetes: Some(connection) }),
            version: info.server_version.clone(),
            arch: architecture.unwrap_or("unknown").to_owned(),
            registry: info.registry.as_ref().map(RegistryHosting::from),
            ..Self::default()
        }
    }
}

impl From<&Registry> for RegistryHosting {
    fn from(registry: &Registry) -> Self {
        Self {
            host: registry.host.clone(),
            host_from_cluster_network: registry.host_from_pods.clone().unwrap_or_default(),
            host_from_container_runtime: registry.host_from_cluster.clone().unwrap_or_default(),
            single_name: registry.single_name.clone(),
            help: registry.help.clone(),
        }
    }
}
