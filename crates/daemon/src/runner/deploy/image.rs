//! Builds one image, tags it by its content and delivers it to the cluster.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use lilt_docker::{BuildProgress, BuildRequest, Engine, StepId};
use lilt_engine::DeployJob;
use lilt_model::image::{DockerBuild, ImageBuild, ImageTarget};
use lilt_model::reference::Reference;
use lilt_model::registry::{
    Registry, reference_in_cluster, reference_in_registry, tag_from_id, tag_in_registry,
};
use lilt_model::timeline::StageKind;
use lilt_model::{Failure, ImageName};
use tokio_util::sync::CancellationToken;

use super::base::{self, Base};
use super::build_cache::{Bases, CacheSlot};
use super::build_inputs::{self, BuildInputs};
use super::custom;
use super::delivery;
use super::steps::Steps;
use crate::context::Context;

#[derive(Clone, Debug)]
pub(crate) struct Built {
    /// The reference in the local engine.
    pub(crate) local: String,
    /// The reference in the cluster.
    pub(crate) in_cluster: String,
    /// Whether the engine had this image under this name before.
    pub(crate) known: bool,
}

pub(crate) async fn build_and_push(
    context: &Context,
    job: &DeployJob,
    target: &ImageTarget,
    bases: &[Base<'_>],
    steps: &mut Steps,
) -> Result<Built, Failure> {
    let recipe = match &target.build {
        ImageBuild::Docker(recipe) => recipe,
        ImageBuild::Custom(recipe) => {
            return custom::build_and_push(context, job, (target, recipe), bases, steps).await;
        }
        ImageBuild::Compose(_) => return Err(unsupported(&target.name, "docker_compose()")),
        ImageBuild::LiveUpdateOnly => {
            return Err(Failure::internal(format!("the image {} is never built", target.name)));
        }
    };
    let engine = &context.connections.build_engine(&job.kubernetes.cluster)?;
    delivery::refuse_without_registry(job, &target.name)?;
    let id = build(context, engine, job, (&target.name, recipe), bases, steps).await?;
    let built = tag_by_content(engine, job, &target.name, &id).await?;
    delivery::deliver(context, job, target, &built, steps).await?;
    Ok(built)
}

/// Tags an image by its content, so that the same content is never pushed or deployed twice.
pub(crate) async fn tag_by_content(
    engine: &Engine,
    job: &DeployJob,
    name: &ImageName,
    id: &str,
) -> Result<Built, Failure> {
    let ImageReferences { local, in_cluster } = ImageReferences::by_content(name, job.registry.as_ref(), id)?;
    let known = engine.image_id(&local).await?.is_some_and(|known| known == id);
    engine.tag(id, &local).await?;
    Ok(Built { local, in_cluster, known })
}

/// The references of an image.
pub(crate) struct ImageReferences {
    /// The reference in the local engine.
    pub(crate) local: String,
    pub(crate) in_cluster: String,
}

impl ImageReferences {
    fn by_content(name: &ImageName, registry: Option<&Registry>, id: &str) -> Result<Self, Failure> {
        let tag = tag_in_registry(name, registry, &tag_from_id(id)?)?;
        Ok(Self {
            local: reference_in_registry(name, registry)?.with_tag(&tag).familiar(),
            in_cluster: reference_in_cluster(name, registry)?.with_tag(&tag).familiar(),
        })
    }
}

/// The inputs of [`cached_references`].
pub(crate) struct CachedBuild<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) registry: Option<&'a Registry>,
    pub(crate) platform: Option<&'a str>,
    /// Paths are relative to this folder.
    pub(crate) folder: &'a Path,
    pub(crate) bases: &'a [Base<'a>],
}

/// Returns the references of an image that would not be built because an identical one is cached.
pub(crate) async fn cached_references(
    build: &CachedBuild<'_>,
    name: &ImageName,
    recipe: &DockerBuild,
) -> Result<Option<ImageReferences>, Failure> {
    let recipe = completed(recipe, build.bases, build.platform);
    let inputs = BuildInputs::read(&recipe, build.folder)?;
    let Some(cache) = CacheSlot::of(build.engine, name, &recipe, &inputs).await else { return Ok(None) };
    let id = cache.find(build.engine).await;
    id.map(|id| ImageReferences::by_content(name, build.registry, &id)).transpose()
}

/// Returns the recipe as it is sent to the engine.
fn completed(recipe: &DockerBuild, bases: &[Base<'_>], platform: Option<&str>) -> DockerBuild {
    let mut recipe = recipe.clone();
    recipe.build_args = build_inputs::arguments(&recipe);
    recipe.dockerfile = base::replace(&recipe, bases);
    if recipe.platform.is_empty() {
        recipe.platform = platform.unwrap_or_default().to_owned();
    }
    recipe
}

fn unsupported(name: &ImageName, what: &str) -> Failure {
    Failure::user(format!("{what} is not supported yet: the image {name} cannot be built"))
}

/// Returns the local reference of an image in the cluster.
pub(crate) fn local_reference(
    job: &DeployJob,
    name: &ImageName,
    in_cluster: &str,
) -> Result<String, Failure> {
    let (registry, known) = (job.registry.as_ref(), Reference::parse(in_cluster)?);
    // A command may have chosen any name.
    if reference_in_cluster(name, registry)?.name() != known.name() {
        return Ok(custom::seen_from_here(in_cluster, registry));
    }
    let tag = known.tag().unwrap_or("latest");
    Ok(reference_in_registry(name, registry)?.with_tag(tag).familiar())
}

async fn build(
    context: &Context,
    engine: &Engine,
    job: &DeployJob,
    (name, recipe): (&ImageName, &DockerBuild),
    bases: &[Base<'_>],
    steps: &mut Steps,
) -> Result<String, Failure> {
    steps.begin(StageKind::Build, name.as_str(), format!("Building Dockerfile: [{name}]")).await;
    let recipe = completed(recipe, bases, job.platform.as_deref());
    print_dockerfile(steps, &recipe.platform, &recipe.dockerfile);
    let inputs = BuildInputs::read(&recipe, context.settings.folder())?;
    context.logs.add_secrets(inputs.secrets_to_redact());
    let mut known = None;
    if job.first {
        known = CacheSlot::of(engine, name, &recipe, &inputs).await;
    }
    if let Some(cache) = &known
        && let Some(id) = cache.find(engine).await
    {
        steps.detail("Skipping build: nothing has changed since it was built");
        add_tags(engine, &id, &recipe.extra_tags).await?;
        steps.end().await;
        return Ok(id);
    }
    // The inputs are hashed while the engine prepares the build, and before it reads any file.
    let hold = CancellationToken::new();
    let fingerprint = async {
        let _free = hold.clone().drop_guard();
        if known.is_none() { CacheSlot::of(engine, name, &recipe, &inputs).await } else { known }
    };
    let request = BuildRequest {
        secrets: inputs.secrets.clone(),
        ssh: inputs.ssh.clone(),
        hold: Some(hold.clone()),
        ..BuildRequest::new(recipe.clone())
    };
    let (mut filter, mut bases) = (ProgressFilter::default(), Bases::default());
    let progress = |progress: BuildProgress| {
        bases.record(&progress);
        steps.stages().record(&progress);
        if filter.is_new(&progress) {
            print_progress(steps, &progress);
        }
    };
    let build = engine.build(&request, progress, context.cancel.clone());
    let (cache, built) = tokio::join!(fingerprint, build);
    let built = built?;
    if let Some(cache) = cache {
        cache.store(engine, bases, &built.id).await;
    }
    steps.end().await;
    Ok(built.id)
}

/// Adds the extra tags that a build would add.
async fn add_tags(engine: &Engine, id: &str, names: &[String]) -> Result<(), Failure> {
    for name in names {
        engine.tag(id, name).await?;
    }
    Ok(())
}

fn print_dockerfile(steps: &mut Steps, platform: &str, dockerfile: &str) {
    let span = steps.span();
    match platform {
        "" => span.info("Building Dockerfile:"),
        platform => span.info(&format!("Building Dockerfile for platform {platform}:")),
    }
    for line in dockerfile.lines() {
        span.info(&format!("  {line}"));
    }
    span.info("\n");
    steps.detail("Building image");
}

/// Drops repeated messages: BuildKit starts and finishes some steps several times, each in no time.
#[derive(Default)]
struct ProgressFilter {
    started: BTreeSet<StepId>,
    finished: BTreeSet<StepId>,
}

/// A repeated end after this time is not dropped.
const LONG: Duration = Duration::from_millis(500);

impl ProgressFilter {
    fn is_new(&mut self, progress: &BuildProgress) -> bool {
        match progress {
            BuildProgress::Started { step, .. } => self.started.insert(step.clone()),
            BuildProgress::Finished { step, duration, error, .. } => {
                self.finished.insert(step.clone()) || error.is_some() || *duration >= LONG
            }
            BuildProgress::Log { .. } | BuildProgress::Advanced { .. } | BuildProgress::Warning { .. } => {
                true
            }
        }
    }
}

fn print_progress(steps: &mut Steps, progress: &BuildProgress) {
    match progress {
        BuildProgress::Started { name, .. } if !is_internal(name) => steps.detail(name),
        BuildProgress::Log { line, .. } => steps.detail(&format!("  {line}")),
        BuildProgress::Finished { name, error: Some(_), .. } => steps.detail(&format!("{name} [failed]")),
        BuildProgress::Finished { name, cached: true, .. } if !is_internal(name) => {
            steps.detail(&format!("{name} [cached]"));
        }
        BuildProgress::Finished { name, duration, .. } if !is_internal(name) => {
            steps.detail(&format!("{name} [done: {}ms]", duration.as_millis()));
        }
        BuildProgress::Started { .. } | BuildProgress::Finished { .. } | BuildProgress::Advanced { .. } => {}
        BuildProgress::Warning { message, line } => {
            let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            steps.warn_in_step(format!("{place}{message}"));
        }
    }
}

/// Returns whether this is an internal step of BuildKit, unrelated to the Dockerfile.
fn is_internal(name: &str) -> bool {
    name.starts_with("[internal]")
}
