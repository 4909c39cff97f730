//! Delivers built images to the cluster. The engine decides how ([`Delivery`]).

mod load;
mod node;

use lilt_docker::Engine;
use lilt_engine::DeployJob;
use lilt_model::cluster::{Delivery, Nodes};
use lilt_model::image::{CustomOutput, ImageBuild, ImageTarget};
use lilt_model::registry::reference_in_registry;
use lilt_model::timeline::StageKind;
use lilt_model::{Failure, ImageName};

use super::image::Built;
use super::steps::Steps;
use crate::context::Context;

/// Delivers an image as a step of its own. If no push is needed, the step logs why.
///
/// An image that its command pushes has no such step.
pub(crate) async fn deliver(
    context: &Context,
    job: &DeployJob,
    target: &ImageTarget,
    built: &Built,
    steps: &mut Steps,
) -> Result<(), Failure> {
    if pushes_itself(target) {
        return Ok(());
    }
    let reference = built.local.as_str();
    steps.begin(StageKind::Push, reference, format!("Pushing {reference}")).await;
    if job.delivered.contains(&target.name) {
        deliver_within_stage(context, job, built, steps).await?;
    } else {
        steps.detail("Skipping push: base image does not need deploy");
    }
    steps.end().await;
    Ok(())
}

/// Delivers an image as part of another stage.
pub(crate) async fn deliver_within_stage(
    context: &Context,
    job: &DeployJob,
    built: &Built,
    steps: &mut Steps,
) -> Result<(), Failure> {
    let engine = &context.connections.build_engine(&job.kubernetes.cluster)?;
    match &job.delivery {
        Delivery::Shared => {
            steps.detail("Skipping push: building on cluster's container runtime");
            Ok(())
        }
        Delivery::Load(nodes) => {
            steps.stages().begin_own(load_name(nodes));
            load::load(context, engine, nodes, &built.local, steps).await
        }
        Delivery::Push => push(context, engine, job, built, steps).await,
    }
}

/// Returns the name of this stage in the API.
fn load_name(nodes: &Nodes) -> &'static str {
    match nodes {
        Nodes::Kind(_) => "kind load",
        Nodes::K3d(_) => "k3d load",
        Nodes::Minikube { .. } => "minikube load",
        Nodes::Microk8s => "microk8s load",
        Nodes::Commands(_) => "load",
    }
}

/// Returns whether the command that builds an image delivers it, too.
pub(crate) fn pushes_itself(target: &ImageTarget) -> bool {
    matches!(&target.build, ImageBuild::Custom(recipe) if recipe.output != CustomOutput::LocalDocker)
}

async fn push(
    context: &Context,
    engine: &Engine,
    job: &DeployJob,
    built: &Built,
    steps: &mut Steps,
) -> Result<(), Failure> {
    let reference = built.local.as_str();
    // An image that is new on this machine is probably new to the registry, and the query would cost time.
    if built.known && engine.is_pushed(reference).await {
        steps.detail("Skipping push: the registry has it already");
        return Ok(());
    }
    steps.detail("Pushing with Docker client");
    steps.stages().begin_own("docker push");
    let pushed = engine.push(
        reference,
        |progress| {
            // Progress bars would fill the log.
            if progress.current.is_none() && !progress.layer.is_empty() {
                steps.detail(&format!("{}: {}", progress.layer, progress.status));
            }
        },
        context.cancel.clone(),
    );
    let advised = |failure: Failure| match job.registry.as_ref().map(|registry| registry.help.as_str()) {
        Some(help) if !help.is_empty() => {
            let hint = failure.hint.clone().map(|hint| format!("{hint}\n")).unwrap_or_default();
            failure.hint(format!("{hint}the cluster says about its registry: {help}"))
        }
        _ => failure,
    };
    pushed.await.map(drop).map_err(advised)
}

/// Fails before the build if the push cannot succeed: nobody can push to `docker.io/library/web`.
pub(crate) fn refuse_without_registry(job: &DeployJob, name: &ImageName) -> Result<(), Failure> {
    let reference = reference_in_registry(name, job.registry.as_ref())?;
    let goes_nowhere = reference.domain() == "docker.io" && reference.path().starts_with("library/");
    let is_pushed = job.delivery == Delivery::Push && job.delivered.contains(name);
    if !is_pushed || !goes_nowhere {
        return Ok(());
    }
    let message =
        format!("there is no registry to push the image {name} to, and the cluster could not find it");
    Err(Failure::user(message).hint(
        "give the cluster a local registry and announce it in the ConfigMap kube-public/local-registry-hosting, \
         or name one in the Tiltfile: default_registry('registry.example.com/team')",
    ))
}
