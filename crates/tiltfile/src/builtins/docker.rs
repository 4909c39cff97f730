//! `docker_build`, `default_registry`.

use std::path::{Path, PathBuf};

use lilt_model::cluster::Registry;
use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::image::DockerBuild;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use super::live_update::live_update;
use crate::arguments::Function;
use crate::declare::ImageDeclaration;
use crate::failure::raise;
use crate::session::{Session, session};
use lilt_model::reference::Reference;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Builds an image with Docker.
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
        let session = session(eval);
        for (name, value) in [
            ("match_in_env_vars", match_in_env_vars),
            ("entrypoint", entrypoint),
            ("container_args", container_args),
            ("ssh", ssh),
            ("secret", secret),
        ] {
            function.argument(name, value).not_supported_yet()?;
        }
        if cache.is_some() {
            let warning = "docker_build: cache has no effect; use cache mounts in the Dockerfile instead";
            session.declared.borrow_mut().warnings.push(warning.to_owned());
        }
        let name = function.argument("ref", r#ref);
        let text = name.string()?;
        let reference = Reference::parse(&text).map_err(|problem| name.refuse(problem.message))?;
        let context = session.absolute(function.argument("context", context).string()?);
        let contents = function.argument("dockerfile_contents", dockerfile_contents);
        let path = function.argument("dockerfile", dockerfile);
        if contents.is_given() && path.is_given() {
            return Err(function.refuse("dockerfile and dockerfile_contents cannot both be given"));
        }
        let dockerfile_path = path.path(session)?.unwrap_or_else(|| context.join("Dockerfile"));
        let dockerfile = match contents.text()? {
            Some(text) => text,
            None => session.read_text(&dockerfile_path).map_err(|failure| {
                let message = format!("docker_build: cannot read the Dockerfile: {}", failure.message);
                raise(lilt_model::Failure { message, ..failure })
            })?,
        };
        let extra_tag = function.argument("extra_tag", extra_tag);
        let extra_tags = extra_tag.strings()?;
        for tag in &extra_tags {
            Reference::parse(tag).map_err(|problem| extra_tag.refuse(problem.message))?;
        }
        let platform = match function.argument("platform", platform).string()? {
            given if !given.is_empty() => given,
            _ => session.outside.environment_variable("DOCKER_DEFAULT_PLATFORM").unwrap_or_default(),
        };
        let only = function.argument("only", only);
        let only_paths = only.patterns()?;
        if let Some(path) = only_paths.iter().find(|path| path.contains('*')) {
            return Err(only.refuse(format!("it takes real paths, no patterns: {path:?}")));
        }
        let ignore = function.argument("ignore", ignore).patterns()?;
        let live_update = live_update_of(function.argument("live_update", live_update), session)?;
        let context_ignores = context_ignores(session, &context, &dockerfile_path, ignore, &only_paths)?;
        let mut watch_ignores = context_ignores.clone();
        // A changed Dockerfile reloads the Tiltfile, and that leads to the build: not twice.
        watch_ignores.push(IgnoreRule::path(&dockerfile_path));
        let declaration = ImageDeclaration {
            place: session.place(eval)?,
            build: DockerBuild {
                context: FileSet { roots: vec![context], ignores: context_ignores },
                dockerfile_path: (!contents.is_given()).then_some(dockerfile_path),
                dockerfile,
                build_args: function.argument("build_args", build_args).string_map()?,
                target: function.argument("target", target).string()?,
                platform,
                network: function.argument("network", network).string()?,
                extra_tags,
                cache_from: function.argument("cache_from", cache_from).strings()?,
                extra_hosts: function.argument("extra_hosts", extra_hosts).strings()?,
                pull: function.argument("pull", pull).boolean()?.unwrap_or(false),
            },
            watch_ignores,
            live_update,
            reference,
        };
        let mut declared = session.declared.borrow_mut();
        if let Some(other) = declared.images.iter().find(|other| other.reference == declaration.reference) {
            let (name, place) = (&declaration.reference, other.place.location());
            return Err(
                function.refuse(format!("the image {} is already defined at {place}", name.familiar()))
            );
        }
        declared.images.push(declaration);
        Ok(NoneType)
    }

    /// The registry that images are pushed to.
    fn default_registry<'v>(
        host: Value<'v>,
        host_from_cluster: Option<Value<'v>>,
        single_name: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("default_registry");
        function.argument("single_name", single_name).not_supported_yet()?;
        let argument = function.argument("host", host);
        let host = argument.string()?;
        if host.is_empty() || host.contains("://") || host.contains(char::is_whitespace) {
            return Err(argument
                .refuse(format!("{host:?} is no registry host such as 'localhost:5000' or 'gcr.io/team'")));
        }
        let from_cluster = function.argument("host_from_cluster", host_from_cluster).text()?;
        let mut declared = session(eval).declared.borrow_mut();
        if declared.registry.is_some() {
            return Err(function.refuse("it was already called"));
        }
        let host_from_cluster = from_cluster.filter(|host| !host.is_empty());
        declared.registry = Some(Registry { host, host_from_cluster });
        Ok(NoneType)
    }
}

/// The parameter of the same name hides the function above.
fn live_update_of(
    argument: crate::arguments::Argument<'_>,
    session: &Session<'_>,
) -> starlark::Result<Option<lilt_model::image::LiveUpdate>> {
    live_update(argument, session)
}

fn context_ignores(
    session: &Session<'_>,
    context: &Path,
    dockerfile: &Path,
    ignore: Vec<String>,
    only: &[String],
) -> starlark::Result<Vec<IgnoreRule>> {
    let mut rules = vec![IgnoreRule::path(session.current_file())];
    rules.extend(repositories(session, &[dockerfile.to_owned(), context.to_owned()]));
    if !session.outside.is_dir(context) {
        return Ok(rules);
    }
    let below_context = |patterns: Vec<String>| IgnoreRule { base: context.to_owned(), patterns };
    if !ignore.is_empty() {
        rules.push(below_context(ignore));
    }
    if !only.is_empty() {
        let exceptions = only.iter().map(|path| format!("!{path}"));
        rules.push(below_context(std::iter::once("**".to_owned()).chain(exceptions).collect()));
    }
    let mut own = dockerfile.as_os_str().to_owned();
    own.push(".dockerignore");
    let own = PathBuf::from(own);
    let file = if session.outside.exists(&own) { own } else { context.join(".dockerignore") };
    match session.read(&file) {
        Ok(content) => {
            let patterns = lilt_model::ignore::parse_patterns(&String::from_utf8_lossy(&content));
            if !patterns.is_empty() {
                rules.push(below_context(patterns));
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(raise(session.unreadable(&file, &error))),
    }
    Ok(rules)
}

/// The `.git` of each of these paths that is the root of a repository.
pub(super) fn repositories(session: &Session<'_>, paths: &[PathBuf]) -> Vec<IgnoreRule> {
    let mut found: Vec<IgnoreRule> = Vec::new();
    for path in paths {
        let rule = IgnoreRule::path(path.join(".git"));
        if session.outside.is_dir(&rule.base) && !found.contains(&rule) {
            found.push(rule);
        }
    }
    found
}
