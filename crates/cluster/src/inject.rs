//! Injects built images and labels into the user's objects before they are applied.
//!
//! Pure. Uses the labels, fields and pull policy of Tilt.

pub mod agent;
mod locators;

use lilt_model::locator::ImageLocator;
use lilt_model::reference::Reference;
use lilt_model::{Failure, ImageName};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const TEMPLATE_HASH: &str = "tilt.dev/pod-template-hash";
/// The annotation with the contents of images whose names do not change with their content.
const IMAGE_CONTENT: &str = "lilt.dev/image-content";

/// A built image to inject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injection {
    /// Its name in the Tiltfile.
    pub name: ImageName,
    /// The reference that the cluster pulls.
    pub deployed: String,
    /// A digest of its content, if its reference does not change with it: the pods are recreated when it changes.
    pub content: Option<String>,
    /// Matches only its exact name, not every tag of it.
    pub exact: bool,
    /// Also replaces values of environment variables.
    pub in_env_vars: bool,
    /// Replaces the container's own command.
    pub command: Option<Vec<String>>,
    pub args: Option<Vec<String>>,
}

/// Returns the objects as they are applied.
///
/// Each of `images` must be used by an object. `locators` are the paths of image references in custom resources.
pub fn prepare(
    objects: &[Value],
    images: &[Injection],
    locators: &[ImageLocator],
) -> Result<Vec<Value>, Failure> {
    let mut images: Vec<Image> = images.iter().map(Image::new).collect::<Result<_, Failure>>()?;
    // `web:v1` wins over `web`, which matches any tag.
    images.sort_by_key(|image| image.selector.tag().is_none());
    let locators = locators::compile(locators)?;
    let mut prepared = objects.to_vec();
    for object in &mut prepared {
        add_label(object, &images);
        let contents = inject_images(object, &mut images);
        note_contents(object, &contents);
        locators::inject(object, &locators, &mut images)?;
        if let Some(template) = template(object) {
            let hash = hash(template);
            labels(template).insert(TEMPLATE_HASH.to_owned(), hash.into());
        }
    }
    if let Some(unused) = images.iter().find(|image| !image.used) {
        let words = format!("no container of the YAML uses the image {}", unused.ours.name);
        let hint = "the `image:` of a container must be the name given to docker_build";
        return Err(Failure::user(words).hint(hint));
    }
    match images.iter().find(|image| image.overrides() && !image.in_container) {
        Some(image) => Err(Failure::user(format!(
            "the entrypoint of the image {} has no place: no container runs it",
            image.ours.name
        ))
        .hint("entrypoint and container_args work in containers, not in custom kinds")),
        None => Ok(prepared),
    }
}

/// Whether an object starts pods, as far as that is known: a workload, or a custom resource with an image.
pub fn runs_pods(object: &Value, locators: &[ImageLocator]) -> Result<bool, Failure> {
    if template_pointer(object).is_some() {
        return Ok(object["kind"] != "PodTemplate");
    }
    if object["kind"] == "Pod" && is_builtin(object) {
        return Ok(true);
    }
    Ok(locators::compile(locators)?.iter().any(|(_, matcher)| matcher.matches(object)))
}

struct Image<'a> {
    ours: &'a Injection,
    selector: Reference,
    deployed: Reference,
    used: bool,
    /// Whether a container runs it.
    in_container: bool,
}

impl<'a> Image<'a> {
    fn new(ours: &'a Injection) -> Result<Self, Failure> {
        let selector = Reference::parse(ours.name.as_str())?;
        let deployed = Reference::parse(&ours.deployed)?;
        Ok(Self { ours, selector, deployed, used: false, in_container: false })
    }

    fn matches(&self, existing: &Reference) -> bool {
        if self.ours.exact { self.selector == *existing } else { self.selector.matches(existing) }
    }

    fn overrides(&self) -> bool {
        self.ours.command.is_some() || self.ours.args.is_some()
    }
}

/// Whether the object is of a built-in API group: only of those the location of the pod spec is known.
fn is_builtin(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    ["v1", "apps/", "batch/", "extensions/"]
        .iter()
        .any(|known| version == *known || (known.ends_with('/') && version.starts_with(known)))
}

/// Returns the JSON pointer to the pod template of an object, if it has one.
fn template_pointer(object: &Value) -> Option<&'static str> {
    if !is_builtin(object) {
        return None;
    }
    match object["kind"].as_str()? {
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "Job" | "ReplicationController" => {
            Some("/spec/template")
        }
        "CronJob" => Some("/spec/jobTemplate/spec/template"),
        "PodTemplate" => Some("/template"),
        _ => None,
    }
}

/// Whether it is a workload.
pub(crate) fn has_pod_template(object: &Value) -> bool {
    template_pointer(object).is_some()
}

fn template(object: &mut Value) -> Option<&mut Value> {
    let pointer = template_pointer(object)?;
    object.pointer_mut(pointer).filter(|template| template.is_object())
}

fn pod_spec(object: &mut Value) -> Option<&mut Value> {
    if object["kind"] == "Pod" && is_builtin(object) {
        return object.get_mut("spec");
    }
    template(object)?.get_mut("spec")
}

/// Returns the labels of an object or template; creates missing ones.
fn labels(of: &mut Value) -> &mut Map<String, Value> {
    if !of["metadata"].is_object() {
        of["metadata"] = json!({});
    }
    let meta = &mut of["metadata"];
    if !meta["labels"].is_object() {
        meta["labels"] = json!({});
    }
    meta["labels"].as_object_mut().expect("invariant: just made an object")
}

fn add_label(object: &mut Value, images: &[Image<'_>]) {
    // Claims are immutable, and so are their labels if another tool created them.
    if object["kind"] != "PersistentVolumeClaim" {
        labels(object).insert(MANAGED_BY.to_owned(), "tilt".into());
    }
    if object["kind"] == "CronJob"
        && is_builtin(object)
        && let Some(job) = object.pointer_mut("/spec/jobTemplate").filter(|job| job.is_object())
    {
        labels(job).insert(MANAGED_BY.to_owned(), "tilt".into());
    }
    if let Some(template) = template(object) {
        labels(template).insert(MANAGED_BY.to_owned(), "tilt".into());
    }
    if is_builtin(object) {
        match object["kind"].as_str() {
            Some("Service") => adjust_selector(object.pointer_mut("/spec/selector")),
            Some(_) => adjust_selector(object.pointer_mut("/spec/selector/matchLabels")),
            None => {}
        }
        // Otherwise the pods of a set would wait for one that fails.
        if object["kind"] == "StatefulSet" && !images.is_empty() && object["spec"].is_object() {
            object["spec"]["podManagementPolicy"] = "Parallel".into();
        }
    }
}

/// Changes the value in a selector that contains the label; other selectors stay as they are.
fn adjust_selector(selector: Option<&mut Value>) {
    if let Some(value) = selector.and_then(|selector| selector.get_mut(MANAGED_BY)) {
        *value = "tilt".into();
    }
}

/// Returns the contents of images whose references do not change with them.
fn inject_images(object: &mut Value, images: &mut [Image<'_>]) -> Vec<String> {
    let mut contents = Vec::new();
    if images.is_empty() {
        return contents;
    }
    let Some(spec) = pod_spec(object) else { return contents };
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            // Also for other images: with `Always`, every update would wait for a registry.
            if container.is_object() {
                container["imagePullPolicy"] = "IfNotPresent".into();
            }
            if let Some(ours) = replace(container.get_mut("image"), images) {
                ours.in_container = true;
                contents.extend(ours.ours.content.clone());
                for (field, words) in [("command", &ours.ours.command), ("args", &ours.ours.args)] {
                    if let Some(words) = words {
                        container[field] = words.clone().into();
                    }
                }
            }
            replace_in_env_vars(container, images);
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(image) = volume.get_mut("image")
            && replace(image.get_mut("reference"), images).is_some()
        {
            image["pullPolicy"] = "IfNotPresent".into();
        }
    }
    contents
}

fn note_contents(object: &mut Value, contents: &[String]) {
    let Some(template) = template(object).filter(|_| !contents.is_empty()) else { return };
    let metadata = &mut template["metadata"];
    if !metadata["annotations"].is_object() {
        metadata["annotations"] = json!({});
    }
    metadata["annotations"][IMAGE_CONTENT] = contents.join(",").into();
}

fn replace<'i, 'a>(place: Option<&mut Value>, images: &'i mut [Image<'a>]) -> Option<&'i mut Image<'a>> {
    let place = place?;
    // The API server reports invalid references.
    let existing = Reference::parse(place.as_str()?).ok()?;
    let ours = images.iter_mut().find(|image| image.matches(&existing))?;
    ours.used = true;
    *place = ours.ours.deployed.as_str().into();
    Some(ours)
}

fn replace_in_env_vars(container: &mut Value, images: &mut [Image<'_>]) {
    let variables = container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten();
    for value in variables.filter_map(|variable| variable.get_mut("value")) {
        let Some(existing) = value.as_str().and_then(|text| Reference::parse(text).ok()) else { continue };
        let named = |image: &&mut Image<'_>| image.ours.in_env_vars && image.matches(&existing);
        if let Some(ours) = images.iter_mut().find(named) {
            ours.used = true;
            *value = ours.ours.deployed.as_str().into();
        }
    }
}

/// Returns a short hash that does not depend on the order of keys.
fn hash(template: &Value) -> String {
    let mut text = String::new();
    write_sorted(template, &mut text);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in fields {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        simple => text.push_str(&simple.to_string()),
    }
}

#[cfg(test)]
mod tests;
