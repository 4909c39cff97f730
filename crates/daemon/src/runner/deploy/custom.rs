//! Builds an image with a command of the user.

use lilt_cluster::inject::Injection;
use lilt_docker::Engine;
use lilt_engine::DeployJob;
use lilt_host::files;
use lilt_model::cluster::Delivery;
use lilt_model::image::{CustomBuild, CustomOutput, ImageBuild, ImageTarget};
use lilt_model::reference::Reference;
use lilt_model::registry::{Registry, reference_in_cluster, reference_in_registry, tag_in_registry};
use lilt_model::timeline::StageKind;
use lilt_model::{Failure, ImageName};

use super::base::Base;
use super::delivery;
use super::image::{self, Built};
use super::steps::Steps;
use super::variables;
use crate::context::Context;
use crate::runner::local;

pub(crate) async fn build_and_push(
    context: &Context,
    job: &DeployJob,
    (target, recipe): (&ImageTarget, &CustomBuild),
    bases: &[Base<'_>],
    steps: &mut Steps,
) -> Result<Built, Failure> {
    let name = &target.name;
    let pushes = recipe.output == CustomOutput::LocalDocker;
    if pushes && recipe.outputs_image_ref_to.is_none() {
        delivery::refuse_without_registry(job, name)?;
    }
    steps.begin(StageKind::Build, name.as_str(), format!("Building Custom Build: [{name}]")).await;
    let expected = Expected::of(job, name, recipe)?;
    expected.remove_old_output()?;
    run(context, job, target, recipe, &expected, bases, steps).await?;
    let named = expected.built(job.registry.as_ref())?;
    let built = match recipe.output {
        CustomOutput::Remote => named,
        CustomOutput::LocalDocker | CustomOutput::LocalDockerAndRemote => {
            find(context, job, target, &expected, named).await?
        }
    };
    if delivery::pushes_itself(target) {
        steps.detail("Skipping push: custom_build() configured to handle push itself");
    }
    steps.end().await;
    delivery::deliver(context, job, target, &built, steps).await?;
    Ok(built)
}

/// The image that the command has to build.
enum Expected<'a> {
    /// The command gets the tag in a variable.
    Tagged(Built),
    /// The command uses a fixed tag, and does not know of the registry.
    OwnTag(Built),
    /// The command writes the reference to this file.
    InFile(&'a std::path::Path),
}

impl<'a> Expected<'a> {
    fn of(job: &DeployJob, name: &ImageName, recipe: &'a CustomBuild) -> Result<Expected<'a>, Failure> {
        if let Some(path) = &recipe.outputs_image_ref_to {
            return Ok(Expected::InFile(path));
        }
        if !recipe.tag.is_empty() {
            let reference = reference_in_registry(name, None)?.with_tag(&recipe.tag).to_string();
            let reference = Reference::parse(&reference)?.familiar();
            return Ok(Expected::OwnTag(Built {
                local: reference.clone(),
                in_cluster: reference,
                known: false,
            }));
        }
        let registry = job.registry.as_ref();
        let seconds = lilt_host::clock::now().since(lilt_model::Timestamp::ZERO).as_secs();
        let tag = tag_in_registry(name, registry, &format!("tilt-build-{seconds}"))?;
        Ok(Expected::Tagged(Built {
            local: reference_in_registry(name, registry)?.with_tag(&tag).familiar(),
            in_cluster: reference_in_cluster(name, registry)?.with_tag(&tag).familiar(),
            known: false,
        }))
    }

    /// Removes the output of an earlier run, so that it is not taken for this one's.
    fn remove_old_output(&self) -> Result<(), Failure> {
        let Expected::InFile(path) = self else { return Ok(()) };
        files::remove(path).map_err(|error| {
            Failure::environment(format!("outputs_image_ref_to: cannot remove {}: {error}", path.display()))
                .caused_by(&error)
        })
    }

    fn reference(&self) -> Option<&str> {
        match self {
            Expected::Tagged(built) | Expected::OwnTag(built) => Some(&built.local),
            Expected::InFile(_) => None,
        }
    }

    /// Returns the built image with the name that the command gave it.
    fn built(&self, registry: Option<&Registry>) -> Result<Built, Failure> {
        let path = match self {
            Expected::Tagged(built) | Expected::OwnTag(built) => return Ok(built.clone()),
            Expected::InFile(path) => path,
        };
        let shown = path.display();
        let text = files::read(path).ok_or_else(|| {
            Failure::user(format!("Could not find image ref in output: there is no file {shown}")).hint(
                "the command must write the reference of what it built to the file of outputs_image_ref_to",
            )
        })?;
        let invalid =
            |why: &str| Failure::user(format!("Output image ref in file {shown} was invalid: {why}"));
        let text = String::from_utf8(text).map_err(|_| invalid("it is no text"))?;
        let reference = Reference::parse(text.trim()).map_err(|failure| invalid(&failure.message))?;
        if reference.tag().is_none() {
            return Err(invalid(&format!("{} has no tag", reference.familiar())));
        }
        let local = reference.familiar();
        let in_cluster = seen_from_cluster(&local, registry);
        // The image may be older than this build.
        Ok(Built { local, in_cluster, known: true })
    }
}

async fn run(
    context: &Context,
    job: &DeployJob,
    target: &ImageTarget,
    recipe: &CustomBuild,
    expected: &Expected<'_>,
    bases: &[Base<'_>],
    steps: &mut Steps,
) -> Result<(), Failure> {
    let mut injected = Vec::new();
    if let Some(reference) = expected.reference() {
        let parsed = Reference::parse(reference)?;
        injected.push(("EXPECTED_REF".to_owned(), reference.to_owned()));
        injected.push(("EXPECTED_IMAGE".to_owned(), parsed.path().to_owned()));
        injected.push(("EXPECTED_TAG".to_owned(), parsed.tag().unwrap_or_default().to_owned()));
    }
    if let Some(registry) = &job.registry {
        injected.push(("REGISTRY_HOST".to_owned(), registry.host.clone()));
        injected.push(("EXPECTED_REGISTRY".to_owned(), registry.host.clone()));
    }
    let built = |name: &ImageName| bases.iter().find(|(image, _)| image.name == *name);
    let needed =
        target.depends_on.iter().filter_map(built).map(|(image, local)| (&image.name, local.as_str()));
    injected.extend(variables::of_images(needed));
    let span = steps.span();
    if injected.is_empty() {
        span.info("Custom Build:");
    } else {
        span.info("Custom Build: Injecting Environment Variables");
        injected.iter().for_each(|(name, value)| span.info(&format!("  {name}={value}")));
    }
    let mut command = context.connections.with_kubeconfig(&job.kubernetes.cluster, &recipe.command);
    command.env.extend(injected);
    let engine = context.connections.cluster_engine(&job.kubernetes.cluster);
    command.env.extend(engine.into_iter().flat_map(|engine| engine.variables.clone()));
    let exit = steps.run_build(&target.name, &command).await?;
    match local::exit_failure(exit) {
        None => Ok(()),
        Some(how) => Err(Failure::user(format!("Custom build {:?} failed: {how}", command.display()))),
    }
}

/// Finds the built image in the engine, and tags it by its content.
///
/// The command's own name stays if the command itself delivers the image: the cluster has it by no other name.
async fn find(
    context: &Context,
    job: &DeployJob,
    target: &ImageTarget,
    expected: &Expected<'_>,
    named: Built,
) -> Result<Built, Failure> {
    let engine = &context.connections.build_engine(&job.kubernetes.cluster)?;
    let Some(id) = engine.image_id(&named.local).await? else {
        return Err(missing(engine, &target.name, expected, &named.local).await);
    };
    match matches!(expected, Expected::InFile(_)) || is_pushed_by_command(job, target) {
        true => Ok(named),
        false => image::tag_by_content(engine, job, &target.name, &id).await,
    }
}

/// Returns whether only the command delivers the image, so that the cluster has it by no other name.
fn is_pushed_by_command(job: &DeployJob, target: &ImageTarget) -> bool {
    delivery::pushes_itself(target) && job.delivery != Delivery::Shared
}

/// Returns the image id if the command gives every build the same name, as far as the engine knows it.
pub(crate) async fn content_id(context: &Context, job: &DeployJob, image: &Injection) -> Option<String> {
    let target = job.kubernetes.image(&image.name)?;
    let ImageBuild::Custom(recipe) = &target.build else { return None };
    // Such images are not tagged by content, even if the engine happens to be the cluster's.
    let keeps_name = recipe.output == CustomOutput::Remote || is_pushed_by_command(job, target);
    let stays = keeps_name && !recipe.tag.is_empty();
    if !stays && recipe.outputs_image_ref_to.is_none() {
        return None;
    }
    let local = image::local_reference(job, &image.name, &image.deployed).ok()?;
    // An unreachable engine fails the build, not this.
    context.connections.build_engine(&job.kubernetes.cluster).ok()?.image_id(&local).await.ok()?
}

/// Returns a failure that names the expected tag and the existing ones.
async fn missing(engine: &Engine, name: &ImageName, expected: &Expected<'_>, reference: &str) -> Failure {
    let mut names: Vec<String> = [Reference::parse(reference), Reference::parse(name.as_str())]
        .into_iter()
        .flatten()
        .map(|reference| reference.familiar_name())
        .collect();
    names.dedup();
    let mut there = Vec::new();
    for name in &names {
        // A failure of this request is less important than the one being reported.
        there.extend(engine.tags(name).await.unwrap_or_default());
    }
    let there = match there.as_slice() {
        [] => format!("there is no image {} at all", names.join(" or ")),
        tags => format!("there is: {}", tags.join(", ")),
    };
    let must = match expected {
        Expected::Tagged(_) => "the command must tag what it builds as $EXPECTED_REF",
        Expected::OwnTag(_) => {
            "the command must give the image its own name and the tag that custom_build(tag=…) says"
        }
        Expected::InFile(_) => "the command must build what it writes to the file of outputs_image_ref_to",
    };
    Failure::user(format!(
        "Could not find image in Docker: custom_build of {name} was expected to build {reference}; {there}"
    ))
    .hint(format!("{must}; if it puts images elsewhere, say skips_local_docker=True"))
}

/// Converts a local reference to the cluster's name of the registry.
fn seen_from_cluster(local: &str, registry: Option<&Registry>) -> String {
    let host = registry.and_then(|it| Some((it.host.as_str(), it.host_from_cluster.as_deref()?)));
    let moved = host.filter(|(_, there)| !there.is_empty()).and_then(|(here, there)| {
        let rest = local.strip_prefix(here)?.strip_prefix('/')?;
        Some(format!("{there}/{rest}"))
    });
    moved.unwrap_or_else(|| local.to_owned())
}

/// Converts a reference in the cluster to the local name of the registry.
pub(crate) fn seen_from_here(in_cluster: &str, registry: Option<&Registry>) -> String {
    let reversed = registry.and_then(|it| {
        let host = it.host_from_cluster.clone().filter(|host| !host.is_empty())?;
        Some(Registry { host, host_from_cluster: Some(it.host.clone()), ..Registry::default() })
    });
    seen_from_cluster(in_cluster, reversed.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_is_converted_to_the_cluster_name_of_the_registry() {
        let registry = Registry {
            host: "localhost:5000".into(),
            host_from_cluster: Some("registry:5000".into()),
            ..Registry::default()
        };
        let both = |local: &str, in_cluster: &str| {
            assert_eq!(seen_from_cluster(local, Some(&registry)), in_cluster);
            assert_eq!(seen_from_here(in_cluster, Some(&registry)), local);
        };
        both("localhost:5000/web:v1", "registry:5000/web:v1");
        both("localhost:5000/team/web:v1", "registry:5000/team/web:v1");
        both("localhost:50001/web:v1", "localhost:50001/web:v1");
        both("web:v1", "web:v1");
        assert_eq!(seen_from_cluster("web:v1", None), "web:v1");
    }
}
