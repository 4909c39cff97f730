//! What is known of a cluster once it answers.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Api;
use kube::api::ListParams;
use lilt_model::Failure;
use lilt_model::cluster::{ClusterInfo, Registry};
use serde::Deserialize;

use crate::connect::Cluster;

/// The same patience that Tilt has: slow login plugins are common.
const PATIENCE: Duration = Duration::from_secs(5);

impl Cluster {
    /// Asks the cluster who it is. Only a cluster that does not answer is a failure; what this user may not read
    /// stays unknown.
    pub async fn probe(&self) -> Result<ClusterInfo, Failure> {
        let (version, platform, registry) =
            tokio::join!(tokio::time::timeout(PATIENCE, self.version()), self.platform(), self.registry());
        let version = version.map_err(|_| self.silent())??;
        Ok(ClusterInfo {
            context: self.context().to_owned(),
            namespace: self.namespace().to_owned(),
            server_version: version,
            platform,
            registry,
        })
    }

    fn silent(&self) -> Failure {
        Failure::environment(format!(
            "the cluster {} at {} gave no answer within {} seconds",
            self.context(),
            self.server(),
            PATIENCE.as_secs()
        ))
        .hint("is the cluster running? `kubectl cluster-info` asks the same address")
    }

    async fn version(&self) -> Result<String, Failure> {
        let info: Info = self
            .client
            .apiserver_version()
            .await
            .map_err(|error| self.failure("asking for its version", &error))?;
        Ok(info.git_version)
    }

    async fn platform(&self) -> Option<String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let first = ListParams::default().limit(1);
        let node = quietly("nodes", nodes.list(&first)).await?.items.into_iter().next()?;
        let info = node.status?.node_info?;
        Some(format!("{}/{}", info.operating_system, info.architecture))
    }

    /// What runs containers on the first node, as `containerd://2.0.1`; none if this user may not look at nodes.
    pub async fn container_runtime(&self) -> Option<String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let first = ListParams::default().limit(1);
        let node = quietly("nodes", nodes.list(&first)).await?.items.into_iter().next()?;
        Some(node.status?.node_info?.container_runtime_version)
    }

    async fn registry(&self) -> Option<Registry> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "kube-public");
        let map = quietly("the local registry", maps.get_opt("local-registry-hosting")).await??;
        parse_registry(map.data?.get("localRegistryHosting.v1")?)
    }
}

/// What is only nice to know must not fail the whole: trouble is noted in lilt's own log.
async fn quietly<T>(what: &str, request: impl Future<Output = kube::Result<T>>) -> Option<T> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(value)) => Some(value),
        Ok(Err(error)) => {
            tracing::debug!(what, error = %crate::error::causes(&error), "not readable");
            None
        }
        Err(_) => None,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hosting {
    #[serde(default)]
    host: String,
    #[serde(default)]
    host_from_container_runtime: String,
    #[serde(default)]
    host_from_cluster_network: String,
}

/// The document of KEP-1755. The container runtime is what pulls images, so its view goes before the pods'.
fn parse_registry(document: &str) -> Option<Registry> {
    let hosting: Hosting = match serde_saphyr::from_str(document) {
        Ok(hosting) => hosting,
        Err(error) => {
            tracing::warn!(%error, "kube-public/local-registry-hosting is not as KEP-1755 says");
            return None;
        }
    };
    let from_cluster = [hosting.host_from_container_runtime, hosting.host_from_cluster_network]
        .into_iter()
        .find(|host| !host.is_empty());
    (!hosting.host.is_empty()).then(|| Registry {
        host_from_cluster: from_cluster.filter(|other| *other != hosting.host),
        host: hosting.host,
        ..Registry::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_registry_document() {
        let of = |host: &str, other: Option<&str>| {
            let host_from_cluster = other.map(str::to_owned);
            Some(Registry { host: host.to_owned(), host_from_cluster, ..Registry::default() })
        };
        assert_eq!(parse_registry("host: \"localhost:5000\"\nhelp: x\n"), of("localhost:5000", None));
        assert_eq!(
            parse_registry(
                "host: localhost:5000\nhostFromContainerRuntime: registry:5000\nhostFromClusterNetwork: x:1\n"
            ),
            of("localhost:5000", Some("registry:5000"))
        );
        assert_eq!(parse_registry("host: a:1\nhostFromClusterNetwork: b:2\n"), of("a:1", Some("b:2")));
        assert_eq!(parse_registry("help: only help\n"), None);
        assert_eq!(parse_registry("- not\n- a map\n"), None);
    }
}
