//! The objects that show which files are watched for a resource.

use lilt_api::{DisableSource, FileWatch, FileWatchSpec, FileWatchStatus};

use super::{Named, disable_source, disable_status, owned, switch_source};
use crate::apply::wanted_watches;
use crate::controllers::file_watch::{self, FileEvents};
use crate::event::WatchId;
use crate::schedule::sharers;
use crate::state::{ResourceState, State};

pub(super) fn objects(state: &State, resource: &ResourceState, objects: &mut Vec<Named>) {
    let nothing = FileEvents::default();
    for (id, files) in wanted_watches(resource) {
        let others = others(state, &id);
        // While this resource is disabled, another one with the same image shows it.
        if resource.disabled && others.iter().any(|other| !other.disabled) {
            continue;
        }
        let events = resource.watches.get(&id).map_or(&nothing, |watch| watch.events());
        let watch = FileWatch {
            spec: FileWatchSpec {
                disable_source: Some(source(resource, &others)),
                ..FileWatchSpec::from(&files)
            },
            status: FileWatchStatus {
                disable_status: Some(disable_status(resource)),
                ..file_watch::status(events)
            },
        };
        let (key, mut object) = owned(&id.name(), &resource.spec.name, &watch);
        object.annotate("tilt.dev/target-id", &id.target());
        objects.push((key, object));
    }
}

/// Returns the other resources with the image that these files belong to.
fn others<'s>(state: &'s State, id: &WatchId) -> Vec<&'s ResourceState> {
    let WatchId::Image(own, image) = id else { return Vec::new() };
    let names = sharers(state, image).filter(|name| *name != own);
    names.filter_map(|name| state.resources.get(name)).collect()
}

/// Returns the disable source, which is off when all resources are disabled.
fn source(resource: &ResourceState, others: &[&ResourceState]) -> DisableSource {
    if others.is_empty() {
        return disable_source(&resource.spec.name);
    }
    let mut all: Vec<&ResourceState> = others.iter().copied().chain([resource]).collect();
    all.sort_by_key(|resource| resource.order);
    let maps = all.iter().map(|resource| switch_source(&resource.spec.name));
    DisableSource { config_map: None, every_config_map: maps.collect() }
}
