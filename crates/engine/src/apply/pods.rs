//! Handles pods that are created, changed or deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use lilt_model::cluster::{Pod, PodRef};
use lilt_model::image::ImageTarget;
use lilt_model::resource::Body;
use lilt_model::{ClusterName, ResourceName, Uid};

use crate::apply::notices;
use crate::controllers::live_update;
use crate::objects;
use crate::schedule::is_starting;
use crate::state::{ResourceState, State};

/// Handles the complete list of pods of a namespace. Known pods that are not in it are gone.
pub(super) fn listed(state: &mut State, cluster: &ClusterName, namespace: &str, pods: Vec<Pod>) {
    notices::allowed(state, cluster, namespace);
    let present: BTreeSet<PodRef> = pods.iter().map(Pod::reference).collect();
    let known = state.pods.of_namespace(cluster, namespace).map(|pod| pod.reference());
    let absent: Vec<PodRef> = known.filter(|pod| !present.contains(pod)).collect();
    for pod in absent {
        gone(state, &pod);
    }
    for pod in pods {
        changed(state, pod);
    }
}

pub(super) fn changed(state: &mut State, pod: Pod) {
    let reference = pod.reference();
    let known = state.pods.known.get(&reference);
    if known.is_some_and(|known| **known == pod) {
        return;
    }
    let selected = !state.pods.selecting.is_empty();
    let is_another = |known: &Arc<Pod>| {
        known.uid != pod.uid || known.owners != pod.owners || (selected && known.labels != pod.labels)
    };
    if known.is_some_and(is_another) {
        gone(state, &reference);
    }
    for uid in uids_of(&pod) {
        state.pods.by_owner.entry(uid.clone()).or_default().insert(reference.clone());
    }
    let followers = resources_of(state, &pod);
    state.pods.known.insert(reference.clone(), Arc::new(pod));
    notices::claim_pod(state, &reference);
    objects::pod_changed(state, &reference.namespace);
    for name in followers {
        claim(state, &name, [reference.clone()]);
    }
}

pub(super) fn gone(state: &mut State, reference: &PodRef) {
    state.pods.notices.remove(reference);
    let Some(pod) = state.pods.known.remove(reference) else { return };
    objects::pod_changed(state, &reference.namespace);
    for uid in uids_of(&pod) {
        if let Some(pods) = state.pods.by_owner.get_mut(uid) {
            pods.remove(reference);
            if pods.is_empty() {
                state.pods.by_owner.remove(uid);
            }
        }
    }
    for name in resources_of(state, &pod) {
        if let Some(kubernetes) = state.resources.get_mut(&name).and_then(ResourceState::kubernetes_mut) {
            kubernetes.pods.remove(reference);
            follow_containers(state, &name);
        }
    }
}

/// Returns the uids of the objects that may have been applied for this pod: its owners, or the bare pod
/// itself.
fn uids_of(pod: &Pod) -> impl Iterator<Item = &Uid> {
    pod.owners.iter().chain(std::iter::once(&pod.uid))
}

/// Returns the resources that follow a pod: the one that deployed it, and all that select its labels, as in Tilt.
pub(super) fn resources_of(state: &State, pod: &Pod) -> BTreeSet<ResourceName> {
    // Two contexts may lead to one cluster: each has its own resources.
    let is_there = |name: &&ResourceName| state.cluster_of(name) == pod.cluster;
    let owner = uids_of(pod).find_map(|uid| state.pods.owners.get(uid).filter(is_there));
    let selecting = state.pods.selecting.iter().filter(is_there).filter(|name| selects(state, name, pod));
    owner.into_iter().chain(selecting).cloned().collect()
}

fn selects(state: &State, name: &ResourceName, pod: &Pod) -> bool {
    let Some(Body::Kubernetes(spec)) = state.resources.get(name).map(|resource| &resource.spec.body) else {
        return false;
    };
    let has = |(label, value): (&String, &String)| pod.labels.get(label) == Some(value);
    spec.extra_pod_selectors.iter().any(|selector| selector.iter().all(has))
}

/// Assigns known pods of these objects to a resource after an apply.
pub(super) fn claim_known(state: &mut State, name: &ResourceName, uids: &[Uid]) {
    let cluster = state.cluster_of(name);
    let mut pods: BTreeSet<PodRef> = BTreeSet::new();
    for uid in uids {
        let owned = state.pods.by_owner.get(uid).into_iter().flatten();
        pods.extend(owned.filter(|pod| pod.cluster == cluster).cloned());
    }
    if state.pods.selecting.contains(name) {
        let selected = |pod: &&Arc<Pod>| pod.cluster == cluster && selects(state, name, pod);
        pods.extend(state.pods.known.values().filter(selected).map(|pod| pod.reference()));
    }
    claim(state, name, pods);
    notices::claim_objects(state, name, uids);
    notices::report_unreadable_pods(state, name);
}

fn claim(state: &mut State, name: &ResourceName, pods: impl IntoIterator<Item = PodRef>) {
    if let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) {
        kubernetes.pods.extend(pods);
        follow_containers(state, name);
    }
}

/// Updates the list of running containers per image.
pub(super) fn follow_containers(state: &mut State, name: &ResourceName) {
    let State { resources, pods, .. } = state;
    let Some(resource) = resources.get_mut(name) else { return };
    let spec = Arc::clone(&resource.spec);
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&spec.body, resource.kubernetes_mut()) else { return };
    // Pods of another resource get their changes through that one.
    let is_foreign = |pod: &Pod| {
        let of_another = |uid: &Uid| pods.owners.get(uid).is_some_and(|owner| owner != name);
        !spec.extra_pod_selectors.is_empty() && pod.template_hash.is_some() && uids_of(pod).any(of_another)
    };
    let known = kubernetes.pods.iter().filter_map(|pod| pods.known.get(pod));
    let pods: Vec<Arc<Pod>> = known.filter(|pod| !is_foreign(pod)).cloned().collect();
    for (name, image) in &mut kubernetes.images {
        if let Some(target) = spec.image(name) {
            live_update::follow_containers(image, target, &pods);
        }
    }
    live_update::drop_missing_jobs(state, name);
    give_up_copying(state, name);
    state.touch(name);
}

/// Requests a build of changes that could not be copied because a container crashes repeatedly.
///
/// Only once per attempt, or a failing build would restart with every event of the pod.
fn give_up_copying(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get(name).filter(|it| it.update.is_none()) else { return };
    let (Body::Kubernetes(spec), Some(kubernetes)) = (&resource.spec.body, resource.kubernetes()) else {
        return;
    };
    let attempted = resource.attempted;
    let lacks_changes = |target: &ImageTarget| {
        let image = kubernetes.images.get(&target.name).filter(|image| image.containers.is_empty());
        target.is_built()
            && target.live_update.is_some()
            && image.is_some_and(|image| image.changes_between(image.lasting, attempted).next().is_some())
    };
    if attempted > kubernetes.crashed_out
        && spec.images.iter().any(lacks_changes)
        && !is_starting(state, spec, kubernetes)
        && let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut)
    {
        kubernetes.crashed_out = attempted;
        kubernetes.fall_back = true;
    }
}
