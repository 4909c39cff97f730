//! Enables and disables resources.

use std::collections::BTreeSet;
use std::sync::Arc;

use lilt_model::log::Level;
use lilt_model::resource::Body;
use lilt_model::{ClusterName, ResourceName};
use serde_json::Value;

use crate::apply::{load, update};
use crate::controllers::{command, port_forward};
use crate::objects;
use crate::outage;
use crate::owner::Owner;
use crate::schedule::sharers;
use crate::state::{ResourceState, State};
use crate::task::CleanupReason;
use crate::timeline::{Outcome, record_end};

/// Enables or disables a resource. Does nothing if it already is.
pub(super) fn set(state: &mut State, name: &ResourceName, enable: bool) {
    let Some(resource) = state.resources.get(name) else { return };
    if resource.disabled != enable {
        return;
    }
    if enable {
        switch_on(state, name);
    } else {
        switch_off(state, name);
    }
    let now = state.now;
    if let Some(resource) = state.resources.get_mut(name) {
        resource.switched = now;
    }
    objects::resource_switched(state, name);
    touch_sharers(state, name);
}

/// Touches the resources that share an image: its objects show whether all of them are disabled.
fn touch_sharers(state: &mut State, name: &ResourceName) {
    let Some(Body::Kubernetes(spec)) = state.resources.get(name).map(|resource| &resource.spec.body) else {
        return;
    };
    let others = spec.images.iter().flat_map(|image| sharers(state, &image.name)).cloned();
    for other in others.collect::<Vec<ResourceName>>() {
        state.touch(&other);
    }
}

/// Resets everything but the definition. Its files are not watched while it is disabled, so earlier builds
/// cannot be relied on later.
fn switch_off(state: &mut State, name: &ResourceName) {
    update::forget_deployed(state, name);
    outage::forget(state, name);
    port_forward::forget(state, &Owner::from(name));
    command::stop(state, &Owner::from(name));
    let Some(resource) = state.resources.get_mut(name) else { return };
    let mut fresh = ResourceState::new(Arc::clone(&resource.spec), resource.tiltfile.clone(), resource.order);
    fresh.disabled = true;
    fresh.trigger_mode = resource.trigger_mode;
    fresh.unmet = std::mem::take(&mut resource.unmet);
    load::define_images(&mut fresh, None);
    let former = std::mem::replace(resource, fresh);
    if let Some(rank) = former.queued {
        state.queue.remove(rank, name);
    }
    if let Some(rank) = former.unwatched {
        state.unwatched.remove(&(rank, name.clone()));
    }
    if let Some(at) = former.alarm {
        state.alarms.remove(&(at, Some(name.clone())));
        state.touch_session();
    }
    if former.triggered.is_some() {
        state.touch_session();
    }
    state.forget_waiting(name);
    state.updating.remove(name);
    if let Some(update) = &former.update {
        record_end(state, name, update, Outcome::Cancelled, None);
    }
    if former.started_once {
        state.note(name, Level::Info, "Disabled: what it had deployed or started goes away");
    }
    let mut leftovers = load::may_be_applied(&former);
    leftovers.objects.retain(goes_away);
    load::clean_up(state, name, leftovers, CleanupReason::Disabled);
    keep_dependents_waiting(state, name, former.ready.was_ready());
    state.touch(name);
}

/// Returns whether an object is deleted when its resource is disabled. Namespaces are kept: deleting one
/// would also delete objects of other resources and users.
fn goes_away(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) != Some("Namespace")
}

/// Makes dependents that have not started wait for it again.
fn keep_dependents_waiting(state: &mut State, name: &ResourceName, was_ready: bool) {
    let dependents: Vec<ResourceName> = state.dependents.get(name).into_iter().flatten().cloned().collect();
    for dependent in dependents {
        if let Some(resource) = state.resources.get_mut(&dependent) {
            if was_ready {
                resource.unmet.insert(name.clone());
            }
            state.touch(&dependent);
        }
    }
}

fn switch_on(state: &mut State, name: &ResourceName) {
    let version = state.next_sequence();
    let Some(resource) = state.resources.get_mut(name) else { return };
    resource.disabled = false;
    resource.switched_on = true;
    load::define_watches(resource, version);
    let dependents: Vec<ResourceName> = state.dependents.get(name).into_iter().flatten().cloned().collect();
    for dependent in dependents {
        state.touch(&dependent);
    }
    state.touch(name);
}

/// Updates which clusters enabled resources and objects need.
pub(crate) fn note_cluster(state: &mut State) {
    let deployed = state.resources.values().filter(|resource| !resource.disabled);
    let mut wanted: BTreeSet<ClusterName> = deployed
        .filter_map(|resource| match &resource.spec.body {
            Body::Kubernetes(spec) => Some(spec.cluster.clone()),
            Body::Local(_) | Body::Compose(_) => None,
        })
        .collect();
    if state.objects.need_cluster() {
        wanted.insert(ClusterName::default());
    }
    let known: Vec<ClusterName> = state.clusters.iter().map(|(name, _)| name.clone()).collect();
    for name in known.iter().chain(&wanted) {
        let is_wanted = wanted.contains(name);
        if state.clusters.get(name).wanted != is_wanted {
            state.clusters.get_mut(name).wanted = is_wanted;
            state.touch_session();
        }
    }
}
