//! The cluster as a whole.

use lilt_model::cluster::ClusterInfo;
use lilt_model::log::Level;
use lilt_model::{Failure, ResourceName};

use crate::objects;
use crate::state::State;

pub(super) fn connected(state: &mut State, info: ClusterInfo) {
    if info.registry.is_some() && state.settings.default_registry.is_some() {
        let words = "Default registry specified, but will be ignored in favor of auto-detected registry.";
        state.note(&ResourceName::tiltfile(), Level::Info, words);
    }
    state.cluster.info = Some(info);
    state.cluster.connected = Some(state.now);
    state.cluster.failure = None;
    touch_deployed(state);
    objects::cluster_connected(state);
}

pub(super) fn failed(state: &mut State, failure: Failure) {
    if state.cluster.failure.as_ref() == Some(&failure) {
        return;
    }
    state.cluster.failure = Some(failure);
    touch_deployed(state);
    objects::cluster_connected(state);
}

pub(super) fn recovered(state: &mut State) {
    if state.cluster.failure.take().is_some() {
        touch_deployed(state);
    }
}

/// Everything that lives in the cluster may wait for it.
fn touch_deployed(state: &mut State) {
    let names: Vec<ResourceName> = state
        .resources
        .iter()
        .filter(|(_, resource)| resource.kubernetes().is_some())
        .map(|(name, _)| name.clone())
        .collect();
    for name in names {
        state.touch(&name);
    }
    state.touch_session();
}
