//! Determines how images are delivered to a cluster, from its properties and those of the Docker engine.

use std::sync::Arc;

use lilt_docker::{Engine, ImageStore};
use lilt_host::process::Guardian;
use lilt_model::Failure;
use lilt_model::cluster::{ClusterInfo, Product, Runtime};

use super::sharing::{Sharing, sharing};
use crate::minikube::{self, ClusterEngine};

/// Warnings for the log.
pub(crate) type Warnings = Vec<String>;

pub(super) struct ImageDelivery {
    /// An engine inside the cluster that builds its images.
    pub(super) engine: Option<Arc<ClusterEngine>>,
    pub(super) warnings: Warnings,
}

/// Completes `info`. `docker` is the engine of this machine, if it has one.
pub(super) async fn find(
    guardian: &Guardian,
    docker: Option<&Engine>,
    info: &mut ClusterInfo,
) -> Result<ImageDelivery, Failure> {
    let mut warnings = Warnings::new();
    let mut engine = None;
    // minikube's own engine builds if its nodes run that engine's images.
    if info.product == Product::Minikube && info.runtime == Runtime::Docker {
        engine = minikube::engine(guardian, &info.cluster).await?.map(Arc::new);
        info.shares_engine = engine.is_some();
    }
    // An unusable engine is reported when something is to be built.
    if let Some(docker) = docker {
        match sharing(info, &docker.address()) {
            Sharing::Yes => info.shares_engine = true,
            Sharing::No => {}
            Sharing::Mismatch(message) => warnings.push(message.to_owned()),
        }
        check_desktop(info, docker, &mut warnings).await;
    }
    if let Some(help) = &info.registry_help {
        warnings.push(format!(
            "there is no local image registry, which would speed up builds. Instructions: {help}"
        ));
    }
    Ok(ImageDelivery { engine, warnings })
}

/// Warns if Docker Desktop's cluster does not see its engine's images: both must store them in containerd.
async fn check_desktop(info: &ClusterInfo, engine: &Engine, warnings: &mut Warnings) {
    if !(info.shares_engine && info.product == Product::DockerDesktop && info.runtime == Runtime::Containerd)
    {
        return;
    }
    // An engine that does not respond is reported by builds.
    if engine.info().await.is_ok_and(|found| found.image_store == ImageStore::GraphDriver) {
        warnings.push(
            "Docker Desktop's Kubernetes runs on containerd and does not see the images of this engine: switch \
             \"Use containerd for pulling and storing images\" on in its settings"
                .to_owned(),
        );
    }
}
