//! Chooses the pod and the container port of each port forward.
//!
//! Used for the forwarding task, the `PortForward` object of a resource and those created by a client's
//! `KubernetesDiscovery`, so that objects show the actual target.

use lilt_model::cluster::{Pod, PodPhase};
use lilt_model::kubernetes::Forward;

use crate::runtime::{all_pods, discovered_pods, newest_rollouts};
use crate::state::{KubernetesState, State};
use crate::task::ForwardTarget;

/// Returns where new connections of a resource's forward go; none while no pod runs.
pub(crate) fn forward_target(
    state: &State,
    kubernetes: &KubernetesState,
    forward: &Forward,
) -> Option<ForwardTarget> {
    let current: Vec<&Pod> = discovered_pods(state, kubernetes).collect();
    choose_target(all_pods(state, kubernetes), &current, forward)
}

/// Returns where new connections of a forward to one of these pods go.
pub(crate) fn target_among<'a>(
    pods: impl Iterator<Item = &'a Pod> + Clone,
    forward: &Forward,
) -> Option<ForwardTarget> {
    let current: Vec<&Pod> = newest_rollouts(pods.clone()).collect();
    choose_target(pods, &current, forward)
}

/// Picks the newest pod of the newest deployment, ready ones first.
///
/// Until one of those runs, the ones before it serve. Pods of a workload that declares the port come before other pods
/// of the resource. Where none declares it, the newest wins, whether it was deployed or found by a label, as in Tilt.
fn choose_target<'a>(
    pods: impl Iterator<Item = &'a Pod> + Clone,
    current: &[&Pod],
    forward: &Forward,
) -> Option<ForwardTarget> {
    let wanted = if forward.container_port == 0 { forward.local_port } else { forward.container_port };
    let running = pods.filter(|pod| pod.phase == PodPhase::Running);
    // Only the newest rollout may declare the port: its older pods count as declaring it, too.
    let declaring: Vec<&Pod> =
        running.clone().filter(|pod| declared_ports(pod).any(|port| port == wanted)).collect();
    // A terminating pod may still serve while nothing else does.
    let best = running.max_by_key(|pod| {
        let declares = declaring.iter().any(|other| is_same_workload(pod, other));
        let is_current = current.iter().any(|other| std::ptr::eq(*other, *pod));
        (!pod.deleting, declares, pod.ready, is_current, pod.created, &pod.name)
    });
    best.map(|pod| ForwardTarget { pod: pod.reference(), port: container_port(forward, pod) })
}

/// Returns whether both pods belong to one deployed workload. Pods that an operator creates for one object
/// may differ.
fn is_same_workload(one: &Pod, other: &Pod) -> bool {
    let of = |pod: &Pod| pod.template_hash.as_ref().and_then(|_| pod.owners.last().cloned());
    one.uid == other.uid || (of(one).is_some() && of(one) == of(other))
}

fn declared_ports(pod: &Pod) -> impl Iterator<Item = u16> + Clone {
    pod.containers.iter().filter(|it| !it.init).flat_map(|it| &it.ports).copied()
}

fn container_port(forward: &Forward, pod: &Pod) -> u16 {
    let mut declared = declared_ports(pod);
    match forward.container_port {
        0 if declared.clone().any(|port| port == forward.local_port) => forward.local_port,
        0 => declared.next().unwrap_or(forward.local_port),
        port => port,
    }
}
