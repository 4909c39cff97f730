//! `docker_compose` and `dc_resource`.

use std::path::{Path, PathBuf};

use lilt_model::Failure;
use lilt_model::compose::{ComposeConfig, ComposeProject};
use lilt_model::reference::Reference;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;
use starlark::values::{Value, ValueLike};

use super::compose_config;
use crate::arguments::{Argument, Function};
use crate::declarations::{ComposeDeclaration, Declarations, ServiceDeclaration};
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use crate::values::Blob;
use lilt_model::nearest::nearest;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Runs the services of Docker Compose files; each is a resource. Several calls for one project add up.
    ///
    /// # Arguments
    /// * `configPaths`: the path of a Compose file, a blob of one, or a list of those that override each other in order
    /// * `env_file`: the file of variables for the Compose files, `.env` beside them unless given
    /// * `project_name`: the name of the first file's directory unless given
    /// * `profiles`: profiles to enable; those of `COMPOSE_PROFILES` unless given
    /// * `wait`: an update ends when its service is healthy
    fn docker_compose<'v>(
        #[allow(non_snake_case)] configPaths: Value<'v>,
        env_file: Option<Value<'v>>,
        project_name: Option<Value<'v>>,
        profiles: Option<Value<'v>>,
        wait: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("docker_compose");
        let state = load_state(eval);
        let span = state.span(eval)?;
        let argument = function.argument("configPaths", configPaths);
        let configs = configs(state, argument)?;
        if configs.is_empty() {
            return Err(argument.refuse("a Compose file is needed"));
        }
        let env_file = match function.argument("env_file", env_file).string()?.as_str() {
            "" => None,
            path => Some(state.absolute(path)),
        };
        if let Some(path) = &env_file {
            state.watch_entry(path);
        }
        let first_file = configs.iter().find_map(|config| match config {
            ComposeConfig::File(path) => Some(path.clone()),
            ComposeConfig::Text(_) => None,
        });
        let tiltfile = state.current_file();
        let directory =
            first_file.as_ref().unwrap_or(&tiltfile).parent().unwrap_or(Path::new("/")).to_owned();
        let name = match function.argument("project_name", project_name).string()? {
            given if !given.is_empty() => given,
            _ => default_project_name(&directory),
        };
        let profiles = function.argument("profiles", profiles);
        let profiles =
            if profiles.is_given() { profiles.strings()? } else { profiles_from_environment(state, &name) };
        let wait = function.argument("wait", wait).boolean()?.unwrap_or(false);
        let known = state.declared.borrow().compose.iter().position(|known| known.project.name == name);
        let project = match known {
            None => ComposeProject { name, directory, configs, env_file, profiles, wait },
            Some(index) => {
                let mut project = state.declared.borrow().compose[index].project.clone();
                project.configs.extend(
                    configs
                        .into_iter()
                        .filter(|config| !project.configs.contains(config))
                        .collect::<Vec<_>>(),
                );
                project.env_file = env_file.or(project.env_file);
                project
            }
        };
        let mut services = compose_config::services(state, &project)?;
        let mut declared = state.declared.borrow_mut();
        if let Some(index) = known {
            let before = declared.compose.remove(index);
            carry_over_options(&mut services, &before.services);
            check_names(function, &declared, &services)?;
            declared.compose.insert(index, ComposeDeclaration { project, services, ..before });
        } else {
            check_names(function, &declared, &services)?;
            declared.compose.push(ComposeDeclaration { span, project, services });
        }
        Ok(NoneType)
    }

    /// Says more about the resource of a Compose service. Several calls for one service add up.
    ///
    /// # Arguments
    /// * `name`: of the service
    /// * `image`: the image of this project that it runs, if the Compose file names another
    /// * `trigger_mode`: whether changes update it by themselves
    /// * `resource_deps`: resources that must have been ready before it starts
    /// * `infer_links`: whether published ports are shown as links
    /// * `links`: addresses to show, as strings or `link()`
    /// * `labels`: groups it is shown in
    /// * `auto_init`: whether it starts by itself
    /// * `project_name`: the project of the service, if several have one of the name
    /// * `new_name`: another name for the resource
    /// * `cascade`: whether an update of one of `resource_deps` also updates it; without it, what `update_settings()` says;
    ///   not in Tilt
    fn dc_resource<'v>(
        name: Value<'v>,
        image: Option<Value<'v>>,
        trigger_mode: Option<Value<'v>>,
        resource_deps: Option<Value<'v>>,
        infer_links: Option<Value<'v>>,
        links: Option<Value<'v>>,
        labels: Option<Value<'v>>,
        auto_init: Option<Value<'v>>,
        project_name: Option<Value<'v>>,
        new_name: Option<Value<'v>>,
        cascade: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("dc_resource");
        let state = load_state(eval);
        let argument = |name, value| function.argument(name, value);
        let name_argument = function.argument("name", name);
        let name = name_argument.string()?;
        if name.is_empty() {
            return Err(name_argument.refuse("a name is needed"));
        }
        let image = argument("image", image);
        let reference = image.text()?.map(|text| Reference::parse(&text)).transpose();
        let reference = reference.map_err(|problem| image.refuse(problem.message))?;
        let project_name = argument("project_name", project_name).string()?;
        let new_name = argument("new_name", new_name).resource_name()?;
        let trigger_mode = argument("trigger_mode", trigger_mode).trigger_mode()?;
        let infer_links = argument("infer_links", infer_links).boolean()?;
        let auto_init = argument("auto_init", auto_init).boolean()?;
        let cascade = argument("cascade", cascade).boolean()?;
        let links = argument("links", links).links()?;
        let labels = argument("labels", labels).labels()?;
        let resource_deps = argument("resource_deps", resource_deps).string_list()?;
        let mut declared = state.declared.borrow_mut();
        let (project, service) = find(&declared, &name, &project_name).map_err(raise)?;
        if !new_name.is_empty() && new_name != name {
            if let Some(project) = declared.project_of_service(&new_name) {
                let message =
                    format!("there is already a Docker Compose resource named {new_name}, from {project}");
                return Err(function.refuse(message));
            }
            rename(&mut declared.compose[project].services, service, &new_name);
        }
        let options = &mut declared.compose[project].services[service].options;
        options.image = reference.or(options.image.take());
        options.trigger_mode = trigger_mode.or(options.trigger_mode);
        options.infer_links = infer_links.or(options.infer_links);
        options.auto_init = auto_init.or(options.auto_init);
        options.cascade = cascade.or(options.cascade);
        options.links.extend(links);
        options.labels.extend(labels);
        options.labels.sort();
        options.labels.dedup();
        for dependency in resource_deps {
            if !options.resource_deps.contains(&dependency) {
                options.resource_deps.push(dependency);
            }
        }
        Ok(NoneType)
    }
}

fn configs(state: &LoadState<'_>, argument: Argument<'_>) -> starlark::Result<Vec<ComposeConfig>> {
    let mut configs = Vec::new();
    for element in argument.elements().into_iter().filter(|element| !element.is_none()) {
        if let Some(blob) = element.downcast_ref::<Blob>() {
            configs.push(ComposeConfig::Text(blob.text.clone()));
            continue;
        }
        let Some(path) = element.unpack_str() else {
            return Err(argument.wrong("a path, a blob such as encode_yaml(…), or a list of those", element));
        };
        let path = state.absolute(path);
        state.watch_entry(&path);
        configs.push(ComposeConfig::File(path));
    }
    Ok(configs)
}

/// Returns Compose's default name: lower case letters, digits, `-` and `_`, the latter two not at the beginning.
fn default_project_name(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let allowed = |character: &char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '_')
    };
    name.chars().filter(allowed).collect::<String>().trim_start_matches(['-', '_']).to_owned()
}

fn profiles_from_environment(state: &LoadState<'_>, project: &str) -> Vec<String> {
    let given = crate::environment::get("COMPOSE_PROFILES").unwrap_or_default();
    if given.is_empty() {
        return Vec::new();
    }
    state.print(&format!("Compose project {project:?} loading profiles from environment: {given}"));
    given.split(',').map(str::to_owned).collect()
}

/// Keeps the options of services when their files are read again.
fn carry_over_options(services: &mut [ServiceDeclaration], before: &[ServiceDeclaration]) {
    for service in services {
        for dependency in &mut service.options.resource_deps {
            if let Some(known) = before.iter().find(|known| known.service == *dependency) {
                dependency.clone_from(&known.name);
            }
        }
        let Some(known) = before.iter().find(|known| known.service == service.service) else { continue };
        let dependencies = std::mem::take(&mut service.options.resource_deps);
        service.options = known.options.clone();
        let deps = &mut service.options.resource_deps;
        deps.extend(dependencies);
        deps.sort();
        deps.dedup();
        service.name.clone_from(&known.name);
    }
}

fn check_names(
    function: Function,
    declared: &Declarations,
    services: &[ServiceDeclaration],
) -> starlark::Result<()> {
    for service in services {
        if let Some(project) = declared.project_of_service(&service.name) {
            let name = &service.name;
            let failure = format!("there is already a Docker Compose resource named {name}, from {project}");
            return Err(function.refuse(failure));
        }
    }
    Ok(())
}

/// Returns the positions of a project and of its service with this name.
fn find(declared: &Declarations, name: &str, project: &str) -> Result<(usize, usize), Failure> {
    let mut known = Vec::new();
    let mut found = Vec::new();
    for (index, compose) in declared.compose.iter().enumerate() {
        if !project.is_empty() && compose.project.name != project {
            continue;
        }
        for (position, service) in compose.services.iter().enumerate() {
            known.push(service.name.as_str());
            if service.name == name {
                found.push((index, position));
            }
        }
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let failure =
                Failure::user(format!("dc_resource: there is no Docker Compose service named {name}"));
            Err(failure.hint(match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None if known.is_empty() => "call docker_compose() before".to_owned(),
                None => format!("there are: {}", known.join(", ")),
            }))
        }
        _ => Err(Failure::user(format!("dc_resource: several services are named {name}"))
            .hint("say which with project_name=")),
    }
}

/// Renames a service, also in the dependencies of others.
fn rename(services: &mut [ServiceDeclaration], position: usize, new_name: &str) {
    let old = std::mem::replace(&mut services[position].name, new_name.to_owned());
    for dependency in services.iter_mut().flat_map(|service| &mut service.options.resource_deps) {
        if *dependency == old {
            dependency.replace_range(.., new_name);
        }
    }
}

impl Declarations {
    /// Returns the project of the service with this name, for messages.
    fn project_of_service(&self, name: &str) -> Option<String> {
        let has = |compose: &&ComposeDeclaration| compose.services.iter().any(|service| service.name == name);
        self.compose.iter().find(has).map(|compose| format!("the project {}", compose.project.name))
    }
}

/// A path of this machine.
pub(super) fn absolute(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_project_name_equals_that_of_compose() {
        let name = |path: &str| default_project_name(Path::new(path));
        assert_eq!(name("/src/My.Project_1"), "myproject_1");
        assert_eq!(name("/src/_-x"), "x");
        assert_eq!(name("/"), "");
    }
}
