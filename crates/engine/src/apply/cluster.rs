//! A cluster as a whole.

use lilt_model::cluster::ClusterInfo;
use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, ResourceName};

use crate::objects;
use crate::state::State;

pub(super) fn connected(state: &mut State, name: &ClusterName, info: ClusterInfo) {
    if info.registry.is_some() && state.settings.default_registry.is_some() {
        let words = "Default registry specified, but will be ignored in favor of auto-detected registry.";
        state.note(&ResourceName::tiltfile(), Level::Info, words);
    }
    let now = state.now;
    let cluster = state.clusters.get_mut(name);
    cluster.info = Some(info);
    cluster.connected = Some(now);
    cluster.failure = None;
    touch_deployed(state, name);
    objects::cluster_connected(state);
}

pub(super) fn failed(state: &mut State, name: &ClusterName, failure: Failure) {
    let cluster = state.clusters.get_mut(name);
    if cluster.failure.as_ref() == Some(&failure) {
        return;
    }
    cluster.failure = Some(failure);
    touch_deployed(state, name);
    objects::cluster_connected(state);
}

pub(super) fn recovered(state: &mut State, name: &ClusterName) {
    if state.clusters.get_mut(name).failure.take().is_some() {
        touch_deployed(state, name);
    }
}

/// Everything that lives in the cluster may wait for it.
fn touch_deployed(state: &mut State, cluster: &ClusterName) {
    let is_there = |name: &&ResourceName| state.cluster_of(name) == *cluster;
    let deployed = state.resources.iter().filter(|(_, resource)| resource.kubernetes().is_some());
    let names: Vec<ResourceName> = deployed.map(|(name, _)| name).filter(is_there).cloned().collect();
    for name in names {
        state.touch(&name);
    }
    state.touch_session();
}
