//! Resolves the files of a project with Docker Compose.

use std::collections::HashSet;
use std::path::PathBuf;

use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_model::compose::{ComposeConfig, ComposeProject};
use lilt_model::files::IgnoreRule;
use lilt_model::reference::Reference;
use serde_json::Value as Json;

use super::compose::absolute;
use super::compose_env_files::EnvFiles;
use super::image_files::{Filters, ignores_in};
use super::tool;
use crate::declarations::{ServiceBuild, ServiceDeclaration, ServiceOptions};
use crate::failure::raise;
use crate::load_state::LoadState;
use crate::paths::clean;

/// Returns the services of a project, dependencies first.
pub(super) fn services(
    state: &LoadState<'_>,
    project: &ComposeProject,
) -> starlark::Result<Vec<ServiceDeclaration>> {
    let env_files = EnvFiles::of(state, project);
    env_files.watch(state);
    let mut resolved = resolve(state, project, &[])?;
    env_files.add(state, &mut resolved)?;
    let services = resolved.get("services").and_then(Json::as_object).cloned().unwrap_or_default();
    let mut names: Vec<&String> = services.keys().collect();
    names.sort();
    let mut order: Vec<&str> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for name in names {
        visit(name, &services, &mut seen, &mut order);
    }
    order.into_iter().map(|name| service(state, project, name, &services)).collect()
}

fn visit<'s>(
    name: &'s str,
    services: &'s serde_json::Map<String, Json>,
    seen: &mut HashSet<&'s str>,
    order: &mut Vec<&'s str>,
) {
    let Some(service) = services.get(name).filter(|_| seen.insert(name)) else { return };
    for dependency in dependencies(service) {
        visit(dependency, services, seen, order);
    }
    order.push(name);
}

fn dependencies(service: &Json) -> impl Iterator<Item = &str> {
    let named = service.get("depends_on").and_then(Json::as_object);
    named.into_iter().flat_map(|named| named.keys().map(String::as_str))
}

/// Runs `docker compose config` with the first Compose program that exists.
pub(super) fn resolve(
    state: &LoadState<'_>,
    project: &ComposeProject,
    flags: &[&str],
) -> starlark::Result<Json> {
    // Held until Compose has read them.
    let mut texts = Vec::new();
    let mut words = project_flags(project);
    for config in &project.configs {
        let path = match config {
            ComposeConfig::File(path) => path.clone(),
            ComposeConfig::Text(text) => {
                let file = state.system.temporary_file(text.as_bytes()).map_err(|error| {
                    raise(Failure::environment(format!(
                        "docker_compose: cannot write a temporary file: {error}"
                    )))
                })?;
                let path = file.to_path_buf();
                texts.push(file);
                path
            }
        };
        words.extend(["-f".to_owned(), path.display().to_string()]);
    }
    words.extend(project.profiles.iter().flat_map(|profile| ["--profile".to_owned(), profile.clone()]));
    words.extend(["config", "--format", "json"].map(str::to_owned));
    words.extend(flags.iter().map(|flag| (*flag).to_owned()));
    // All paths are absolute. Only `${PWD}` depends on the folder: it is where lilt was started, as in Tilt.
    let dir = state.system.start_directory().unwrap_or_else(|| project.directory.clone());
    let env: Vec<(String, String)> = match crate::environment::get("PWD") {
        Some(_) => Vec::new(),
        None => vec![("PWD".to_owned(), dir.display().to_string())],
    };
    for program in programs() {
        let argv = program.iter().map(|word| (*word).clone()).chain(words.clone()).collect();
        let command = Command { argv, dir: dir.clone(), env: env.clone(), unset: Vec::new() };
        let Some(output) = tool::run_with_any_exit_code(state, "docker_compose", &command)? else {
            continue;
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.exit_code == Some(0) {
            // Compose escapes every `$` as `$$`.
            let text = String::from_utf8_lossy(&output.stdout).replace("$$", "$");
            return serde_json::from_str(&text).map_err(|error| {
                let words = format!("docker_compose: what Docker Compose says is no JSON: {error}");
                raise(Failure::environment(words).hint("Docker Compose 2 or newer is needed"))
            });
        }
        if is_missing(&stderr) {
            continue;
        }
        let mut failure = tool::exit_failure("docker_compose", &command, &output);
        for text in &texts {
            let path = text.display().to_string();
            failure.message = hide_path(&failure.message, &path);
            failure.detail = failure.detail.map(|detail| hide_path(&detail, &path));
        }
        return Err(raise(failure));
    }
    let failure = Failure::environment("docker_compose: there is no Docker Compose");
    Err(raise(failure.hint("install it so that `docker compose version` works")))
}

/// Replaces the path of a temporary file, which means nothing to the user.
fn hide_path(words: &str, path: &str) -> String {
    words.replace(path, "(a blob of the Tiltfile)")
}

/// Whether `docker` exists, but without Compose.
fn is_missing(stderr: &str) -> bool {
    ["is not a docker command", "unknown command: docker compose", "unknown flag: --project-name"]
        .iter()
        .any(|words| stderr.contains(words))
}

fn programs() -> Vec<Vec<String>> {
    match crate::environment::get("TILT_DOCKER_COMPOSE_CMD") {
        Some(program) if !program.is_empty() => vec![vec![program]],
        _ => vec![vec!["docker".to_owned(), "compose".to_owned()], vec!["docker-compose".to_owned()]],
    }
}

fn project_flags(project: &ComposeProject) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    if !project.name.is_empty() {
        option("--project-name", project.name.clone());
    }
    option("--project-directory", project.directory.display().to_string());
    if let Some(path) = &project.env_file {
        option("--env-file", path.display().to_string());
    }
    words
}

fn service(
    state: &LoadState<'_>,
    project: &ComposeProject,
    name: &str,
    services: &serde_json::Map<String, Json>,
) -> starlark::Result<ServiceDeclaration> {
    let config = services[name].clone();
    let image = match config.get("image").and_then(Json::as_str) {
        Some(image) if !image.is_empty() => image.to_owned(),
        _ => format!("{}_{name}", project.name),
    };
    let image = Reference::parse(&image).map_err(|problem| {
        raise(Failure::user(format!("docker_compose: service {name}: {}", problem.message)))
    })?;
    let ports = config.get("ports").and_then(Json::as_array).into_iter().flatten();
    let published = |port: &Json| match port.get("published")? {
        Json::String(port) => port.parse::<u16>().ok(),
        port => port.as_u64().and_then(|port| u16::try_from(port).ok()),
    };
    let published_ports = ports.filter_map(published).filter(|port| *port != 0).collect();
    let mut resource_deps: Vec<String> = dependencies(&config)
        .filter(|dependency| services.contains_key(*dependency))
        .map(str::to_owned)
        .collect();
    resource_deps.sort();
    Ok(ServiceDeclaration {
        name: name.to_owned(),
        service: name.to_owned(),
        image,
        build: build(state, &config)?,
        published_ports,
        options: ServiceOptions { resource_deps, ..ServiceOptions::default() },
        config,
    })
}

fn build(state: &LoadState<'_>, config: &Json) -> starlark::Result<Option<ServiceBuild>> {
    let Some(context) = config.pointer("/build/context").and_then(Json::as_str).filter(|it| !it.is_empty())
    else {
        return Ok(None);
    };
    let Some(context) = absolute(context) else {
        return Ok(Some(ServiceBuild { context: None, watch_ignores: Vec::new() }));
    };
    let dockerfile = config.pointer("/build/dockerfile").and_then(Json::as_str).unwrap_or("Dockerfile");
    let filters = Filters { dockerfile: Some(clean(&context.join(dockerfile))), ..Filters::default() };
    let mut watch_ignores = ignores_in(state, std::slice::from_ref(&context), &filters)?;
    // The container sees mounted files directly: a build would change nothing.
    let volumes = config.get("volumes").and_then(Json::as_array).into_iter().flatten();
    let sources = volumes.filter_map(|volume| absolute(volume.get("source")?.as_str()?));
    watch_ignores.extend(sources.map(|source: PathBuf| IgnoreRule::path(source)));
    Ok(Some(ServiceBuild { context: Some(context), watch_ignores }))
}
