//! Evaluates what a resource needs next: nothing, a place in the queue, or something else first.

use lilt_model::ResourceName;
use lilt_model::image::ImageTarget;
use lilt_model::resource::Body;

use super::images::built_elsewhere;
use super::job::{self, Choice, choose};
use super::producers::running_producer;
use crate::apply::{corrects_drift, lacks_base};
use crate::cause::Cause;
use crate::describe::describe;
use crate::hold::{Dependency, Hold};
use crate::state::{Rank, ResourceState, State};

pub(super) enum Want {
    Nothing,
    Hold(Hold),
    Queue(Rank),
    /// A place in the queue as soon as its files are watched.
    Files(Rank),
    /// An update of `uncategorized`, because namespaces or custom resource definitions were deleted in the
    /// cluster.
    Base,
    LiveUpdate(Cause, u64),
}

pub(super) fn wanted(state: &State, resource: &ResourceState) -> Want {
    if resource.update.is_some() || resource.disabled {
        return Want::Nothing;
    }
    let rank = match rank(state, resource) {
        Ok(Some(rank)) => rank,
        Ok(None) => return Want::Nothing,
        Err(hold) => return Want::Hold(hold),
    };
    if state.cleaning.contains_key(&resource.spec.name) {
        return Want::Hold(Hold::Cleanup);
    }
    if resource.watches.values().any(|watch| !watch.is_ready()) {
        return Want::Files(rank);
    }
    let on = unmet(state, resource);
    if !on.is_empty() {
        return Want::Hold(Hold::Dependencies { on });
    }
    let Body::Kubernetes(spec) = &resource.spec.body else { return Want::Queue(rank) };
    let cluster = state.clusters.get(&spec.cluster);
    if cluster.info.is_none() {
        return Want::Hold(Hold::Cluster { failure: cluster.failure.clone() });
    }
    match choose(state, resource) {
        Choice::Deploy if lacks_base(state, resource) => Want::Base,
        Choice::Deploy if is_behind_uncategorized(state, resource) => Want::Hold(Hold::Uncategorized),
        Choice::Deploy => built_elsewhere(state, resource).map_or(Want::Queue(rank), Want::Hold),
        Choice::Wait => Want::Hold(Hold::Container),
        Choice::LiveUpdate(cause, snapshot) => Want::LiveUpdate(cause, snapshot),
    }
}

/// Returns the rank of its next update; none if it needs none; an error if it waits for something else first.
fn rank(state: &State, resource: &ResourceState) -> Result<Option<Rank>, Hold> {
    if let Some(sequence) = resource.triggered {
        return Ok(Some(Rank::Triggered(sequence)));
    }
    if !resource.started_once && resource.spec.auto_init {
        if let Some(by) = running_producer(state, resource) {
            return Err(Hold::Producing { by: by.clone() });
        }
        return Ok(Some(Rank::Initial(first_round(resource), resource.order)));
    }
    let reconfigured = resource.reconfigured.as_ref().map_or(0, |(sequence, _)| *sequence);
    let changed = resource.has_new_changes()
        || resource.reconfigured.is_some()
        || !resource.renewed_dependencies.is_empty();
    if changed && resource.is_automatic() {
        if resource.looping.is_runaway() && resource.reconfigured.is_none() {
            return Err(resource.looping.hold(|path| state.shown(path)));
        }
        return Ok(Some(Rank::changed(resource.newest_change().max(reconfigured))));
    }
    if let Some(pending_retry) = &resource.pending_retry {
        return pending_retry.hold(state).map_or(Ok(Some(Rank::changed(resource.attempted))), Err);
    }
    if is_behind(resource) {
        return Ok(Some(Rank::changed(resource.attempted)));
    }
    if corrects_drift(state, resource) {
        return Ok(Some(Rank::changed(resource.attempted)));
    }
    if changed || !resource.started_once {
        return Err(Hold::Trigger { changed, files: job::new_changes(resource).len() });
    }
    Ok(None)
}

/// Returns the dependencies that it waits for.
fn unmet(state: &State, resource: &ResourceState) -> Vec<Dependency> {
    let is_missing = |name: &&lilt_model::ResourceName| {
        let first = !resource.started_once && resource.unmet.contains(*name);
        // With the cascade, an update waits for running updates of its dependencies, too.
        let pending_retry = resource.spec.cascade
            && state
                .resources
                .get(*name)
                .is_some_and(|it| !it.disabled && it.started_once && !it.ready.is_ready());
        first || pending_retry
    };
    let dependency = |name: &lilt_model::ResourceName| Dependency {
        name: name.clone(),
        state: state
            .resources
            .get(name)
            .map_or_else(|| "there is no such resource".to_owned(), |dependency| describe(state, dependency)),
    };
    resource.spec.resource_deps.iter().filter(is_missing).map(dependency).collect()
}

/// Returns whether it waits for namespaces and custom resource definitions to be deployed first.
fn is_behind_uncategorized(state: &State, resource: &ResourceState) -> bool {
    !resource.spec.name.is_uncategorized()
        && state
            .resources
            .get(ResourceName::UNCATEGORIZED)
            .is_some_and(|first| first.update.is_some() || first.queued.is_some())
}

/// Returns whether containers lack changes of an earlier update.
fn is_behind(resource: &ResourceState) -> bool {
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&resource.spec.body, resource.kubernetes()) else {
        return false;
    };
    let behind = |image: &ImageTarget| {
        let state = kubernetes.images.get(&image.name);
        state.is_some_and(|state| {
            !job::needs_build(spec, image, Some(state)) && state.is_behind(resource.attempted)
        })
    };
    kubernetes.fall_back || spec.images.iter().any(behind)
}

fn first_round(resource: &ResourceState) -> u8 {
    match &resource.spec.body {
        Body::Local(_) | Body::Compose(_) => 0,
        Body::Kubernetes(_) if resource.spec.name.is_uncategorized() => 1,
        Body::Kubernetes(kubernetes) if kubernetes.images.is_empty() => 2,
        Body::Kubernetes(_) => 3,
    }
}
