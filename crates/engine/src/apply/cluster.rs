//! Handles events of a cluster as a whole.

use lilt_model::cluster::{ClusterAddress, ClusterInfo};
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
    (cluster.failure, cluster.failing_since) = (None, None);
    touch_deployed(state, name);
    objects::cluster_connected(state);
}

/// Records a failed connection attempt. `address`: the cluster that kubeconfig selects, if it selects one.
pub(super) fn connection_failed(
    state: &mut State,
    name: &ClusterName,
    address: Option<ClusterAddress>,
    failure: Failure,
) {
    state.clusters.get_mut(name).address = address;
    state.touch_session();
    failed(state, name, failure);
}

pub(super) fn failed(state: &mut State, name: &ClusterName, failure: Failure) {
    let now = state.now;
    let cluster = state.clusters.get_mut(name);
    if cluster.failure.as_ref() == Some(&failure) {
        return;
    }
    // Before the first connection, the task that connects reports its failures itself.
    let lost = cluster.failure.is_none() && cluster.info.is_some();
    let words = format!("WARNING: {failure}\nReconnecting until the cluster responds.");
    cluster.failure = Some(failure);
    cluster.failing_since.get_or_insert(now);
    if lost {
        state.note(&ResourceName::tiltfile(), Level::Warn, words);
    }
    touch_deployed(state, name);
    objects::cluster_connected(state);
}

pub(super) fn recovered(state: &mut State, name: &ClusterName) {
    let cluster = state.clusters.get_mut(name);
    cluster.failing_since = None;
    if cluster.failure.take().is_some() {
        let context = cluster.info.as_ref().map(|info| info.context.clone()).unwrap_or_default();
        let words = format!("Reconnected to the cluster {context}");
        state.note(&ResourceName::tiltfile(), Level::Info, words);
        touch_deployed(state, name);
    }
}

/// Restarts the connection attempts to clusters that are unreachable.
pub(super) fn reconnect(state: &mut State) {
    let failing = state.clusters.iter().filter(|(_, cluster)| cluster.failure.is_some());
    for name in failing.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        state.clusters.get_mut(&name).reconnect = state.next_sequence();
        state.touch_session();
    }
}

/// Touches all resources of the cluster, which may wait for it.
fn touch_deployed(state: &mut State, cluster: &ClusterName) {
    let is_there = |name: &&ResourceName| state.cluster_of(name) == *cluster;
    let deployed = state.resources.iter().filter(|(_, resource)| resource.kubernetes().is_some());
    let names: Vec<ResourceName> = deployed.map(|(name, _)| name).filter(is_there).cloned().collect();
    for name in names {
        state.touch(&name);
    }
    state.touch_session();
}
