//! Finds out how images come to the cluster: completes what the cluster says of itself by what is known of the engine.

use lilt_docker::{Engine, ImageStore};
use lilt_model::Failure;
use lilt_model::cluster::{ClusterInfo, Product, Runtime};

use super::sharing::{Sharing, sharing};
use crate::context::Context;
use crate::minikube;

/// What was found out besides, for the log.
pub(super) type Warnings = Vec<String>;

pub(super) async fn complete(context: &Context, info: &mut ClusterInfo) -> Result<Warnings, Failure> {
    info.node_commands.clone_from(&context.settings.habits.node_commands);
    let mut warnings = Warnings::new();
    if info.product == Product::Minikube && info.runtime == Runtime::Docker {
        info.shares_engine = use_minikubes(context, &info.cluster).await?;
    }
    // An engine that cannot be used is told of when something is to be built.
    if let Ok(engine) = &*context.edges.docker {
        match sharing(info, &engine.address()) {
            Sharing::Yes => info.shares_engine = true,
            Sharing::No => {}
            Sharing::Mismatch(words) => warnings.push(words.to_owned()),
        }
        check_desktop(info, engine, &mut warnings).await;
    }
    if let Some(help) = &info.registry_help {
        warnings.push(format!(
            "there is no local image registry, which would speed up builds. Instructions: {help}"
        ));
    }
    Ok(warnings)
}

/// Docker Desktop's cluster sees its engine's images only if both keep them in containerd.
async fn check_desktop(info: &ClusterInfo, engine: &Engine, warnings: &mut Warnings) {
    if !(info.shares_engine && info.product == Product::DockerDesktop && info.runtime == Runtime::Containerd)
    {
        return;
    }
    // One that does not answer is told of elsewhere.
    if engine.info().await.is_ok_and(|found| found.image_store == ImageStore::GraphDriver) {
        warnings.push(
            "Docker Desktop's Kubernetes runs on containerd and does not see the images of this engine: switch \
             \"Use containerd for pulling and storing images\" on in its settings"
                .to_owned(),
        );
    }
}

/// minikube's own engine builds where its nodes run what that one has.
async fn use_minikubes(context: &Context, profile: &str) -> Result<bool, Failure> {
    let edges = &context.edges;
    let Some(found) = minikube::engine(&edges.guardian, profile).await? else { return Ok(false) };
    // An attempt to connect before this one has found the same.
    let _ = edges.cluster_engine.set(found);
    Ok(true)
}
