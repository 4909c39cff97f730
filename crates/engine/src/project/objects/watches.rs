//! The objects that tell which files are watched for a resource.

use lilt_model::ResourceName;
use serde_json::{Value, json};

use super::{Named, disable_source, disable_status, owned, watch_content, watch_spec};
use crate::apply::wanted_watches;
use crate::event::WatchId;
use crate::objects::FileEvents;
use crate::schedule::sharers;
use crate::state::{ResourceState, State};

pub(super) fn objects(state: &State, resource: &ResourceState, objects: &mut Vec<Named>) {
    let nothing = FileEvents::default();
    for (id, files) in wanted_watches(resource) {
        let others = others(state, &id);
        // Another that has the same image tells of it while this one is switched off.
        if resource.disabled && others.iter().any(|other| !other.disabled) {
            continue;
        }
        let events = resource.watches.get(&id).map_or(&nothing, |watch| &watch.events);
        let mut content = watch_content(watch_spec(&files, Some(source(resource, &others))), events);
        content["status"]["disableStatus"] = disable_status(resource);
        let (key, mut object) = owned("FileWatch", &id.name(), &resource.spec.name, content);
        object.annotate_unless_said("tilt.dev/target-id", &id.target());
        objects.push((key, object));
    }
}

/// The other resources that have the image whose files these are.
fn others<'s>(state: &'s State, id: &WatchId) -> Vec<&'s ResourceState> {
    let WatchId::Image(own, image) = id else { return Vec::new() };
    let names = sharers(state, image).filter(|name| *name != own);
    names.filter_map(|name| state.resources.get(name)).collect()
}

/// It is off when all of them are.
fn source(resource: &ResourceState, others: &[&ResourceState]) -> Value {
    if others.is_empty() {
        return disable_source(&resource.spec.name);
    }
    let mut all: Vec<&ResourceState> = others.iter().copied().chain([resource]).collect();
    all.sort_by_key(|resource| resource.order);
    let map = |name: &ResourceName| disable_source(name)["configMap"].clone();
    json!({"everyConfigMap": all.iter().map(|resource| map(&resource.spec.name)).collect::<Vec<_>>()})
}
