//! What lilt puts into the user's objects before they are applied: built images, and labels that tell whose they are.
//!
//! Pure. Follows Tilt: the same labels, the same places, the same pull policy.

use lilt_model::reference::Reference;
use lilt_model::{Failure, ImageName};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const TEMPLATE_HASH: &str = "tilt.dev/pod-template-hash";

/// Gives the objects as they are applied. `images` are ours: the name in the Tiltfile, and the reference that the
/// cluster pulls. Each must be used by some container.
pub fn prepare(objects: &[Value], images: &[(ImageName, String)]) -> Result<Vec<Value>, Failure> {
    let mut images: Vec<Image> = images
        .iter()
        .map(|(name, deployed)| {
            let selector = Reference::parse(name.as_str())?;
            Ok(Image { name, selector, deployed, used: false })
        })
        .collect::<Result<_, Failure>>()?;
    // `web:v1` is one image and `web` the rest of them.
    images.sort_by_key(|image| image.selector.tag().is_none());
    let mut prepared = objects.to_vec();
    for object in &mut prepared {
        add_label(object, &images);
        inject_images(object, &mut images);
        if let Some(template) = template(object) {
            let hash = hash(template);
            labels(template).insert(TEMPLATE_HASH.to_owned(), hash.into());
        }
    }
    match images.iter().find(|image| !image.used) {
        Some(unused) => {
            Err(Failure::user(format!("no container of the YAML uses the image {}", unused.name))
                .hint("the `image:` of a container must be the name given to docker_build"))
        }
        None => Ok(prepared),
    }
}

struct Image<'a> {
    name: &'a ImageName,
    selector: Reference,
    deployed: &'a str,
    used: bool,
}

/// Whether the API server's own kinds are meant; only of those we know where pods are.
fn is_builtin(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    ["v1", "apps/", "batch/", "extensions/"]
        .iter()
        .any(|known| version == *known || (known.ends_with('/') && version.starts_with(known)))
}

/// Where an object keeps its pod template, if it has one.
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

/// The labels of something with metadata; made if missing.
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
    // Claims are immutable, also their labels where another tool made them.
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
        // Pods of a set that start one after the other get stuck behind one that fails.
        if object["kind"] == "StatefulSet" && !images.is_empty() && object["spec"].is_object() {
            object["spec"]["podManagementPolicy"] = "Parallel".into();
        }
    }
}

/// A selector that asks for the label must ask for our value; one that does not stays as it is.
fn adjust_selector(selector: Option<&mut Value>) {
    if let Some(value) = selector.and_then(|selector| selector.get_mut(MANAGED_BY)) {
        *value = "tilt".into();
    }
}

fn inject_images(object: &mut Value, images: &mut [Image<'_>]) {
    if images.is_empty() {
        return;
    }
    let Some(spec) = pod_spec(object) else { return };
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            // Also for images that are not ours: `Always` makes every update wait for a registry.
            if container.is_object() {
                container["imagePullPolicy"] = "IfNotPresent".into();
            }
            replace(container.get_mut("image"), images);
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(image) = volume.get_mut("image")
            && replace(image.get_mut("reference"), images)
        {
            image["pullPolicy"] = "IfNotPresent".into();
        }
    }
}

fn replace(place: Option<&mut Value>, images: &mut [Image<'_>]) -> bool {
    let Some(place) = place else { return false };
    let Some(text) = place.as_str() else { return false };
    // What is no reference is none of ours; the API server will say what is wrong with it.
    let Ok(existing) = Reference::parse(text) else { return false };
    let Some(ours) = images.iter_mut().find(|image| image.selector.matches(&existing)) else { return false };
    ours.used = true;
    *place = ours.deployed.into();
    true
}

/// Short and stable: the same for the same template, however its keys are ordered.
fn hash(template: &Value) -> String {
    let mut text = String::new();
    write_sorted(template, &mut text);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

fn write_sorted(value: &Value, text: &mut String) {
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
