//! Inspects the Docker engine and the cluster that a session would use, for `lilt doctor`.

use std::sync::Arc;

use lilt_cluster::{Cluster, ConnectOptions, PluginOutput};
use lilt_docker::Engine;
use lilt_host::process::Guardian;
use lilt_model::Failure;
use lilt_model::cluster::{ClusterInfo, Product, Runtime};
use lilt_model::reference::Reference;
use lilt_model::registry::tag_from_id;

use crate::minikube::{self, ClusterEngine};

/// The state of the Docker engine.
#[derive(Clone, Debug)]
pub struct DockerFacts {
    pub address: String,
    pub version: Result<lilt_docker::Info, Failure>,
    pub buildkit: Result<bool, Failure>,
    /// The variables that commands need to use it, if it is not this machine's own.
    pub variables: Vec<(String, String)>,
}

/// The state of the cluster.
#[derive(Clone, Debug)]
pub struct ClusterFacts {
    pub context: String,
    /// The API server's address.
    pub server: String,
    pub namespace: String,
    pub product: Product,
    pub info: Result<ClusterInfo, Failure>,
    pub container_runtime: Option<String>,
}

/// Connects to the Docker engine of this machine.
pub(crate) fn engine() -> Result<Engine, Failure> {
    Engine::connect(&lilt_host::environment::variable, lilt_host::environment::home().as_deref())
}

/// Returns the engine that builds for the cluster of a context: one inside it that its pods run from, or this machine's.
///
/// Only minikube has one inside. Other clusters are not queried, so that nobody waits for them.
pub(crate) async fn cluster_engine(
    options: ConnectOptions,
    guardian: &Guardian,
) -> Result<ClusterEngine, Failure> {
    // An unreachable cluster has no engine either.
    if let Ok(cluster) = Cluster::connect(options).await
        && cluster.product() == Product::Minikube
        && let Some(version) = cluster.container_runtime().await
        && Runtime::of_version(&version) == Runtime::Docker
        && let Some(found) = minikube::engine(guardian, cluster.name()).await?
    {
        return Ok(found);
    }
    Ok(ClusterEngine { engine: Arc::new(engine()?), variables: Vec::new() })
}

pub async fn examine_docker(
    context: Option<String>,
    plugin_output: PluginOutput,
) -> Result<DockerFacts, Failure> {
    let guardian = Guardian::of_this_program()?;
    let options = ConnectOptions { context, plugin_output, ..ConnectOptions::default() };
    let ClusterEngine { engine, variables } = cluster_engine(options, &guardian).await?;
    let (version, buildkit) = tokio::join!(engine.info(), engine.uses_buildkit());
    guardian.close().await;
    Ok(DockerFacts { address: engine.address(), version, buildkit, variables })
}

pub async fn examine_cluster(
    context: Option<String>,
    plugin_output: PluginOutput,
) -> Result<ClusterFacts, Failure> {
    let options = ConnectOptions { context, plugin_output, ..ConnectOptions::default() };
    let cluster = Cluster::connect(options).await?;
    let (info, container_runtime) = tokio::join!(cluster.probe(), cluster.container_runtime());
    Ok(ClusterFacts {
        context: cluster.context().to_owned(),
        server: cluster.server().to_owned(),
        namespace: cluster.namespace().to_owned(),
        product: cluster.product(),
        info,
        container_runtime,
    })
}

/// Returns the name and content tag under which an image of the engine would be deployed.
pub async fn deploy_reference(reference: &str) -> Result<String, Failure> {
    let parsed = Reference::parse(reference)?;
    let guardian = Guardian::of_this_program()?;
    let ClusterEngine { engine, .. } = cluster_engine(ConnectOptions::default(), &guardian).await?;
    guardian.close().await;
    let id = engine.image_id(reference).await?.ok_or_else(|| {
        Failure::user(format!("the Docker engine has no image {reference}"))
            .hint("`docker images` lists those it has; build it first")
    })?;
    Ok(format!("{}:{}", parsed.familiar_name(), tag_from_id(&id)?))
}
