//! What becomes of objects: `k8s_resource`, `k8s_custom_deploy`, `workload_to_resource_function`.

use std::collections::BTreeMap;
use std::path::Path;

use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::image::{ImageBuild, LiveUpdate};
use lilt_model::kubernetes::{CustomDeploy, DiscoveryStrategy, PodReadiness};
use lilt_model::reference::Reference;
use starlark::docs::{DocItem, DocMember};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::none::NoneType;

use super::docker::{declare, image_references};
use super::image_files::{Filters, git_dir_rules, ignores};
use crate::arguments::{Argument, Function, command};
use crate::declarations::{CustomDeployDeclaration, ImageDeclaration, ResourceOptions};
use crate::load_state::load_state;
use crate::workload_function;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Says more about the resource of a workload, or makes a resource of other objects. Several calls for one resource
    /// add up.
    ///
    /// # Arguments
    /// * `workload`: the name of the resource
    /// * `new_name`: another name for it; without `workload`, the name of a new resource
    /// * `port_forwards`: ports of this machine that lead to it: `8000`, `'8000:80'`, `'0.0.0.0:8000:80'`,
    ///   `port_forward()`, or a list of those
    /// * `extra_pod_selectors`: labels of more pods that belong to it, as a dict or a list of dicts
    /// * `trigger_mode`: whether changes update it by themselves
    /// * `resource_deps`: resources that must have been ready before it starts
    /// * `objects`: more objects that belong to it, as `name`, `name:kind` or `name:kind:namespace`
    /// * `auto_init`: whether it starts by itself
    /// * `pod_readiness`: `'wait'` for its pods, `'succeeded'` to wait for their end, or `'ignore'` them
    /// * `links`: addresses to show, as strings or `link()`
    /// * `labels`: groups it is shown in
    /// * `discovery_strategy`: `'default'`, or `'selectors-only'` to find pods by `extra_pod_selectors` alone
    /// * `live_update_agent`: whether lilt's agent may be added to its pods where live updates need it; without it, what
    ///   `update_settings()` says
    /// * `context`: the context of kubeconfig that it is deployed to, with its `objects`, in place of the session's; it
    ///   must be a local cluster's or be named in `allow_k8s_contexts()`, too
    /// * `cascade`: whether an update of one of `resource_deps` also updates it; without it, what `update_settings()` says;
    ///   not in Tilt
    fn k8s_resource<'v>(
        workload: Option<Value<'v>>,
        new_name: Option<Value<'v>>,
        port_forwards: Option<Value<'v>>,
        extra_pod_selectors: Option<Value<'v>>,
        trigger_mode: Option<Value<'v>>,
        resource_deps: Option<Value<'v>>,
        objects: Option<Value<'v>>,
        auto_init: Option<Value<'v>>,
        pod_readiness: Option<Value<'v>>,
        links: Option<Value<'v>>,
        labels: Option<Value<'v>>,
        discovery_strategy: Option<Value<'v>>,
        live_update_agent: Option<Value<'v>>,
        context: Option<Value<'v>>,
        cascade: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("k8s_resource");
        let state = load_state(eval);
        let argument = |name, value| function.argument(name, value);
        let options = ResourceOptions {
            span: state.span(eval)?,
            workload: argument("workload", workload).resource_name()?,
            new_name: argument("new_name", new_name).resource_name()?,
            forwards: argument("port_forwards", port_forwards).forwards()?,
            trigger_mode: argument("trigger_mode", trigger_mode).trigger_mode()?,
            resource_deps: argument("resource_deps", resource_deps).string_list()?,
            objects: argument("objects", objects).string_list()?,
            auto_init: argument("auto_init", auto_init).boolean()?,
            pod_readiness: readiness(argument("pod_readiness", pod_readiness))?,
            extra_pod_selectors: selectors(argument("extra_pod_selectors", extra_pod_selectors))?,
            discovery_strategy: strategy(argument("discovery_strategy", discovery_strategy))?,
            live_update_agent: argument("live_update_agent", live_update_agent).boolean()?,
            context: argument("context", context).string()?,
            cascade: argument("cascade", cascade).boolean()?,
            links: argument("links", links).links()?,
            labels: argument("labels", labels).labels()?,
        };
        if options.workload.is_empty() && options.new_name.is_empty() {
            return Err(
                function.refuse("give the name of a workload, or a new_name for a resource of other objects")
            );
        }
        if options.workload.is_empty() && options.objects.is_empty() {
            return Err(function.refuse("a resource without a workload needs at least one of objects"));
        }
        state.declared.borrow_mut().options.push(options);
        Ok(NoneType)
    }

    /// A resource that commands of your own deploy and delete. The deploy command prints the objects that it applied, as
    /// YAML.
    ///
    /// # Arguments
    /// * `name`: of the resource
    /// * `apply_cmd`: deploys; a shell line, or a list of words
    /// * `delete_cmd`: deletes what was deployed
    /// * `deps`: files and directories; a change to one of them deploys again
    /// * `image_selector`: the image whose containers take live updates
    /// * `live_update`: steps that bring changes into running containers
    /// * `apply_dir`: where `apply_cmd` runs, the Tiltfile's directory unless given
    /// * `apply_env`: variables for it, as a dict
    /// * `apply_cmd_bat`: it on Windows
    /// * `delete_dir`: where `delete_cmd` runs
    /// * `delete_env`: variables for it
    /// * `delete_cmd_bat`: it on Windows
    /// * `container_selector`: the name of the containers that take live updates, in place of `image_selector`
    /// * `image_deps`: images of this project that must be built before; told in `TILT_IMAGE_0` and so on
    fn k8s_custom_deploy<'v>(
        name: Value<'v>,
        apply_cmd: Value<'v>,
        delete_cmd: Value<'v>,
        deps: Value<'v>,
        image_selector: Option<Value<'v>>,
        live_update: Option<Value<'v>>,
        apply_dir: Option<Value<'v>>,
        apply_env: Option<Value<'v>>,
        apply_cmd_bat: Option<Value<'v>>,
        delete_dir: Option<Value<'v>>,
        delete_env: Option<Value<'v>>,
        delete_cmd_bat: Option<Value<'v>>,
        container_selector: Option<Value<'v>>,
        image_deps: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("k8s_custom_deploy");
        let state = load_state(eval);
        let argument = |name, value| function.argument(name, value);
        let words = function.argument("apply_cmd", apply_cmd);
        let (batch, directory) = (argument("apply_cmd_bat", apply_cmd_bat), argument("apply_dir", apply_dir));
        let apply = command(state, words, batch, directory, argument("apply_env", apply_env))?
            .ok_or_else(|| words.refuse("a command is needed"))?;
        let words = function.argument("delete_cmd", delete_cmd);
        let (batch, directory) =
            (argument("delete_cmd_bat", delete_cmd_bat), argument("delete_dir", delete_dir));
        let delete = command(state, words, batch, directory, argument("delete_env", delete_env))?
            .ok_or_else(|| words.refuse("a command is needed"))?;
        let deps = function.argument("deps", deps).paths(state)?;
        let live_update = super::live_update::live_update(argument("live_update", live_update), state)?;
        let name_argument = function.argument("name", name);
        let name = name_argument.resource_name()?;
        if name.is_empty() {
            return Err(name_argument.refuse("a name is needed"));
        }
        let image_argument = argument("image_selector", image_selector);
        let image_selector = image_argument.string()?;
        let container_selector = argument("container_selector", container_selector).string()?;
        let span = state.span(eval)?;
        let mut watch_ignores: Vec<IgnoreRule> = live_update.iter().flat_map(synced_paths).collect();
        watch_ignores.extend(git_dir_rules(state, &deps));
        let mut live_update_image = None;
        if let Some(mut update) = live_update {
            let reference = match (image_selector.as_str(), container_selector.as_str()) {
                ("", "") => {
                    return Err(
                        function.refuse("live_update needs an image_selector or a container_selector")
                    );
                }
                // Nothing is built under this name; it only must be unique.
                ("", _) => Reference::parse(&format!("k8s_custom_deploy:{name}")),
                (image, "") => Reference::parse(image),
                _ => {
                    return Err(function.refuse("image_selector and container_selector cannot both be given"));
                }
            };
            let reference = reference.map_err(|problem| image_argument.refuse(problem.message))?;
            update.container_name = container_selector;
            let declaration = ImageDeclaration {
                watch_ignores: ignores(state, &deps, &Filters::default())?,
                roots: deps.clone(),
                live_update: Some(update),
                ..ImageDeclaration::new(span.clone(), reference.clone(), ImageBuild::LiveUpdateOnly)
            };
            declare(function, state, declaration)?;
            live_update_image = Some(reference);
        }
        let files = FileSet::new(deps, watch_ignores);
        state.declared.borrow_mut().custom_deploys.push(CustomDeployDeclaration {
            span,
            name,
            deploy: CustomDeploy { apply, delete, files },
            image_deps: image_references(argument("image_deps", image_deps))?,
            live_update_image,
        });
        Ok(NoneType)
    }

    /// Names resources: the function is given each workload, with its `name`, `kind`, `namespace` and `group`, and
    /// returns the name of its resource.
    ///
    /// # Arguments
    /// * `func`: a function of one argument
    fn workload_to_resource_function<'v>(
        func: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("workload_to_resource_function");
        let argument = function.argument("func", func);
        let parameters = match func.documentation() {
            DocItem::Member(DocMember::Function(found)) if func.get_type() == "function" => {
                found.params.regular_params().count()
                    + found.params.args.iter().count()
                    + found.params.kwargs.iter().count()
            }
            _ => return Err(argument.wrong("a function", func)),
        };
        if parameters != 1 {
            return Err(argument.refuse(format!("it must take one argument, not {parameters}")));
        }
        workload_function::set(func, eval)?;
        Ok(NoneType)
    }
}

/// Returns ignore rules for the paths that live updates sync: a change to them deploys nothing.
fn synced_paths(update: &LiveUpdate) -> Vec<IgnoreRule> {
    let mut patterns = Vec::new();
    let mut rules = Vec::new();
    for path in update.syncs.iter().map(|sync| &sync.local).chain(&update.stop_paths) {
        // Tilt's result has one rule with patterns. It cannot contain paths outside of its base, nor paths with characters
        // that are special in patterns.
        match path.strip_prefix(&update.base).ok().and_then(Path::to_str) {
            Some("") => patterns.push("**".to_owned()),
            Some(relative) if !is_pattern(relative) => patterns.push(relative.to_owned()),
            _ => rules.push(IgnoreRule::path(path)),
        }
    }
    if !patterns.is_empty() {
        rules.push(IgnoreRule { base: update.base.clone(), patterns });
    }
    rules
}

/// Whether a relative path would be parsed differently in a `.dockerignore`.
fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', ']', '\\']) || path.starts_with(['!', '#']) || path.trim() != path
}

pub(super) fn readiness(argument: Argument<'_>) -> starlark::Result<Option<PodReadiness>> {
    match argument.string()?.as_str() {
        "" => Ok(None),
        "wait" => Ok(Some(PodReadiness::Wait)),
        "ignore" => Ok(Some(PodReadiness::Ignore)),
        "succeeded" => Ok(Some(PodReadiness::Succeeded)),
        other => Err(argument.refuse(format!("{other:?} is none of 'wait', 'ignore' and 'succeeded'"))),
    }
}

fn strategy(argument: Argument<'_>) -> starlark::Result<Option<DiscoveryStrategy>> {
    match argument.string()?.as_str() {
        "" => Ok(None),
        "default" => Ok(Some(DiscoveryStrategy::Default)),
        "selectors-only" => Ok(Some(DiscoveryStrategy::SelectorsOnly)),
        other => Err(argument.refuse(format!("{other:?} is neither 'default' nor 'selectors-only'"))),
    }
}

/// Returns dicts of labels; empty ones select nothing and are dropped.
fn selectors(argument: Argument<'_>) -> starlark::Result<Vec<BTreeMap<String, String>>> {
    let mut selectors = Vec::new();
    for value in argument.elements() {
        let wrong = || argument.wrong("a dict of strings or a list of those", value);
        let dict = DictRef::from_value(value).ok_or_else(wrong)?;
        let pair = |(key, value): (Value<'_>, Value<'_>)| {
            Some((key.unpack_str()?.to_owned(), value.unpack_str()?.to_owned()))
        };
        let labels = dict.iter().map(pair).collect::<Option<BTreeMap<_, _>>>().ok_or_else(wrong)?;
        if !labels.is_empty() {
            selectors.push(labels);
        }
    }
    Ok(selectors)
}

#[cfg(test)]
mod tests {
    use lilt_model::ignore::Matcher;
    use lilt_model::image::Sync;

    use super::*;

    #[test]
    fn synced_paths_of_any_name_do_not_trigger_a_deploy() {
        let sync = |local: &str| Sync { local: local.into(), container: "/app".into() };
        let update = LiveUpdate {
            base: "/project".into(),
            syncs: ["/project/src", "/project/app/[id]", "/project/!x", "/shared"].map(sync).to_vec(),
            stop_paths: vec!["/project/package.json".into()],
            ..LiveUpdate::default()
        };
        let matcher = Matcher::new(&synced_paths(&update)).unwrap();
        let ignored = |path: &str| matcher.ignores(Path::new(path));
        for path in [
            "/project/src/a.py",
            "/project/app/[id]/page.tsx",
            "/project/!x/y",
            "/shared/lib.py",
            "/project/package.json",
        ] {
            assert!(ignored(path), "{path}");
        }
        for path in ["/project/app/i/page.tsx", "/project/chart.yaml", "/shared.py"] {
            assert!(!ignored(path), "{path}");
        }
    }
}
