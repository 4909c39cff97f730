//! `docker_build`, `default_registry`.

use lilt_model::Failure;
use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::image::{DockerBuild, ImageBuild};
use lilt_model::registry::Registry;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

pub(super) use super::image_files::git_dir_rules;
use super::image_files::{Filters, ignores};
use crate::arguments::{Argument, Function};
use crate::declarations::ImageDeclaration;
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use lilt_model::reference::Reference;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Builds an image with Docker. It is built for the resources whose objects or services use it.
    ///
    /// # Arguments
    /// * `ref`: the image's name, as objects and other Dockerfiles name it
    /// * `context`: the directory that the Dockerfile sees
    /// * `build_args`: values for `ARG`, as a dict; an empty value is taken from the environment
    /// * `dockerfile`: its path, `Dockerfile` in the context unless given
    /// * `dockerfile_contents`: its text in place of a file
    /// * `cache`: has no effect any more
    /// * `live_update`: steps that bring changes into running containers without a build
    /// * `match_in_env_vars`: replace the image's name also in the values of environment variables
    /// * `ignore`: patterns of files in the context that neither trigger a build nor are seen by it
    /// * `only`: the paths of the context that alone count
    /// * `entrypoint`: the command of containers that run the image
    /// * `container_args`: the arguments of containers that run the image
    /// * `target`: the stage to build
    /// * `ssh`: agents and keys for the build, as `docker build --ssh` takes them
    /// * `secret`: secrets for the build, as `docker build --secret` takes them
    /// * `network`: the network that `RUN` commands use
    /// * `extra_tag`: more names for the image
    /// * `cache_from`: images to use as cache
    /// * `pull`: look for newer base images
    /// * `platform`: such as `linux/arm64`; the cluster's unless given
    /// * `extra_hosts`: entries for the hosts file, `name:address`
    fn docker_build<'v>(
        r#ref: Value<'v>,
        context: Value<'v>,
        build_args: Option<Value<'v>>,
        dockerfile: Option<Value<'v>>,
        dockerfile_contents: Option<Value<'v>>,
        cache: Option<Value<'v>>,
        live_update: Option<Value<'v>>,
        match_in_env_vars: Option<Value<'v>>,
        ignore: Option<Value<'v>>,
        only: Option<Value<'v>>,
        entrypoint: Option<Value<'v>>,
        container_args: Option<Value<'v>>,
        target: Option<Value<'v>>,
        ssh: Option<Value<'v>>,
        secret: Option<Value<'v>>,
        network: Option<Value<'v>>,
        extra_tag: Option<Value<'v>>,
        cache_from: Option<Value<'v>>,
        pull: Option<Value<'v>>,
        platform: Option<Value<'v>>,
        extra_hosts: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("docker_build");
        let state = load_state(eval);
        let argument = |name, value| function.argument(name, value);
        if argument("cache", cache).is_given() {
            let warning =
                "docker_build: cache has no effect; use live_update or cache mounts in the Dockerfile";
            state.declared.borrow_mut().warnings.push(warning.to_owned());
        }
        let reference = image_reference(function.argument("ref", r#ref))?;
        let context = function.argument("context", context).path_or_directory(state)?;
        let contents = argument("dockerfile_contents", dockerfile_contents);
        let path = argument("dockerfile", dockerfile);
        if contents.is_given() && path.is_given() {
            return Err(function.refuse("dockerfile and dockerfile_contents cannot both be given"));
        }
        let dockerfile_path = path.path(state)?.unwrap_or_else(|| context.join("Dockerfile"));
        let dockerfile = match contents.text()? {
            Some(text) => text,
            None => state.read_text(&dockerfile_path).map_err(|failure| {
                let message = format!("docker_build: cannot read the Dockerfile: {}", failure.message);
                raise(Failure { message, ..failure })
            })?,
        };
        let extra_tag = argument("extra_tag", extra_tag);
        let extra_tags = extra_tag.strings()?;
        for tag in &extra_tags {
            Reference::parse(tag).map_err(|problem| extra_tag.refuse(problem.message))?;
        }
        let platform = match argument("platform", platform).string()? {
            given if !given.is_empty() => given,
            _ => crate::environment::get("DOCKER_DEFAULT_PLATFORM").unwrap_or_default(),
        };
        let only = argument("only", only);
        let filters = Filters {
            ignore: argument("ignore", ignore).patterns()?,
            only: only.patterns()?,
            dockerfile: Some(dockerfile_path.clone()),
        };
        if let Some(path) = filters.only.iter().find(|path| path.contains('*')) {
            return Err(only.refuse(format!("it takes real paths, no patterns: {path:?}")));
        }
        let roots = vec![context];
        let context_ignores = ignores(state, &roots, &filters)?;
        let build = DockerBuild {
            context: FileSet::new(roots.clone(), context_ignores.clone()),
            dockerfile_path: (!contents.is_given()).then(|| dockerfile_path.clone()),
            dockerfile,
            build_args: argument("build_args", build_args).string_map()?,
            target: argument("target", target).string()?,
            platform,
            network: argument("network", network).string()?,
            extra_tags,
            cache_from: argument("cache_from", cache_from).strings()?,
            extra_hosts: argument("extra_hosts", extra_hosts).strings()?,
            pull: argument("pull", pull).boolean()?.unwrap_or(false),
            ssh: argument("ssh", ssh).strings()?,
            secrets: argument("secret", secret).strings()?,
            variables: Vec::new(),
        };
        let mut watch_ignores = context_ignores;
        // A changed Dockerfile reloads the Tiltfile, which triggers the build: it must not trigger a second one.
        watch_ignores.push(IgnoreRule::path(dockerfile_path));
        let declaration = ImageDeclaration {
            roots,
            watch_ignores,
            live_update: super::live_update::live_update(argument("live_update", live_update), state)?,
            match_in_env_vars: argument("match_in_env_vars", match_in_env_vars).boolean()?.unwrap_or(false),
            entrypoint: argument("entrypoint", entrypoint).unix_argv()?,
            container_args: container_arguments(argument("container_args", container_args))?,
            ..ImageDeclaration::new(state.span(eval)?, reference, ImageBuild::Docker(build))
        };
        declare(function, state, declaration)?;
        Ok(NoneType)
    }

    /// The registry that images are pushed to, unless the cluster announces one of its own.
    ///
    /// # Arguments
    /// * `host`: such as `localhost:5000` or `gcr.io/my-team`
    /// * `host_from_cluster`: how the cluster reaches it, if that differs
    /// * `single_name`: one repository for all images, told apart by their tags, for registries such as ECR
    fn default_registry<'v>(
        host: Value<'v>,
        host_from_cluster: Option<Value<'v>>,
        single_name: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("default_registry");
        let argument = function.argument("host", host);
        let host = argument.string()?;
        check_host(argument, &host)?;
        let argument = function.argument("host_from_cluster", host_from_cluster);
        let host_from_cluster = argument.text()?.filter(|host| !host.is_empty());
        if let Some(host) = &host_from_cluster {
            check_host(argument, host)?;
        }
        let single_name = function.argument("single_name", single_name).string()?;
        let mut declared = load_state(eval).declared.borrow_mut();
        if declared.registry.is_some() {
            return Err(function.refuse("it was already called"));
        }
        declared.registry = Some(Registry { host, host_from_cluster, single_name, ..Registry::default() });
        Ok(NoneType)
    }
}

fn check_host(argument: Argument<'_>, host: &str) -> starlark::Result<()> {
    let example = format!("{host}/x");
    match Reference::parse(&example) {
        // A host without a dot or port would be parsed as a part of the name.
        Ok(reference) if reference.name() == example => Ok(()),
        _ => Err(argument
            .refuse(format!("{host:?} is no registry host such as 'localhost:5000' or 'gcr.io/team'"))),
    }
}

pub(super) fn image_reference(argument: Argument<'_>) -> starlark::Result<Reference> {
    Reference::parse(&argument.string()?).map_err(|problem| argument.refuse(problem.message))
}

/// A list of images that must exist in the project.
pub(super) fn image_references(argument: Argument<'_>) -> starlark::Result<Vec<Reference>> {
    let parse = |text: String| Reference::parse(&text).map_err(|problem| argument.refuse(problem.message));
    argument.string_list()?.into_iter().map(parse).collect()
}

/// None differs from an empty list, which removes the container's own arguments.
pub(super) fn container_arguments(argument: Argument<'_>) -> starlark::Result<Option<Vec<String>>> {
    argument.is_given().then(|| argument.string_list()).transpose()
}

/// Declares an image; two with the same reference are an error.
pub(super) fn declare(
    function: Function,
    state: &LoadState<'_>,
    declaration: ImageDeclaration,
) -> starlark::Result<()> {
    let mut declared = state.declared.borrow_mut();
    if let Some(other) = declared.images.iter().find(|other| other.reference == declaration.reference) {
        let (name, span) = (&declaration.reference, other.span.location());
        return Err(function.refuse(format!("the image {} is already defined at {span}", name.familiar())));
    }
    declared.images.push(declaration);
    Ok(())
}
