//! Images built by updates, and changes to images that resources share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use lilt_model::files::{ChangedPath, Existence};
use lilt_model::resource::Body;
use lilt_model::{ImageName, ResourceName, Timestamp};

use crate::controllers::file_watch::FileWatch;
use crate::event::WatchId;
use crate::schedule::{is_same, live_updates_above, sharers};
use crate::state::{BuiltImage, KubernetesState, ResourceState, RunningUpdate, Save, State, UpdateKind};
use crate::task::{ImageJob, UpdateJob};

/// Makes a built image available to all resources with the same image, including this one in case its update
/// is cancelled.
pub(super) fn built(state: &mut State, name: &ResourceName, id: u64, image: &ImageName, reference: String) {
    let destination = state.destination(&state.cluster_of(name));
    let update = state.resources.get_mut(name).and_then(|resource| resource.update.as_mut());
    let Some(update) = update.filter(|update| update.id == id) else { return };
    let UpdateKind::Job(job) = &update.kind else { return };
    let UpdateJob::Deploy(job) = &**job else { return };
    let Some(target) = job.kubernetes.image(image).cloned() else { return };
    let known = |base: &ImageName| update.built.get(base).or_else(|| reused(&job.images, base)).cloned();
    let bases = target.depends_on.iter().filter_map(|base| Some((base.clone(), known(base)?))).collect();
    let built = BuiltImage { reference: reference.clone(), snapshot: update.snapshot, bases, destination };
    update.built.insert(image.clone(), reference);
    let mut names: Vec<ResourceName> = sharers(state, image).cloned().collect();
    if names.is_empty() {
        names.push(name.clone());
    }
    for other in names {
        let Some(resource) = state.resources.get_mut(&other) else { continue };
        let spec = Arc::clone(&resource.spec);
        let Body::Kubernetes(spec) = &spec.body else { continue };
        if spec.image(image).is_some_and(|own| is_same(own, &target))
            && let Some(known) = resource.kubernetes_mut().and_then(|it| it.images.get_mut(image))
        {
            known.elsewhere = Some(built.clone());
        }
    }
    state.touch(name);
}

fn reused<'a>(jobs: &'a [ImageJob], image: &ImageName) -> Option<&'a String> {
    jobs.iter().find_map(|job| match job {
        ImageJob::Reuse { name, reference } if name == image => Some(reference),
        _ => None,
    })
}

/// Returns the images that an update reused from other resources.
pub(super) fn taken_over(state: &KubernetesState, update: &RunningUpdate) -> Vec<(ImageName, String)> {
    let UpdateKind::Job(job) = &update.kind else { return Vec::new() };
    let UpdateJob::Deploy(job) = &**job else { return Vec::new() };
    let new = |job: &ImageJob| match job {
        ImageJob::Reuse { name, reference } => {
            let known = state.images.get(name)?.reference.as_ref();
            (known != Some(reference)).then(|| (name.clone(), reference.clone()))
        }
        ImageJob::Build(_) => None,
    };
    job.images.iter().filter_map(new).collect()
}

/// Returns the sequence number of a save.
///
/// Resources that share an image report the same save one after the other. They must get the same number, or
/// the image that the first of them builds would be built again.
pub(crate) fn save(
    state: &mut State,
    name: &ResourceName,
    image: &ImageName,
    paths: &[PathBuf],
    written: Option<Timestamp>,
) -> u64 {
    let known = |save: &&mut Save| Some(save.written) == written && save.paths == paths;
    let mut seen_by = BTreeSet::new();
    if let Some(save) = state.saves.get_mut(image).filter(known) {
        if save.seen_by.insert(name.clone()) {
            return save.sequence;
        }
        seen_by.clone_from(&save.seen_by);
    }
    let sequence = state.next_sequence();
    if let Some(written) = written.filter(|_| state.sharing.contains_key(image)) {
        // The files were written twice within the resolution of their times: the other watches may have
        // reported both saves at once.
        for other in seen_by.iter().filter(|other| *other != name) {
            if let Some(resource) = state.resources.get_mut(other) {
                let changes = paths.iter().map(|path| (path.clone().into(), sequence));
                record_changes(resource, image, changes, &Existence::default());
                state.touch(other);
            }
        }
        seen_by.insert(name.clone());
        let save = Save { paths: paths.to_vec(), written, sequence, seen_by };
        state.saves.insert(image.clone(), save);
    }
    sequence
}

/// Records changes of a shared image for the resources that do not watch it yet. Without this, they would use
/// an image from before the change.
pub(crate) fn propagate_to_unwatched_sharers(
    state: &mut State,
    name: &ResourceName,
    image: &ImageName,
    changes: impl Iterator<Item = (ChangedPath, u64)> + Clone,
) {
    let others: Vec<ResourceName> = sharers(state, image).filter(|other| *other != name).cloned().collect();
    for other in others {
        let Some(resource) = state.resources.get_mut(&other).filter(|resource| !resource.disabled) else {
            continue;
        };
        if !lacks_ready_watch(resource, image) {
            continue;
        }
        record_changes(resource, image, changes.clone(), &Existence::default());
        state.touch(&other);
    }
}

/// Records changed files of an image, also for the images built on it: their live updates may copy these
/// files.
pub(crate) fn record_changes(
    resource: &mut ResourceState,
    image: &ImageName,
    changes: impl Iterator<Item = (ChangedPath, u64)> + Clone,
    existence: &Existence,
) {
    let spec = Arc::clone(&resource.spec);
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&spec.body, resource.kubernetes_mut()) else { return };
    let above = spec.image(image).map(|base| live_updates_above(spec, base)).unwrap_or_default();
    for concerned in above.into_iter().map(|image| &image.name).chain([image]) {
        if let Some(known) = kubernetes.images.get_mut(concerned) {
            known.add_changes(changes.clone(), existence);
        }
    }
}

fn lacks_ready_watch(resource: &ResourceState, image: &ImageName) -> bool {
    let watches = |(id, watch): (&WatchId, &FileWatch)| {
        matches!(id, WatchId::Image(_, name) if name == image) && watch.is_ready()
    };
    !resource.watches.iter().any(watches)
}
