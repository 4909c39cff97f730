//! Kubernetes objects and where they go: `k8s_yaml`, `filter_yaml`, `port_forward`, contexts.

use std::path::{Path, PathBuf};

use lilt_model::kubernetes::{Forward, ObjectRef};
use lilt_model::locator::ObjectSelector;
use lilt_model::{Failure, Location};
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::DictRef;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{Value, ValueLike};

use crate::arguments::{Argument, Function};
use crate::declarations::ObjectDeclaration;
use crate::failure::{SourceSpan, excerpt, raise};
use crate::load_state::{LoadState, load_state};
use crate::values::{Blob, ForwardValue};
use lilt_model::yaml;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Deploys Kubernetes objects. Workloads become resources, with the services that lead to them.
    ///
    /// # Arguments
    /// * `yaml`: the path of a YAML file, a pattern such as `k8s/*.yaml`, a blob of YAML, or a list of those
    /// * `allow_duplicates`: an object may be given that was given before
    fn k8s_yaml<'v>(
        yaml: Value<'v>,
        allow_duplicates: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("k8s_yaml");
        let state = load_state(eval);
        let span = state.span(eval)?;
        let allow_duplicates =
            function.argument("allow_duplicates", allow_duplicates).boolean()?.unwrap_or(false);
        let argument = function.argument("yaml", yaml);
        let objects = read_objects(state, argument, &span)?;
        // An empty file may be filled later; an empty blob is an error.
        let first = argument.elements().first().copied();
        if objects.is_empty() && first.is_none_or(|first| first.downcast_ref::<Blob>().is_some()) {
            return Err(function.refuse("there is no object in this YAML"));
        }
        let mut declared = state.declared.borrow_mut();
        for (origin, object) in objects {
            if let Some(name) = ObjectRef::of(&object) {
                let first = declared.object_places.get(&name).filter(|_| !allow_duplicates);
                if let Some(first) = first {
                    let first = first.location();
                    let failure =
                        Failure::user(format!("the object {name} is given twice, first at {first}"));
                    return Err(raise(failure.hint("pass allow_duplicates=True if that is meant")));
                }
                declared.object_places.entry(name).or_insert_with(|| span.clone());
            }
            declared.objects.push(ObjectDeclaration { span: span.clone(), origin, value: object });
        }
        Ok(NoneType)
    }

    /// Parts the objects of a YAML in two blobs: those that match everything that is asked for, and the rest.
    ///
    /// # Arguments
    /// * `yaml`: what `k8s_yaml` takes
    /// * `labels`: labels that the object must have, as a dict
    /// * `name`: a regular expression that must be found in the object's name, without regard to case
    /// * `namespace`: the same for its namespace
    /// * `kind`: the same for its kind
    /// * `api_version`: the same for its API version
    fn filter_yaml<'v>(
        yaml: Value<'v>,
        labels: Option<Value<'v>>,
        name: Option<Value<'v>>,
        namespace: Option<Value<'v>>,
        kind: Option<Value<'v>>,
        api_version: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<(Blob, Blob)> {
        let function = Function("filter_yaml");
        let state = load_state(eval);
        let argument = function.argument("yaml", yaml);
        let text = |name, value| function.argument(name, value).string();
        let selector = ObjectSelector::partial(
            &text("api_version", api_version)?,
            &text("kind", kind)?,
            &text("name", name)?,
            &text("namespace", namespace)?,
        );
        let matcher = selector.matcher().map_err(|problem| function.refuse(problem))?;
        let labels = function.argument("labels", labels).string_map()?;
        let objects = read_objects(state, argument, &state.span(eval)?)?;
        let (matching, others): (Vec<Json>, Vec<Json>) =
            objects.into_iter().map(|(_, object)| object).partition(|object| matcher.matches(object));
        let (matching, unlabelled): (Vec<Json>, Vec<Json>) =
            matching.into_iter().partition(|object| has_labels(object, &labels));
        let rest: Vec<Json> = others.into_iter().chain(unlabelled).collect();
        let source = match yaml.downcast_ref::<Blob>() {
            Some(blob) => blob.source.clone(),
            None => "filter_yaml".to_owned(),
        };
        Ok((objects_blob(&matching, &source)?, objects_blob(&rest, &source)?))
    }

    /// A forward from a local port to a container's port, for `port_forwards`.
    ///
    /// # Arguments
    /// * `local_port`: the port of this machine
    /// * `container_port`: the container's port; unless given, the same as `local_port` if the pod declares it, else the
    ///   first that it declares
    /// * `name`: shown in place of the address
    /// * `link_path`: appended to the link
    /// * `host`: where to listen, the host of the web page unless given
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
    ///
    /// # Arguments
    /// * `contexts`: a name, or a list of names
    fn allow_k8s_contexts<'v>(
        contexts: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let contexts = Function("allow_k8s_contexts").argument("contexts", contexts).strings()?;
        load_state(eval).declared.borrow_mut().allowed_contexts.extend(contexts);
        Ok(NoneType)
    }

    /// The name of the Kubernetes context in use, empty if there is none. Arguments are ignored.
    fn k8s_context<'v>(
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: DictRef<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let _ = (arguments, named);
        let context = load_state(eval).system.kube_context().map_err(raise)?;
        Ok(context.map(|context| context.name).unwrap_or_default())
    }

    /// The namespace of objects that name none. Arguments are ignored.
    fn k8s_namespace<'v>(
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: DictRef<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let _ = (arguments, named);
        let context = load_state(eval).system.kube_context().map_err(raise)?;
        let namespace = context.map(|context| context.namespace).filter(|namespace| !namespace.is_empty());
        Ok(namespace.unwrap_or_else(|| "default".to_owned()))
    }
}

fn has_labels(object: &Json, labels: &[(String, String)]) -> bool {
    let own = object.pointer("/metadata/labels");
    labels
        .iter()
        .all(|(key, value)| own.and_then(|own| own.get(key)).and_then(Json::as_str) == Some(value.as_str()))
}

/// Encodes objects as one YAML text.
pub(super) fn objects_blob(objects: &[Json], source: &str) -> starlark::Result<Blob> {
    let documents: Result<Vec<String>, _> = objects.iter().map(yaml::encode).collect();
    let documents = documents.map_err(|error| raise(Failure::internal(error.message)))?;
    Ok(Blob { text: documents.join("---\n"), source: source.to_owned() })
}

/// Returns the objects of paths, patterns and blobs, with the location of each.
pub(super) fn read_objects(
    state: &LoadState<'_>,
    argument: Argument<'_>,
    span: &SourceSpan,
) -> starlark::Result<Vec<(Location, Json)>> {
    let mut objects = Vec::new();
    for element in argument.elements() {
        if let Some(blob) = element.downcast_ref::<Blob>() {
            let found = parse(&blob.text, &blob.source, None)?;
            objects.extend(found.into_iter().map(|(_, object)| (span.location(), object)));
            continue;
        }
        let path = element
            .unpack_str()
            .ok_or_else(|| argument.wrong("a path, a blob or a list of those", element))?;
        for path in matching_files(state, path)? {
            let content = state.read_text(&path).map_err(raise)?;
            let found = parse(&content, &path.display().to_string(), Some(&path))?;
            let origin = |line| Location { path: path.clone(), line, column: None };
            objects.extend(found.into_iter().map(|(line, object)| (origin(line), object)));
        }
    }
    Ok(objects)
}

/// Parses the objects of a YAML text, with the lines they begin in. `path` is set if the text is a file.
pub(super) fn parse(text: &str, source: &str, path: Option<&Path>) -> starlark::Result<Vec<(u32, Json)>> {
    let objects = yaml::objects(text).map_err(|error| raise(explain(&error, text, source, path)))?;
    for (_, object) in &objects {
        let missing = [("/kind", "kind"), ("/apiVersion", "apiVersion"), ("/metadata/name", "metadata.name")]
            .into_iter()
            .find(|(pointer, _)| object.pointer(pointer).and_then(Json::as_str).is_none());
        // Objects with `generateName` have no name.
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
    let failure = Failure::user(format!("invalid YAML in {source}: {error}")).hint(
        "look at this place and the line before it: indentation (spaces, no tabs), colons, quotes, brackets",
    );
    let Some(line) = error.line else { return failure };
    let shown = path.unwrap_or(Path::new(source));
    let start: usize = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
    let column = error.column.unwrap_or(1).max(1) as usize - 1;
    let at = text[start..].char_indices().nth(column).map_or(text.len(), |(offset, _)| start + offset);
    failure.detail(excerpt(shown, text, at, at + 1))
}

/// Returns the file itself, or those that match a pattern with `*` in its last part.
fn matching_files(state: &LoadState<'_>, pattern: &str) -> starlark::Result<Vec<PathBuf>> {
    let path = state.absolute(pattern);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.contains('*') || state.system.exists(&path) {
        return Ok(vec![path]);
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    let entries = state
        .system
        .list_directory(directory)
        .inspect_err(|_| state.watch_entry(directory))
        .map_err(|error| raise(state.unreadable(directory, &error)))?;
    let matches = |entry: &crate::system::DirEntry| {
        let entry_name = entry.path.file_name().unwrap_or_default().to_string_lossy();
        !entry.is_dir && matches_stars(&name, &entry_name)
    };
    let files: Vec<_> = entries.into_iter().filter(matches).map(|entry| entry.path).collect();
    state.watch(directory);
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
