//! `lilt docker-prune`: removes old images of a project, as a session does from time to time.

use std::sync::Arc;

use lilt_cluster::Cluster;
use lilt_docker::Engine;
use lilt_engine::PruneJob;
use lilt_host::process::Guardian;
use lilt_model::image::ImageTarget;
use lilt_model::project::Project;
use lilt_model::registry::{Registry, reference_in_registry};
use lilt_model::resource::Body;
use lilt_model::{ClusterName, Failure};
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;
use crate::{down, examine, runner};

/// Prunes now, whatever interval the Tiltfile sets, and otherwise with the settings of the Tiltfile. `print` gets the output.
pub async fn docker_prune(
    settings: Settings,
    cancel: CancellationToken,
    mut print: impl FnMut(&str),
) -> Result<(), Failure> {
    let settings = Arc::new(settings);
    let guardian = Guardian::of_this_program()?;
    let project = down::load(Arc::clone(&settings), &guardian, &cancel, &mut print).await?;
    let work = async {
        let mut engines = Vec::new();
        let mut job = PruneJob {
            settings: project.settings.docker_prune,
            clusters: clusters(&project),
            names: Vec::new(),
            // Without a session, nothing is known to be in use: the newest images are kept, as the Tiltfile sets.
            used: Vec::new(),
        };
        // A failure of one engine does not keep the others from being pruned.
        let mut failures = Vec::new();
        let mut knows_session = false;
        for cluster in &job.clusters {
            match connect(&settings, &project, cluster, &guardian).await {
                Ok((engine, names)) => {
                    engines.push(engine);
                    job.names.extend(names);
                    knows_session |= cluster.is_session();
                }
                Err(failure) => {
                    let whose = if cluster.is_session() { "default" } else { cluster.as_str() };
                    failures.push(format!("the cluster {whose}: {failure}"));
                }
            }
        }
        // A project that deploys nothing needs no kubeconfig.
        let local = if knows_session { Vec::new() } else { names(&project, &ClusterName::default(), None) };
        if engines.is_empty() || !local.is_empty() {
            engines.push(Arc::new(examine::engine()?));
            job.names.extend(local);
        }
        for engine in runner::distinct(engines.into_iter()) {
            let pruned = runner::prune(&engine, &job, true, |line| print(&format!("{line}\n"))).await;
            if let Err(failure) = pruned {
                failures.push(format!("the Docker engine at {}: {failure}", engine.address()));
            }
        }
        match failures.is_empty() {
            true => Ok(()),
            false => {
                Err(Failure::environment("not all old images could be removed").detail(failures.join("\n")))
            }
        }
    };
    let result = tokio::select! {
        result = work => result,
        () = cancel.cancelled() => Err(Failure::user("interrupted; some images may be removed")),
    };
    guardian.close().await;
    result
}

/// Returns the clusters that images are built for.
fn clusters(project: &Project) -> Vec<ClusterName> {
    let deployed = project.resources.iter().filter_map(|resource| match &resource.body {
        Body::Kubernetes(kubernetes) if kubernetes.images.iter().any(ImageTarget::is_built) => {
            Some(kubernetes.cluster.clone())
        }
        Body::Kubernetes(_) | Body::Local(_) | Body::Compose(_) => None,
    });
    let mut clusters: Vec<ClusterName> = deployed.collect();
    clusters.sort();
    clusters.dedup();
    clusters
}

/// Connects to the engine that builds for a cluster. Returns it with the names of the cluster's images.
async fn connect(
    settings: &Settings,
    project: &Project,
    cluster: &ClusterName,
    guardian: &Guardian,
) -> Result<(Arc<Engine>, Vec<String>), Failure> {
    let registry = registry(settings, project, cluster).await?;
    let engine = examine::cluster_engine(settings.connection(cluster), guardian).await?.engine;
    Ok((engine, names(project, cluster, registry.as_ref())))
}

/// Returns the registry of a cluster: images are named after it.
async fn registry(
    settings: &Settings,
    project: &Project,
    cluster: &ClusterName,
) -> Result<Option<Registry>, Failure> {
    let info = Cluster::connect(settings.connection(cluster)).await?.probe().await?;
    Ok(info.registry.or_else(|| project.settings.default_registry.clone()))
}

/// Returns the names of the images that are built for a cluster, as the local engine has them.
fn names(project: &Project, cluster: &ClusterName, registry: Option<&Registry>) -> Vec<String> {
    let images = project.resources.iter().flat_map(|resource| match &resource.body {
        Body::Kubernetes(kubernetes) if kubernetes.cluster == *cluster => kubernetes.images.as_slice(),
        Body::Compose(compose) if cluster.is_session() => &compose.images,
        _ => &[],
    });
    let name = |image: &ImageTarget| Some(reference_in_registry(&image.name, registry).ok()?.familiar_name());
    images.filter(|image| image.is_built()).filter_map(name).collect()
}
