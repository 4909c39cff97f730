//! `lilt docker-prune`: removes the old images of a project, as a session does it from time to time.

use std::sync::Arc;

use lilt_cluster::Cluster;
use lilt_engine::PruneJob;
use lilt_host::process::Guardian;
use lilt_model::cluster::Registry;
use lilt_model::image::ImageTarget;
use lilt_model::project::Project;
use lilt_model::reference::reference_in_registry;
use lilt_model::resource::Body;
use lilt_model::{ClusterName, Failure};
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;
use crate::{down, examine, runner};

/// Whatever the Tiltfile says of when, it is done now; what it says of what counts. `print` gets text as it comes.
pub async fn docker_prune(
    settings: Settings,
    cancel: CancellationToken,
    mut print: impl FnMut(&str),
) -> Result<(), Failure> {
    let settings = Arc::new(settings);
    let guardian = Guardian::of_this_program()?;
    let project = down::load(Arc::clone(&settings), &guardian, &cancel, &mut print).await?;
    let work = async {
        let registry = registry(&settings, &project).await?;
        // Who deploys nothing has no kubeconfig read.
        let engine = match deploys(&project) {
            true => {
                let context = settings.kubeconfig.context().map(str::to_owned);
                examine::cluster_engine(context, &guardian).await?.engine
            }
            false => Arc::new(examine::engine()?),
        };
        let job = job(&project, registry.as_ref());
        runner::prune(&engine, &job, true, |line| print(&format!("{line}\n"))).await
    };
    let result = tokio::select! {
        result = work => result,
        () = cancel.cancelled() => Err(Failure::user("interrupted; some images may be removed")),
    };
    guardian.close().await;
    result
}

fn deploys(project: &Project) -> bool {
    project.resources.iter().any(|resource| matches!(resource.body, Body::Kubernetes(_)))
}

/// Images have other names where the cluster announces a registry.
async fn registry(settings: &Settings, project: &Project) -> Result<Option<Registry>, Failure> {
    if !deploys(project) {
        return Ok(None);
    }
    let info = Cluster::connect(settings.connection(&ClusterName::default())).await?.probe().await?;
    Ok(info.registry.or_else(|| project.settings.default_registry.clone()))
}

fn job(project: &Project, registry: Option<&Registry>) -> PruneJob {
    let images = project.resources.iter().flat_map(|resource| match &resource.body {
        Body::Kubernetes(kubernetes) => kubernetes.images.as_slice(),
        Body::Compose(compose) => &compose.images,
        Body::Local(_) => &[],
    });
    let name = |image: &ImageTarget| Some(reference_in_registry(&image.name, registry).ok()?.familiar_name());
    let names = images.filter(|image| image.is_built()).filter_map(name).collect();
    // No session knows what is deployed here: the newest are kept, as the Tiltfile says.
    PruneJob { settings: project.settings.docker_prune, names, used: Vec::new() }
}
