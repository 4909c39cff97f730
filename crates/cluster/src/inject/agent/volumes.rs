//! Whether the user's volumes at sync targets are writable.

use lilt_model::image_facts::SyncTarget;
use serde_json::Value;

use super::decide::is_below;

/// Volume sources that only the node writes.
const FILLED: [&str; 4] = ["configMap", "secret", "projected", "downwardAPI"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Volume {
    /// No volume: the target is part of the image.
    None,
    Open,
    /// Not writable, with the reason.
    Closed(String),
}

pub(super) fn of(spec: &Value, container: &Value, target: &SyncTarget) -> Volume {
    let path = target.file.as_ref().unwrap_or(&target.directory);
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    let mounts = mounts.filter_map(|mount| Some((mount, mount["mountPath"].as_str()?)));
    // The innermost mount wins.
    let nearest = mounts.filter(|(_, place)| is_below(path, place)).max_by_key(|(_, place)| place.len());
    let Some((mount, place)) = nearest else { return Volume::None };
    let name = mount["name"].as_str().unwrap_or_default();
    let closed = |why: &str| Volume::Closed(format!("the volume {name}, which is mounted at {place}, {why}"));
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let volume = volumes.into_iter().find(|volume| volume["name"] == name).unwrap_or(&Value::Null);
    if let Some(source) = FILLED.iter().find(|source| volume[**source].is_object()) {
        return closed(&format!("is filled by its {source} alone"));
    }
    let sources = || volume.as_object().into_iter().flat_map(serde_json::Map::values);
    if mount["readOnly"] == true || sources().any(|source| source["readOnly"] == true) {
        return closed("is read-only");
    }
    if target.file.as_deref() == Some(place) {
        return closed("is there in the place of a single file, which nothing can replace");
    }
    Volume::Open
}
