//! Updates a Kubernetes resource: builds images, pushes them, applies the objects.

mod agent;
mod apply_cache;
pub(crate) mod base;
mod build_cache;
pub(super) mod build_inputs;
pub(super) mod by_command;
mod custom;
mod delivery;
mod image;
mod secret;
mod ssh;
mod stages;
pub(super) mod steps;
pub(super) mod variables;
mod yaml;

use std::time::Duration;

use lilt_cluster::inject::Injection;
use lilt_engine::{Cause, DeployJob, Deployed, Event, ImageJob, UpdateOutcome};
use lilt_model::image::{ImageTarget, LiveUpdate};
use lilt_model::kubernetes::{KubernetesResource, ObjectRef};
use lilt_model::{Failure, ImageName, ResourceName};
use serde_json::Value;

use super::{FileReader, report};
use crate::context::Context;
use crate::deployers::Deployers;
use crate::in_flight::Writes;
use base::Base;
use image::Built;
pub(crate) use image::{CachedBuild, ImageReferences, cached_references};
use steps::Steps;

/// The label that distinguishes a deployment's pods from those of an earlier one.
const TEMPLATE_HASH: &str = "tilt.dev/pod-template-hash";

/// How long it takes until files that a command has written are reported: they are debounced.
const FILE_EVENT_DELAY: Duration = Duration::from_millis(150);

/// What a deployment uses besides the context.
pub(crate) struct Deployment<'d> {
    pub(crate) deployers: &'d Deployers,
    pub(crate) file_reader: &'d FileReader,
    pub(crate) writes: &'d Writes,
}

pub(crate) async fn run(
    context: Context,
    deployers: Deployers,
    file_reader: FileReader,
    resource: ResourceName,
    update: u64,
    cause: Cause,
    job: &DeployJob,
) {
    let mut span = context.update_span(&resource, update);
    report::begin(&mut span, &cause);
    let mut outcome = UpdateOutcome::success();
    let mut steps = Steps::new(&context, resource.clone(), update, span, step_count(&job.images));
    let writes = Writes::new(context.cancel.clone(), context.shutdown.clone());
    let deployment = Deployment { deployers: &deployers, file_reader: &file_reader, writes: &writes };
    let result = writes.drain_writes(deploy(&context, &deployment, job, &mut steps, &mut outcome)).await;
    // Dropping the work has ended the running build or push.
    let Some(result) = result else { return steps.stop_command().await };
    match result {
        Ok(deployed) => {
            steps.summarize();
            outcome.deployed = Some(deployed);
        }
        Err(failure) => {
            report::failed(steps.span(), &failure);
            outcome.failure = Some(failure);
        }
    }
    outcome.warnings = steps.into_warnings();
    context.send(Event::UpdateEnded { resource, update, outcome: Box::new(outcome) }).await;
}

/// Returns the number of steps of an update: building and pushing each image, then the deployment.
fn step_count(images: &[ImageJob]) -> usize {
    build_step_count(images) + 1
}

/// Returns the number of steps that build and push images. A command that pushes its image itself has no push step.
pub(super) fn build_step_count(images: &[ImageJob]) -> usize {
    let steps = |image: &ImageJob| match image {
        ImageJob::Build(target) if delivery::pushes_itself(target) => 1,
        ImageJob::Build(_) => 2,
        ImageJob::Reuse { .. } => 0,
    };
    images.iter().map(steps).sum()
}

/// Builds and delivers images. Returns all images, including up-to-date ones, in build order.
pub(super) async fn build(
    context: &Context,
    job: &DeployJob,
    steps: &mut Steps,
    outcome: &mut UpdateOutcome,
) -> Result<Vec<(ImageName, Built)>, Failure> {
    let mut all: Vec<(ImageName, Built)> = Vec::new();
    // The references in the local engine that Dockerfiles build on.
    let mut local: Vec<Base<'_>> = Vec::new();
    for image in &job.images {
        let built = match image {
            ImageJob::Reuse { name, reference } => {
                let here = image::local_reference(job, name, reference)?;
                Built { local: here, in_cluster: reference.clone(), known: true }
            }
            ImageJob::Build(target) => {
                let began = lilt_host::clock::now();
                let built = image::build_and_push(context, job, target, &local, steps).await;
                outcome.builds.push(steps.stages().finish(&target.name, began, built.as_ref().err()));
                let built = built?;
                steps.send_built(&target.name, &built.in_cluster).await;
                outcome.images.push((target.name.clone(), built.in_cluster.clone()));
                built
            }
        };
        let name = match image {
            ImageJob::Reuse { name, .. } => name,
            ImageJob::Build(target) => &target.name,
        };
        if let Some(target) = job.kubernetes.image(name) {
            local.push((target, built.local.clone()));
        }
        all.push((name.clone(), built));
    }
    Ok(all)
}

async fn deploy(
    context: &Context,
    deployment: &Deployment<'_>,
    job: &DeployJob,
    steps: &mut Steps,
    outcome: &mut UpdateOutcome,
) -> Result<Deployed, Failure> {
    if job.kubernetes.custom_deploy.is_some() {
        warn_of_ignored_options(job, steps);
    }
    if job.follows_command && job.images.iter().any(|image| matches!(image, ImageJob::Build(_))) {
        tokio::time::sleep(FILE_EVENT_DELAY).await;
    }
    let built = build(context, job, steps, outcome).await?;
    let references: Vec<(ImageName, String)> =
        built.into_iter().map(|(name, built)| (name, built.in_cluster)).collect();
    if let Some(custom) = &job.kubernetes.custom_deploy {
        return by_command::deploy(context, job, custom, &references, steps).await;
    }
    yaml::apply(context, deployment, job, &in_pods(&job.kubernetes, references), steps).await
}

/// Warns about options that have no effect for pods that lilt does not apply itself.
fn warn_of_ignored_options(job: &DeployJob, steps: &mut Steps) {
    let restarts = |image: &&ImageTarget| live_updates(image).is_some_and(|it| it.restart_process.is_some());
    for image in job.kubernetes.images.iter().filter(restarts) {
        let why = "a command deploys it, and lilt adds what it needs only to pods that it applies itself";
        agent::warn_no_restart(image, why, steps);
    }
    for image in &job.kubernetes.images {
        let ignored = pod_options(image);
        if !ignored.is_empty() {
            steps.warn(format!(
                "{} of {} has no effect: a command deploys it, and lilt changes only pods that it applies itself",
                ignored.join(", "),
                image.name
            ));
        }
    }
}

/// Returns the options of an image that change the pods that use it.
fn pod_options(image: &ImageTarget) -> Vec<&'static str> {
    let options = [
        ("entrypoint", image.entrypoint.is_some()),
        ("container_args", image.container_args.is_some()),
        ("match_in_env_vars", image.match_in_env_vars),
    ];
    options.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
}

/// Removes base images that no pod uses.
pub(crate) fn in_pods(
    kubernetes: &KubernetesResource,
    mut references: Vec<(ImageName, String)>,
) -> Vec<(ImageName, String)> {
    let bases: Vec<&ImageName> = kubernetes.images.iter().flat_map(|image| &image.depends_on).collect();
    references.retain(|(name, _)| !bases.contains(&name) || uses_image(kubernetes, name));
    references
}

/// Returns the live update of an image, unless it is empty.
fn live_updates(image: &ImageTarget) -> Option<&LiveUpdate> {
    image.live_update.as_ref().filter(|update| {
        !update.syncs.is_empty() || !update.runs.is_empty() || update.restart_process.is_some()
    })
}

/// Returns whether a pod uses this image itself.
fn uses_image(kubernetes: &KubernetesResource, name: &ImageName) -> bool {
    let images = injections(kubernetes, &[(name.clone(), "probe".to_owned())]);
    lilt_cluster::inject::prepare(&kubernetes.objects, &images, &kubernetes.image_locators).is_ok()
}

pub(crate) fn injections(
    kubernetes: &KubernetesResource,
    references: &[(ImageName, String)],
) -> Vec<Injection> {
    let image = |(name, deployed): &(ImageName, String)| Some(injection(kubernetes.image(name)?, deployed));
    references.iter().filter_map(image).collect()
}

/// Returns how to put an image into objects.
pub(super) fn injection(image: &ImageTarget, deployed: &str) -> Injection {
    Injection {
        name: image.name.clone(),
        deployed: deployed.to_owned(),
        content: None,
        exact: image.match_exact,
        in_env_vars: image.match_in_env_vars,
        command: image.entrypoint.clone(),
        args: image.container_args.clone(),
    }
}

pub(super) fn shown(object: &ObjectRef, default_namespace: &str) -> String {
    let mut object = object.clone();
    if object.namespace == default_namespace {
        object.namespace.clear();
    }
    object.to_string()
}

pub(super) fn collect_hashes(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(hash) = fields.get(TEMPLATE_HASH).and_then(Value::as_str)
                && !into.iter().any(|known| known == hash)
            {
                into.push(hash.to_owned());
            }
            fields.values().for_each(|field| collect_hashes(field, into));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_hashes(item, into)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::command::Command;
    use lilt_model::image::{CustomBuild, CustomOutput, ImageBuild};

    use super::*;

    #[test]
    fn command_that_pushes_itself_has_no_push_step() {
        let custom = |output| {
            let command = Command::shell("make image", "/p");
            let recipe = CustomBuild {
                command,
                deps: Vec::new(),
                tag: String::new(),
                output,
                outputs_image_ref_to: None,
            };
            let image = ImageTarget { build: ImageBuild::Custom(recipe), ..ImageTarget::default() };
            ImageJob::Build(Box::new(image))
        };
        assert_eq!(step_count(&[custom(CustomOutput::LocalDockerAndRemote)]), 2);
        assert_eq!(step_count(&[custom(CustomOutput::Remote)]), 2);
        assert_eq!(step_count(&[custom(CustomOutput::LocalDocker)]), 3);
        assert_eq!(step_count(&[custom(CustomOutput::LocalDocker), custom(CustomOutput::Remote)]), 4);
        let reused = ImageJob::Reuse { name: "web".into(), reference: "web:1".into() };
        assert_eq!(step_count(&[reused]), 1);
    }

    #[test]
    fn pod_options_of_an_image_are_named() {
        let plain = ImageTarget::default();
        assert!(pod_options(&plain).is_empty());
        let asking = ImageTarget { entrypoint: Some(vec!["sh".into()]), match_in_env_vars: true, ..plain };
        assert_eq!(pod_options(&asking), ["entrypoint", "match_in_env_vars"]);
    }
}
