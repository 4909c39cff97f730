//! Updates the state of port forwards from the requests of owners and the events of tasks.

use std::collections::BTreeMap;

use lilt_api::Content;
use lilt_model::Failure;
use lilt_model::kubernetes::{Forward, ForwardPlace};
use lilt_model::resource::Body;

use super::state::{ForwardRun, ForwardSlot};
use crate::event::ForwardState;
use crate::owner::Owner;
use crate::state::State;

/// Returns the forwards that an owner requests.
pub(super) fn wanted(state: &State, owner: &Owner) -> BTreeMap<ForwardSlot, Forward> {
    let forwards = match owner {
        Owner::Resource(name) => match state.resources.get(name).map(|resource| &resource.spec.body) {
            Some(Body::Kubernetes(spec)) => spec.forwards.clone(),
            _ => Vec::new(),
        },
        Owner::Object(key) => match state.objects.records.get(key).map(|record| &record.content) {
            Some(Content::PortForward(object)) => object.spec.forwards.iter().map(Forward::from).collect(),
            _ => Vec::new(),
        },
    };
    slots(owner, forwards).collect()
}

/// Returns the slots of an owner's forwards.
///
/// An object's forwards with the same place are numbered. Of a resource's forwards, the last one counts: a
/// Tiltfile may contain duplicates.
pub(super) fn slots(
    owner: &Owner,
    forwards: Vec<Forward>,
) -> impl Iterator<Item = (ForwardSlot, Forward)> + use<> {
    let is_numbered = matches!(owner, Owner::Object(_));
    let mut used: BTreeMap<ForwardPlace, u16> = BTreeMap::new();
    forwards.into_iter().map(move |forward| {
        let place = forward.place();
        let next = used.entry(place.clone()).or_default();
        let slot = ForwardSlot { place, ordinal: *next };
        *next += u16::from(is_numbered);
        (slot, forward)
    })
}

/// Drops the state of forwards that are no longer requested, or whose request changed.
pub(crate) fn reconcile(state: &mut State, owner: &Owner) {
    if !state.port_forwards.runs.contains_key(owner) {
        return;
    }
    let wanted = wanted(state, owner);
    if let Some(runs) = state.port_forwards.runs.get_mut(owner) {
        runs.retain(|slot, run| wanted.get(slot) == Some(&run.forward));
    }
}

/// Drops the state of an owner that was deleted or disabled.
pub(crate) fn forget(state: &mut State, owner: &Owner) {
    state.port_forwards.runs.remove(owner);
}

/// Records that a forward listens on a port, or failed.
pub(crate) fn changed(
    state: &mut State,
    owner: &Owner,
    slot: ForwardSlot,
    local_port: u16,
    reported: ForwardState,
) {
    let now = state.now;
    let Some(forward) = wanted(state, owner).remove(&slot) else { return };
    let runs = state.port_forwards.runs.entry(owner.clone()).or_default();
    // The time since which it listens, not the time of the last report.
    let same = runs.get(&slot).filter(|run| run.state == reported && run.local_port == local_port);
    let since = same.map_or(now, |run| run.since);
    runs.insert(slot, ForwardRun { forward, local_port, state: reported, since });
    state.touch_owner(owner);
}

/// Handles a panic of the runner of a forward.
pub(crate) fn broke(state: &mut State, owner: &Owner, slot: ForwardSlot, failure: Failure) {
    changed(state, owner, slot, 0, ForwardState::Failed(failure));
}
