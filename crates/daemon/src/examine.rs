//! What lilt finds around it: the Docker engine and the cluster that a session would use. For `lilt doctor`.

use lilt_cluster::{Cluster, ConnectOptions};
use lilt_docker::Engine;
use lilt_model::Failure;
use lilt_model::cluster::ClusterInfo;
use lilt_model::reference::{Reference, tag_from_id};

/// What is known of the Docker engine.
#[derive(Clone, Debug)]
pub struct DockerFacts {
    pub address: String,
    pub version: Result<lilt_docker::Info, Failure>,
    pub buildkit: Result<bool, Failure>,
}

/// What is known of the cluster.
#[derive(Clone, Debug)]
pub struct ClusterFacts {
    pub context: String,
    /// The API server's address.
    pub server: String,
    pub namespace: String,
    pub info: Result<ClusterInfo, Failure>,
    pub container_runtime: Option<String>,
}

fn engine() -> Result<Engine, Failure> {
    Engine::connect(&lilt_host::environment::variable, lilt_host::environment::home().as_deref())
}

pub async fn examine_docker() -> Result<DockerFacts, Failure> {
    let engine = engine()?;
    let (version, buildkit) = tokio::join!(engine.info(), engine.uses_buildkit());
    Ok(DockerFacts { address: engine.address(), version, buildkit })
}

pub async fn examine_cluster(context: Option<String>) -> Result<ClusterFacts, Failure> {
    let cluster = Cluster::connect(ConnectOptions { context, ..ConnectOptions::default() }).await?;
    let (info, container_runtime) = tokio::join!(cluster.probe(), cluster.container_runtime());
    Ok(ClusterFacts {
        context: cluster.context().to_owned(),
        server: cluster.server().to_owned(),
        namespace: cluster.namespace().to_owned(),
        info,
        container_runtime,
    })
}

/// The name and content tag under which an image of the engine would be deployed.
pub async fn deploy_reference(reference: &str) -> Result<String, Failure> {
    let parsed = Reference::parse(reference)?;
    let id = engine()?.image_id(reference).await?.ok_or_else(|| {
        Failure::user(format!("the Docker engine has no image {reference}"))
            .hint("`docker images` lists those it has; build it first")
    })?;
    Ok(format!("{}:{}", parsed.familiar_name(), tag_from_id(&id)?))
}
