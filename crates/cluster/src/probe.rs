//! Reads the properties of a cluster.

mod registry;

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Api;
use kube::api::ListParams;
use lilt_model::Failure;
use lilt_model::cluster::{ClusterInfo, Runtime};

use crate::connect::Cluster;
use crate::error::{Error, causes_of_status, code, is_not_ready};
use registry::Announced;

/// Tilt's timeout: slow login plugins are common.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Cluster {
    /// Reads the properties of the cluster. Fails only if the cluster does not respond; what the user may not read is
    /// left empty.
    pub async fn probe(&self) -> Result<ClusterInfo, Failure> {
        let facts = async {
            let (node, hosting) = tokio::join!(self.first_node(), self.hosting());
            let announced = self.announced(hosting, node.as_ref()).await;
            (node, announced)
        };
        let (version, (node, announced)) = tokio::join!(tokio::time::timeout(TIMEOUT, self.version()), facts);
        let version = version.map_err(|_| self.timed_out(TIMEOUT))??;
        let Announced { registry, help } = announced;
        Ok(ClusterInfo {
            context: self.context().to_owned(),
            server: self.server().to_owned(),
            cluster: self.name().to_owned(),
            product: self.product(),
            namespace: self.namespace().to_owned(),
            server_version: version,
            config_path: None,
            platform: node.as_ref().and_then(platform),
            runtime: node.as_ref().map(runtime).unwrap_or_default(),
            registry,
            registry_help: help,
            shares_engine: false,
            node_commands: Vec::new(),
        })
    }

    /// Whether the API server responds at all.
    pub async fn is_reachable(&self, within: Duration) -> bool {
        self.check_reachable(within).await.is_ok()
    }

    /// Fails with [`is_unreachable`] if the API server does not respond, or is not ready to serve.
    ///
    /// [`is_unreachable`]: crate::is_unreachable
    pub async fn check_reachable(&self, within: Duration) -> Result<(), Failure> {
        self.check(within, Error::is_unreachable).await
    }

    /// Like [`Self::check_reachable`], but also fails if the API server rejects the user's credentials: expired ones
    /// can be renewed.
    pub async fn check_login(&self, within: Duration) -> Result<(), Failure> {
        let counts = |error: &Error| error.is_unreachable() || matches!(error, Error::LoginRejected { .. });
        self.check(within, counts).await
    }

    /// Requests the version. Fails only with errors that `counts` accepts.
    async fn check(&self, within: Duration, counts: impl Fn(&Error) -> bool) -> Result<(), Failure> {
        match tokio::time::timeout(within, self.version()).await {
            Err(_) => Err(self.timed_out(within).into()),
            Ok(Err(error)) if counts(&error) => Err(error.into()),
            Ok(_) => Ok(()),
        }
    }

    fn timed_out(&self, limit: Duration) -> Error {
        Error::TimedOut { context: self.context().to_owned(), server: self.server().to_owned(), limit }
    }

    async fn version(&self) -> Result<String, Error> {
        let version: Result<Info, _> = self.client.apiserver_version().await;
        version.map(|info| info.git_version).map_err(|error| match code(&error) {
            Some(code) if is_not_ready(code) => {
                let (context, server) = (self.context().to_owned(), self.server().to_owned());
                Error::NotReady { context, server, code, answer: causes_of_status(&error) }
            }
            _ => self.error("asking for its version", &error),
        })
    }

    /// Like Tilt, use one node for all; none if the user may not read nodes.
    async fn first_node(&self) -> Option<Node> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let first = ListParams::default().limit(1);
        optional("nodes", nodes.list(&first)).await?.items.into_iter().next()
    }

    /// Returns the container runtime of the first node, for example `containerd://2.0.1`; none if the user may not
    /// read nodes.
    pub async fn container_runtime(&self) -> Option<String> {
        self.first_node().await.as_ref().and_then(runtime_version)
    }
}

fn platform(node: &Node) -> Option<String> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    Some(format!("{}/{}", info.operating_system, info.architecture))
}

fn runtime_version(node: &Node) -> Option<String> {
    Some(node.status.as_ref()?.node_info.as_ref()?.container_runtime_version.clone())
}

fn runtime(node: &Node) -> Runtime {
    Runtime::of_version(&runtime_version(node).unwrap_or_default())
}

/// Waits for an optional request. Errors are only logged for debugging.
async fn optional<T>(what: &str, request: impl Future<Output = kube::Result<T>>) -> Option<T> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(value)) => Some(value),
        Ok(Err(error)) => {
            tracing::debug!(what, error = %crate::error::causes(&error), "not readable");
            None
        }
        Err(_) => None,
    }
}
