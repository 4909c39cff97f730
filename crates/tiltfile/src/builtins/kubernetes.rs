//! `k8s_yaml`, `k8s_resource`, `port_forward`, and the rules about contexts.

use std::path::Path;

use lilt_model::kubernetes::{Forward, ObjectRef, PodReadiness};
use lilt_model::{Failure, Location};
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;
use starlark::values::{Value, ValueLike};

use crate::arguments::Function;
use crate::declare::{ObjectDeclaration, ResourceOptions};
use crate::failure::{excerpt, raise};
use crate::session::{Session, session};
use crate::values::{Blob, ForwardValue};
use crate::yaml;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Deploys the objects of a YAML file, a list of files, or a blob of YAML.
    fn k8s_yaml<'v>(
        yaml: Value<'v>,
        allow_duplicates: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("k8s_yaml");
        let session = session(eval);
        let place = session.place(eval)?;
        let allow_duplicates =
            function.argument("allow_duplicates", allow_duplicates).boolean()?.unwrap_or(false);
        let argument = function.argument("yaml", yaml);
        let mut objects = Vec::new();
        for element in argument.elements() {
            if let Some(blob) = element.downcast_ref::<Blob>() {
                let origin = |_| place.location();
                objects.extend(
                    parse(&blob.text, &blob.source, None)?.into_iter().map(|(line, it)| (origin(line), it)),
                );
            } else {
                let text = function.argument("yaml", element).string()?;
                for path in matching_files(session, &text)? {
                    let content = session.read_text(&path).map_err(raise)?;
                    let found = parse(&content, &path.display().to_string(), Some(&path))?;
                    let origin = |line| Location { path: path.clone(), line, column: None };
                    objects.extend(found.into_iter().map(|(line, object)| (origin(line), object)));
                }
            }
        }
        // An empty file is a file that will be filled; an empty text is a mistake where it was made.
        let first = argument.elements().first().copied();
        if objects.is_empty() && first.is_none_or(|first| first.downcast_ref::<Blob>().is_some()) {
            return Err(function.refuse("there is no object in this YAML"));
        }
        let mut declared = session.declared.borrow_mut();
        for (origin, object) in objects {
            if let Some(name) = ObjectRef::of(&object) {
                let first = declared.object_places.get(&name).filter(|_| !allow_duplicates);
                if let Some(first) = first {
                    let first = first.location();
                    let failure =
                        Failure::user(format!("the object {name} is given twice, first at {first}"));
                    return Err(raise(failure.hint("pass allow_duplicates=True if that is meant")));
                }
                declared.object_places.entry(name).or_insert_with(|| place.clone());
            }
            declared.objects.push(ObjectDeclaration { place: place.clone(), origin, value: object });
        }
        Ok(NoneType)
    }

    /// Says more about the resource of a workload, or makes a resource of other objects.
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
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("k8s_resource");
        function.argument("extra_pod_selectors", extra_pod_selectors).not_supported_yet()?;
        function.argument("discovery_strategy", discovery_strategy).not_supported_yet()?;
        let session = session(eval);
        let readiness = function.argument("pod_readiness", pod_readiness);
        let options = ResourceOptions {
            place: session.place(eval)?,
            workload: function.argument("workload", workload).resource_name()?,
            new_name: function.argument("new_name", new_name).resource_name()?,
            forwards: function.argument("port_forwards", port_forwards).forwards()?,
            trigger_mode: function.argument("trigger_mode", trigger_mode).trigger_mode()?,
            resource_deps: function.argument("resource_deps", resource_deps).string_list()?,
            objects: function.argument("objects", objects).string_list()?,
            auto_init: function.argument("auto_init", auto_init).boolean()?,
            pod_readiness: match readiness.string()?.as_str() {
                "" => None,
                "wait" => Some(PodReadiness::Wait),
                "ignore" => Some(PodReadiness::Ignore),
                other => return Err(readiness.refuse(format!("{other:?} is neither 'wait' nor 'ignore'"))),
            },
            links: function.argument("links", links).links()?,
            labels: function.argument("labels", labels).labels()?,
        };
        if options.workload.is_empty() && options.new_name.is_empty() {
            return Err(
                function.refuse("give the name of a workload, or a new_name for a resource of other objects")
            );
        }
        if options.workload.is_empty() && options.objects.is_empty() {
            return Err(function.refuse("a resource without a workload needs at least one of objects"));
        }
        session.declared.borrow_mut().options.push(options);
        Ok(NoneType)
    }

    /// A forward from a local port to a container's port.
    fn port_forward<'v>(
        local_port: Value<'v>,
        container_port: Option<Value<'v>>,
        name: Option<Value<'v>>,
        link_path: Option<Value<'v>>,
        host: Option<Value<'v>>,
    ) -> starlark::Result<ForwardValue> {
        let function = Function("port_forward");
        let port = |parameter, value| {
            let argument = function.argument(parameter, value);
            let number = argument.number()?.unwrap_or(0);
            u16::try_from(number).map_err(|_| argument.refuse(format!("{number} is not between 0 and 65535")))
        };
        Ok(ForwardValue(Forward {
            local_port: port("local_port", Some(local_port))?,
            container_port: port("container_port", container_port)?,
            name: function.argument("name", name).string()?,
            path: function.argument("link_path", link_path).string()?.trim_start_matches('/').to_owned(),
            host: function.argument("host", host).string()?,
        }))
    }

    /// Contexts that may be deployed to although they are not known as local ones.
    fn allow_k8s_contexts<'v>(
        contexts: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let contexts = Function("allow_k8s_contexts").argument("contexts", contexts).strings()?;
        session(eval).declared.borrow_mut().allowed_contexts.extend(contexts);
        Ok(NoneType)
    }

    /// The name of the Kubernetes context in use, empty if there is none.
    fn k8s_context<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<String> {
        let context = session(eval).outside.kube_context().map_err(raise)?;
        Ok(context.map(|context| context.name).unwrap_or_default())
    }
}

/// The objects of a YAML text, with the lines they begin in. `path` is given if it is a file that can be shown.
fn parse(text: &str, source: &str, path: Option<&Path>) -> starlark::Result<Vec<(u32, Json)>> {
    let objects = yaml::objects(text).map_err(|error| raise(explain(&error, text, source, path)))?;
    for (_, object) in &objects {
        let missing = [("/kind", "kind"), ("/apiVersion", "apiVersion"), ("/metadata/name", "metadata.name")]
            .into_iter()
            .find(|(pointer, _)| object.pointer(pointer).and_then(Json::as_str).is_none());
        // Objects with a generated name have none of their own.
        let generated = object.pointer("/metadata/generateName").is_some();
        if let Some((_, field)) = missing.filter(|(_, field)| !(generated && *field == "metadata.name")) {
            let kind = object.get("kind").and_then(Json::as_str).unwrap_or("an object");
            let failure = Failure::user(format!("invalid Kubernetes YAML: {kind} has no {field}"));
            return Err(raise(failure.detail(format!("in {source}"))));
        }
    }
    Ok(objects)
}

pub(super) fn explain(error: &yaml::YamlError, text: &str, source: &str, path: Option<&Path>) -> Failure {
    let failure = Failure::user(format!("invalid YAML in {source}: {}", error.message)).hint(
        "look at this place and the line before it: indentation (spaces, no tabs), colons, quotes, brackets",
    );
    let Some(line) = error.line else { return failure };
    let shown = path.unwrap_or(Path::new(source));
    let start: usize = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
    let column = error.column.unwrap_or(1).max(1) as usize - 1;
    let at = text[start..].char_indices().nth(column).map_or(text.len(), |(offset, _)| start + offset);
    failure.detail(excerpt(shown, text, at, at + 1))
}

/// The file itself, or those that a pattern with `*` in its last part matches.
fn matching_files(session: &Session<'_>, pattern: &str) -> starlark::Result<Vec<std::path::PathBuf>> {
    let path = session.absolute(pattern);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.contains('*') || session.outside.exists(&path) {
        return Ok(vec![path]);
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    let entries = session
        .outside
        .list_directory(directory)
        .map_err(|error| raise(session.unreadable(directory, &error)))?;
    let matches = |entry: &crate::outside::Entry| {
        let entry_name = entry.path.file_name().unwrap_or_default().to_string_lossy();
        !entry.is_dir && matches_stars(&name, &entry_name)
    };
    let files: Vec<_> = entries.into_iter().filter(matches).map(|entry| entry.path).collect();
    session.watch(directory);
    if files.is_empty() {
        return Err(raise(Failure::user(format!("no file matches {pattern}"))));
    }
    Ok(files)
}

fn matches_stars(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            left.char_indices()
                .map(|(at, _)| at)
                .chain([left.len()])
                .any(|at| matches_stars(rest, &left[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::matches_stars;

    #[test]
    fn stars_match_any_text() {
        assert!(
            matches_stars("*.yaml", "a.yaml") && matches_stars("a*c*", "abbcd") && matches_stars("*", "")
        );
        assert!(!matches_stars("*.yaml", "a.yml") && !matches_stars("a*c", "abd"));
    }
}
