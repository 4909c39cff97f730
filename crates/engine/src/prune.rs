//! Schedules the removal of old images from the Docker engine: after the first updates, then periodically,
//! and never while an update runs or is pending.

use std::time::Duration;

use lilt_model::reference::Reference;
use lilt_model::registry::{Registry, reference_in_registry};
use lilt_model::resource::Body;
use lilt_model::settings::{DockerPrune, PruneSchedule};
use lilt_model::{ClusterName, ImageName};
use serde::Serialize;

use crate::state::{BodyState, Mode, ResourceState, State};
use lilt_model::Timestamp;

/// The pause after the last update: its containers are starting, and the engine is busy.
const CALM: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct PruneState {
    /// The number of finished updates.
    updates: u64,
    /// The end of the last one.
    quiet_since: Timestamp,
    /// An update has built an image: otherwise there is nothing to remove.
    built: bool,
    /// The time of the last run, and the number of updates before it.
    last: Option<(Timestamp, u64)>,
    pub(crate) running: Option<PruneJob>,
}

/// The specification of a removal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PruneJob {
    pub settings: DockerPrune,
    /// The clusters whose engines have the images.
    pub clusters: Vec<ClusterName>,
    /// The images of the project by their names in the local engine, without tag.
    pub names: Vec<String>,
    /// The deployed images, with tag.
    pub used: Vec<String>,
}

/// Records the end of an update.
pub(crate) fn note_update(state: &mut State, built: bool) {
    state.prune.updates += 1;
    state.prune.quiet_since = state.now;
    state.prune.built |= built;
}

/// Records the end of a removal. The next one is scheduled alike after success and failure.
pub(crate) fn ended(state: &mut State) {
    state.prune.running = None;
    state.prune.last = Some((state.now, state.prune.updates));
    if state.mode() == Mode::Up {
        state.set_alarm(None, next(state));
    }
    state.touch_session();
}

/// Returns the time of the next removal on an interval.
fn next(state: &State) -> Option<Timestamp> {
    let settings = &state.settings.docker_prune;
    let (last, _) = state.prune.last?;
    match settings.schedule() {
        PruneSchedule::Interval(interval) if settings.enabled => Some(last.plus(interval)),
        _ => None,
    }
}

pub(crate) fn begin_if_due(state: &mut State) {
    let prune = &state.prune;
    if !state.settings.docker_prune.enabled || !prune.built || prune.running.is_some() || !is_due(state) {
        return;
    }
    // Images that are about to be used must be kept.
    if !state.updating.is_empty() || !state.queue.is_empty() || state.is_loading() {
        return;
    }
    // In `ci` nobody waits for it, and the session may end soon.
    let calm = state.prune.quiet_since.plus(CALM);
    if state.mode() == Mode::Up && state.now < calm {
        state.set_alarm(None, Some(calm));
        return;
    }
    state.prune.running = Some(job(state));
    state.touch_session();
}

fn is_due(state: &State) -> bool {
    let (settings, prune) = (&state.settings.docker_prune, &state.prune);
    let Some((at, updates)) = prune.last else { return true };
    match settings.schedule() {
        PruneSchedule::Interval(interval) => state.now >= at.plus(interval),
        PruneSchedule::Builds(every) => prune.updates - updates >= every,
    }
}

fn job(state: &State) -> PruneJob {
    let settings = state.settings.docker_prune;
    let mut job = PruneJob { settings, clusters: Vec::new(), names: Vec::new(), used: Vec::new() };
    for resource in state.resources.values() {
        let (images, cluster) = (images(resource), state.cluster_of(&resource.spec.name));
        if images.is_empty() {
            continue;
        }
        let registry = state.destination(&cluster).registry;
        job.clusters.push(cluster);
        let registry = registry.as_ref();
        // An invalid name matches no image.
        let local = |name: &ImageName| reference_in_registry(name, registry).ok();
        job.names.extend(images.iter().filter_map(|name| local(name)).map(|it| it.familiar_name()));
        job.used.extend(used(resource, registry));
    }
    for list in [&mut job.names, &mut job.used] {
        list.sort();
        list.dedup();
    }
    job.clusters.sort();
    job.clusters.dedup();
    job
}

fn images(resource: &ResourceState) -> Vec<&ImageName> {
    let images = match &resource.spec.body {
        Body::Kubernetes(spec) => &spec.images,
        Body::Compose(spec) => &spec.images,
        Body::Local(_) => return Vec::new(),
    };
    images.iter().filter(|image| image.is_built()).map(|image| &image.name).collect()
}

/// Returns the deployed images of a resource by their local names.
fn used(resource: &ResourceState, registry: Option<&Registry>) -> Vec<String> {
    let BodyState::Kubernetes(kubernetes) = &resource.body else { return Vec::new() };
    let local = |(name, image): (&ImageName, &crate::state::ImageState)| {
        let deployed = Reference::parse(image.reference.as_deref()?).ok()?;
        let here = reference_in_registry(name, registry).ok()?.with_tag(deployed.tag()?).familiar();
        Some([here, deployed.familiar()])
    };
    kubernetes.images.iter().filter_map(local).flatten().collect()
}
