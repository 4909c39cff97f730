//! `Cluster`.

use lilt_model::Timestamp;
use lilt_model::cluster::ClusterInfo;
use lilt_model::registry::Registry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::path_text;
use super::is_empty;
use super::kinds::ApiKind;

/// What a session deploys to: a Kubernetes cluster or a Docker engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Cluster {
    /// What is wanted.
    pub spec: ClusterSpec,
    /// What is so. The session writes it.
    pub status: ClusterStatus,
}

impl ApiKind for Cluster {
    const PLURAL: &'static str = "clusters";
}

/// Which cluster, and where its images come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// How it is reached.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub connection: Option<ClusterConnection>,
    /// Where images go if the cluster itself announces no registry.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub default_registry: Option<RegistryHosting>,
}

/// How the cluster is reached; one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterConnection {
    /// A Docker engine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub docker: Option<DockerClusterConnection>,
    /// A Kubernetes cluster.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes: Option<KubernetesClusterConnection>,
}

/// A Kubernetes cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesClusterConnection {
    /// The kubeconfig context; without one the current one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub context: String,
    /// The namespace in the cluster; without one it is that of the kubeconfig context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace: String,
}

/// A Docker engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerClusterConnection {
    /// Its address; without one, where DOCKER_HOST and the Docker context lead.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
}

/// A registry, as this machine and the cluster see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct RegistryHosting {
    /// Its address on this machine.
    pub host: String,
    /// Its address for what runs in pods.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host_from_cluster_network: String,
    /// Its address for what pulls images.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host_from_container_runtime: String,
    /// One repository for all images, which differ by their tags then.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub single_name: String,
    /// Where to read how the registry is set up.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub help: String,
}

/// What is known once it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// How it is reached, as it turned out.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub connection: Option<ClusterConnectionStatus>,
    /// What it says its version is.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub version: String,
    /// The processors of its nodes, such as amd64; images are built for them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub arch: String,
    /// When it first answered.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub connected_at: Option<Timestamp>,
    /// Where images go.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub registry: Option<RegistryHosting>,
    /// Why it cannot be reached.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

/// How it is reached, as it turned out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterConnectionStatus {
    /// Which cluster the kubeconfig led to.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes: Option<KubernetesClusterConnectionStatus>,
}

/// Which cluster the kubeconfig led to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesClusterConnectionStatus {
    /// The context's name in the kubeconfig.
    pub context: String,
    /// Where objects without a namespace go.
    pub namespace: String,
    /// The cluster's name in the kubeconfig.
    pub cluster: String,
    /// What made the cluster, such as kind or minikube, where that shows.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub product: String,
    /// A kubeconfig with this context alone, which commands are given.
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
