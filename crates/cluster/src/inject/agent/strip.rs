//! Removes the agent and the image annotations from two versions of an object, so that they can be compared with
//! manifests, which contain neither.

use lilt_agent::PROGRAM;
use serde_json::Value;

use super::super::{IMAGE_CONTENT, TEMPLATE_HASH, labels, pod_spec, template};
use super::UNWRITABLE_IMAGES;
use super::pod::{VOLUME, is_ours};

/// Whether containers of this object run under the agent.
pub(crate) fn uses_agent(object: &Value) -> bool {
    pod_spec(&mut object.clone()).is_some_and(|spec| !names(spec).is_empty())
}

/// Returns the names of the containers that run under the agent.
fn names(spec: &Value) -> Vec<Value> {
    let containers = spec["containers"].as_array().into_iter().flatten();
    let running = containers.filter(|container| container["command"][0] == PROGRAM);
    running.map(|container| container["name"].clone()).collect()
}

/// Removes the agent from the object in the cluster, and the fields that it replaces from the other.
pub(crate) fn strip_agent(in_cluster: &mut Value, other: &mut Value) {
    let Some(spec) = pod_spec(in_cluster) else { return };
    let names = names(spec);
    if names.is_empty() {
        return;
    }
    for object in [in_cluster, other] {
        if let Some(spec) = pod_spec(object) {
            clear(spec, &names);
        }
        if let Some(template) = template(object) {
            labels(template).remove(TEMPLATE_HASH);
            remove_annotation(template, UNWRITABLE_IMAGES);
        }
    }
}

/// Removes the annotation with image contents if only the object in the cluster has it.
pub(crate) fn strip_image_content(in_cluster: &mut Value, other: &mut Value) {
    let is_noted = |object: &mut Value| {
        template(object).is_some_and(|it| it["metadata"]["annotations"].get(IMAGE_CONTENT).is_some())
    };
    if !is_noted(in_cluster) || is_noted(other) {
        return;
    }
    for object in [in_cluster, other] {
        let Some(template) = template(object) else { continue };
        labels(template).remove(TEMPLATE_HASH);
        remove_annotation(template, IMAGE_CONTENT);
    }
}

fn remove_annotation(template: &mut Value, name: &str) {
    let Some(metadata) = template["metadata"].as_object_mut() else { return };
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    let is_empty = annotations.is_none_or(|annotations| {
        annotations.remove(name);
        annotations.is_empty()
    });
    if is_empty {
        metadata.remove("annotations");
    }
}

fn clear(spec: &mut Value, names: &[Value]) {
    retain(spec, "volumes", |volume| volume["name"] != VOLUME);
    retain(spec, "initContainers", |container| !is_ours(container));
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        if !names.contains(&container["name"]) {
            continue;
        }
        retain(container, "volumeMounts", |mount| mount["name"] != VOLUME);
        if let Some(fields) = container.as_object_mut() {
            // The agent replaced both; whether the manifest had set them is not known any more.
            fields.remove("command");
            fields.remove("args");
        }
    }
}

fn retain(of: &mut Value, field: &str, keep: impl FnMut(&Value) -> bool) {
    let Some(items) = of.get_mut(field).and_then(Value::as_array_mut) else { return };
    items.retain(keep);
    if items.is_empty()
        && let Some(fields) = of.as_object_mut()
    {
        fields.remove(field);
    }
}
