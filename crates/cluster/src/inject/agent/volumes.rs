//! Volumes of the user's at the places of syncs, and whether they take files.

use lilt_model::image_facts::SyncTarget;
use serde_json::Value;

use super::decide::is_below;

/// Sources that the node fills, and nobody else.
const FILLED: [&str; 4] = ["configMap", "secret", "projected", "downwardAPI"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Volume {
    /// There is none: it is the image's own.
    None,
    Open,
    /// It takes no files; why.
    Closed(String),
}

pub(super) fn of(spec: &Value, container: &Value, target: &SyncTarget) -> Volume {
    let path = target.file.as_ref().unwrap_or(&target.directory);
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    let mounts = mounts.filter_map(|mount| Some((mount, mount["mountPath"].as_str()?)));
    // What is mounted deeper hides the rest.
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
