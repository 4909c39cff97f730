//! Handles notices of the cluster about pods and about the objects that create them.

use std::sync::Arc;

use lilt_model::cluster::{Notice, PodRef, Subject};
use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, ResourceName, Uid};

use super::pods::resources_of;
use crate::state::{ResourceState, State};

/// The maximum number of notices about unknown pods and objects: a notice may arrive before the result of the
/// apply.
const UNCLAIMED: usize = 256;

pub(super) fn noticed(state: &mut State, notice: Notice) {
    match &notice.about {
        Subject::Pod(pod) => match state.pods.known.get(pod).cloned() {
            Some(pod) => {
                let notices = state.pods.notices.entry(pod.reference()).or_default();
                if Arc::make_mut(notices).push(notice) {
                    resources_of(state, &pod).iter().for_each(|name| state.touch(name));
                }
            }
            None => keep(state, notice),
        },
        Subject::Object { uids, .. } => {
            let owner = uids.iter().find_map(|uid| state.pods.owners.get(uid)).cloned();
            match owner {
                Some(name) => about_resource(state, &name, notice),
                None => keep(state, notice),
            }
        }
    }
}

fn keep(state: &mut State, notice: Notice) {
    let unclaimed = &mut state.pods.unclaimed;
    if unclaimed.len() == UNCLAIMED {
        unclaimed.pop_front();
    }
    unclaimed.push_back(notice);
}

fn about_resource(state: &mut State, name: &ResourceName, notice: Notice) {
    let is_new = notice.at >= state.started.truncated();
    let line = notice.to_string();
    let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else {
        return;
    };
    if !Arc::make_mut(&mut kubernetes.notices).push(notice) {
        return;
    }
    if is_new {
        state.note(name, Level::Warn, line);
    }
    state.touch(name);
}

/// Assigns earlier notices to a new pod.
pub(super) fn claim_pod(state: &mut State, pod: &PodRef) {
    if state.pods.unclaimed.is_empty() {
        return;
    }
    let known = |notice: &Notice| notice.pod() == Some(pod);
    for notice in take(state, known) {
        let notices = state.pods.notices.entry(pod.clone()).or_default();
        Arc::make_mut(notices).push(notice);
    }
}

/// Assigns earlier notices to applied objects and to what they own.
pub(super) fn claim_objects(state: &mut State, name: &ResourceName, uids: &[Uid]) {
    let ours = |notice: &Notice| match &notice.about {
        Subject::Object { uids: found, .. } => found.iter().any(|uid| uids.contains(uid)),
        Subject::Pod(_) => false,
    };
    for notice in take(state, ours) {
        about_resource(state, name, notice);
    }
}

fn take(state: &mut State, wanted: impl Fn(&Notice) -> bool) -> Vec<Notice> {
    let (taken, left): (Vec<Notice>, Vec<Notice>) =
        std::mem::take(&mut state.pods.unclaimed).into_iter().partition(wanted);
    state.pods.unclaimed = left.into();
    taken
}

/// Records that the pods of a namespace may not be read.
pub(super) fn refused(state: &mut State, cluster: &ClusterName, namespace: String, failure: Failure) {
    let concerned: Vec<ResourceName> = state
        .resources
        .iter()
        .filter(|(_, resource)| resource.kubernetes().is_some_and(|it| it.deployed_to(&namespace)))
        .map(|(name, _)| name.clone())
        .filter(|name| state.cluster_of(name) == *cluster)
        .collect();
    state.clusters.get_mut(cluster).refused.insert(namespace, failure);
    for name in concerned {
        report_unreadable_pods(state, &name);
        state.touch(&name);
    }
}

/// Logs a warning if pods of a resource cannot be read.
pub(super) fn report_unreadable_pods(state: &mut State, name: &ResourceName) {
    let Some(kubernetes) = state.resources.get(name).and_then(ResourceState::kubernetes) else { return };
    let refused = state
        .clusters
        .get(&state.cluster_of(name))
        .refused
        .iter()
        .find(|(namespace, _)| kubernetes.deployed_to(namespace));
    if let Some((namespace, failure)) = refused {
        let words = format!("WARNING: the pods of namespace {namespace} cannot be seen: {failure}");
        state.note(name, Level::Warn, words);
    }
}

/// Records that the pods of a namespace can be read now.
pub(super) fn allowed(state: &mut State, cluster: &ClusterName, namespace: &str) {
    if state.clusters.get_mut(cluster).refused.remove(namespace).is_none() {
        return;
    }
    let names: Vec<ResourceName> = state.resources.keys().cloned().collect();
    names.iter().for_each(|name| state.touch(name));
}
