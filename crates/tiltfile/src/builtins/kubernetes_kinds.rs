//! Kinds of objects that the user describes: `k8s_kind`, `k8s_image_json_path`.

use lilt_model::json_path::JsonPath;
use lilt_model::locator::{ImageObject, ObjectSelector};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use super::kubernetes_resource::readiness;
use crate::arguments::{Argument, Function};
use crate::kinds::ImageLocations;
use crate::load_state::{LoadState, load_state};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Tells about a kind of objects: they are workloads, with images where you say.
    ///
    /// # Arguments
    /// * `kind`: a regular expression that must be found in the object's kind, without regard to case
    /// * `image_json_path`: JSONPath to its images, such as `{.spec.image}`, or a list of those
    /// * `api_version`: a regular expression for its API version
    /// * `image_object`: where it names an image in parts: `{'json_path': …, 'repo_field': …, 'tag_field': …}`
    /// * `pod_readiness`: `'wait'` for its pods, `'succeeded'` to wait for their end, or `'ignore'` them
    fn k8s_kind<'v>(
        kind: Value<'v>,
        #[starlark(require = named)] image_json_path: Option<Value<'v>>,
        #[starlark(require = named)] api_version: Option<Value<'v>>,
        #[starlark(require = named)] image_object: Option<Value<'v>>,
        #[starlark(require = named)] pod_readiness: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("k8s_kind");
        let kind = function.argument("kind", kind).string()?;
        let api_version = function.argument("api_version", api_version).string()?;
        let paths = paths(load_state(eval), function.argument("image_json_path", image_json_path))?;
        let object = image_fields(load_state(eval), function.argument("image_object", image_object))?;
        let locations = match (paths.is_empty(), object) {
            (false, Some(_)) => {
                return Err(function.refuse("image_json_path and image_object cannot both be given"));
            }
            (true, Some(object)) => Some(object),
            (false, None) => Some(ImageLocations::Paths(paths)),
            (true, None) => None,
        };
        let readiness = readiness(function.argument("pod_readiness", pod_readiness))?;
        let selector = ObjectSelector::partial(&api_version, &kind, "", "");
        let mut declared = load_state(eval).declared.borrow_mut();
        let defined = declared.kinds.define(&selector, locations, readiness);
        defined.map_err(|problem| function.refuse(problem))?;
        Ok(NoneType)
    }

    /// Tells where objects that you choose keep images. They are workloads then.
    ///
    /// # Arguments
    /// * `paths`: JSONPath such as `{.spec.image}`, or a list of those
    /// * `api_version`: a regular expression that must be found in the object's API version, without regard to case
    /// * `kind`: the same for its kind
    /// * `name`: the same for its name
    /// * `namespace`: the same for its namespace
    fn k8s_image_json_path<'v>(
        paths: Value<'v>,
        api_version: Option<Value<'v>>,
        kind: Option<Value<'v>>,
        name: Option<Value<'v>>,
        namespace: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("k8s_image_json_path");
        let text = |name, value| function.argument(name, value).string();
        let (kind, name) = (text("kind", kind)?, text("name", name)?);
        let namespace = text("namespace", namespace)?;
        if kind.is_empty() && name.is_empty() && namespace.is_empty() {
            return Err(function.refuse("at least one of kind, name and namespace must be given"));
        }
        let api_version = text("api_version", api_version)?;
        let paths = self::paths(load_state(eval), function.argument("paths", paths))?;
        let selector = ObjectSelector::partial(&api_version, &kind, &name, &namespace);
        let mut declared = load_state(eval).declared.borrow_mut();
        let defined = declared.kinds.define(&selector, Some(ImageLocations::Paths(paths)), None);
        defined.map_err(|problem| function.refuse(problem))?;
        Ok(NoneType)
    }
}

fn paths(state: &LoadState<'_>, argument: Argument<'_>) -> starlark::Result<Vec<String>> {
    let paths = argument.strings()?;
    for path in &paths {
        check_path(state, argument, path)?;
    }
    Ok(paths)
}

fn check_path(state: &LoadState<'_>, argument: Argument<'_>, path: &str) -> starlark::Result<()> {
    JsonPath::parse(path)
        .map_err(|problem| argument.refuse(format!("{path:?} is no JSONPath: {problem}")))?;
    if !path.contains('{') {
        let dot = if path.starts_with(['.', '[', '$', '@']) { "" } else { "." };
        state.warn(format!(
            "the JSONPath {path:?} has no braces, so it is read as the name of an image; did you mean \"{{{dot}{path}}}\"?"
        ));
    }
    Ok(())
}

fn image_fields(state: &LoadState<'_>, argument: Argument<'_>) -> starlark::Result<Option<ImageLocations>> {
    const FORM: &str = "a dict of the form {'json_path': …, 'repo_field': …, 'tag_field': …}";
    let Some(value) = argument.value() else { return Ok(None) };
    let fields = argument.string_map()?;
    let get = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    match (get("json_path"), get("repo_field"), get("tag_field"), fields.len()) {
        (Some(path), Some(repo_field), Some(tag_field), 3) => {
            check_path(state, argument, &path)?;
            Ok(Some(ImageLocations::Object { path, fields: ImageObject { repo_field, tag_field } }))
        }
        _ => Err(argument.wrong(FORM, value)),
    }
}
