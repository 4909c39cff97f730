//! One task for each watch.

use std::collections::BTreeSet;
use std::path::PathBuf;

use lilt_api::{Content, ObjectKey};
use lilt_model::files::WatchOptions;
use lilt_model::image::LiveUpdate;
use lilt_model::resource::Body;

use super::state::FileWatch;
use crate::event::WatchId;
use crate::objects::{live_updates_of, watches_of};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::schedule::live_updates_above;
use crate::state::{ResourceState, State};
use crate::task::Task;

/// The tasks of the watches of one owner.
pub(crate) fn plan(state: &State, owner: &Owner) -> Plan {
    match owner {
        Owner::Resource(name) => {
            let Some(resource) = state.resources.get(name) else { return Plan::new() };
            let watches = resource.watches.iter();
            watches.map(|(id, watch)| task(id.clone(), watch, options(resource, id))).collect()
        }
        Owner::Object(key) => {
            let watch = state.file_watches.objects.get(&key.name);
            let id = WatchId::Object(key.name.clone());
            watch.map(|watch| task(id, watch, object_options(state, key))).into_iter().collect()
        }
    }
}

/// The task of one watch.
pub(crate) fn task(watch: WatchId, known: &FileWatch, options: WatchOptions) -> Task {
    let (files, contents) = (known.files().clone(), known.contents().clone());
    Task::Watch { watch, version: known.version(), files, contents, options }
}

/// Returns how changes of a resource's watch are reported.
///
/// Steps in containers must find all files of a burst there, or none, whichever images they are of; and folders that are
/// copied are copied with their modes.
fn options(resource: &ResourceState, id: &WatchId) -> WatchOptions {
    let (Body::Kubernetes(spec), WatchId::Image(_, image)) = (&resource.spec.body, id) else {
        return WatchOptions::default();
    };
    let Some(image) = spec.image(image) else { return WatchOptions::default() };
    let mut others =
        spec.images.iter().filter(|other| other.live_update.is_some() && other.name != image.name);
    let group = others.next().map(|_| resource.spec.name.as_str().to_owned());
    let above = live_updates_above(spec, image).into_iter();
    let updates = std::iter::once(image).chain(above).filter_map(|image| image.live_update.as_ref());
    options_for(updates, group)
}

/// The same for an object: what the live updates need that copy what changes. The sources of one with several of them
/// are a group; if there are more such live updates, the first one counts.
fn object_options(state: &State, key: &ObjectKey) -> WatchOptions {
    let live_update = |key: &ObjectKey| match &state.objects.records.get(key)?.content {
        Content::LiveUpdate(update) => Some((key.clone(), &update.spec)),
        _ => None,
    };
    let updates: Vec<_> = live_updates_of(state, key).filter_map(live_update).collect();
    let has_several = |key: &ObjectKey| watches_of(state, key).nth(1).is_some();
    let group =
        updates.iter().find(|(key, _)| has_several(key)).map(|(key, _)| format!("LiveUpdate/{}", key.name));
    let updates: Vec<LiveUpdate> = updates.iter().map(|(_, spec)| spec.live_update(state.folder())).collect();
    options_for(updates.iter(), group)
}

/// Returns the options that these live updates need.
fn options_for<'a>(
    updates: impl Iterator<Item = &'a LiveUpdate> + Clone,
    group: Option<String>,
) -> WatchOptions {
    let batched: BTreeSet<&PathBuf> = updates.clone().flat_map(LiveUpdate::step_paths).collect();
    let modes: BTreeSet<&PathBuf> = updates.flat_map(|it| &it.syncs).map(|sync| &sync.local).collect();
    let group = group.filter(|_| !batched.is_empty());
    WatchOptions {
        batched: batched.into_iter().cloned().collect(),
        group,
        modes: modes.into_iter().cloned().collect(),
    }
}
