//! Selects the pods that decide how a resource is doing.

use std::collections::BTreeMap;

use lilt_model::cluster::{Pod, PodPhase};
use lilt_model::{Timestamp, Uid};

use crate::state::{KubernetesState, State};

/// The label that a deployment gives the pods of each of its replica sets.
const REPLICA_SET: &str = "pod-template-hash";

/// Of pods created in the same second, a completed one is older: the other replaced it.
pub(crate) fn newest_pod<'a>(pods: impl Iterator<Item = &'a Pod>) -> Option<&'a Pod> {
    let age = |pod: &'a Pod| (pod.created, !has_ended(pod), &pod.name);
    pods.max_by(|one, other| age(one).cmp(&age(other)))
}

pub(crate) fn has_ended(pod: &Pod) -> bool {
    matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded)
}

/// Returns the pods that the newest deployment made and that are to stay. Of a deployment, those of its newest replica set.
///
/// Pods that another resource deployed do not decide how this one is doing, also where its selectors find them, as in Tilt.
pub(crate) fn current_pods<'a>(
    state: &'a State,
    kubernetes: &'a KubernetesState,
) -> impl Iterator<Item = &'a Pod> {
    newest_rollouts(all_pods(state, kubernetes).filter(|pod| has_current_template(kubernetes, pod)))
}

/// Returns the same and the pods of other resources that the selectors find: their logs are shown, and forwards reach them.
pub(crate) fn discovered_pods<'a>(
    state: &'a State,
    kubernetes: &'a KubernetesState,
) -> impl Iterator<Item = &'a Pod> {
    let counts = |pod: &&Pod| has_current_template(kubernetes, pod) || !is_deployed_by(kubernetes, pod);
    newest_rollouts(all_pods(state, kubernetes).filter(counts))
}

/// Returns all pods of a resource that are known, old and new.
pub(crate) fn all_pods<'a>(
    state: &'a State,
    kubernetes: &'a KubernetesState,
) -> impl Iterator<Item = &'a Pod> + Clone {
    kubernetes.pods.iter().filter_map(|pod| state.pods.known.get(pod)).map(|pod| &**pod)
}

/// Leaves out the pods that are going and those of older replica sets.
pub(crate) fn newest_rollouts<'a>(
    pods: impl Iterator<Item = &'a Pod> + Clone,
) -> impl Iterator<Item = &'a Pod> {
    let staying = pods.filter(|pod| !pod.deleting);
    let rollouts = Rollouts::of(staying.clone());
    staying.filter(move |pod| rollouts.is_newest(pod))
}

/// Bare pods and those created by an operator have no hash of lilt.
fn has_current_template(kubernetes: &KubernetesState, pod: &Pod) -> bool {
    let hashes = kubernetes.deployed.as_ref().map_or(&[][..], |deployed| &deployed.template_hashes);
    pod.template_hash.as_ref().is_none_or(|hash| hashes.contains(hash))
}

/// Returns whether one of the objects deployed last owns the pod, or is the pod.
fn is_deployed_by(kubernetes: &KubernetesState, pod: &Pod) -> bool {
    let deployed = kubernetes.deployed.iter().flat_map(|deployed| &deployed.objects);
    deployed.into_iter().any(|(_, uid)| *uid == pod.uid || pod.owners.contains(uid))
}

/// The creation time of the newest pod of each replica set, by deployment.
#[derive(Default)]
struct Rollouts<'a>(BTreeMap<&'a Uid, BTreeMap<&'a Uid, Timestamp>>);

impl<'a> Rollouts<'a> {
    fn of(pods: impl Iterator<Item = &'a Pod>) -> Self {
        let mut rollouts = Self::default();
        for pod in pods {
            if let Some((deployment, set)) = line(pod) {
                let newest = rollouts.0.entry(deployment).or_default().entry(set).or_default();
                *newest = (*newest).max(pod.created);
            }
        }
        rollouts
    }

    fn is_newest(&self, pod: &Pod) -> bool {
        let Some((deployment, set)) = line(pod) else { return true };
        let Some(sets) = self.0.get(deployment) else { return true };
        // Kubernetes reports times in whole seconds: two may be equally new.
        sets.get(set) == sets.values().max()
    }
}

/// Returns the deployment and the replica set of a pod. Other owners, such as the jobs of an operator, do not
/// replace each other.
fn line(pod: &Pod) -> Option<(&Uid, &Uid)> {
    let hash = pod.labels.get(REPLICA_SET)?;
    let [set, deployment, ..] = &pod.owners[..] else { return None };
    pod.nearest_owner.as_ref().filter(|owner| owner.ends_with(hash.as_str()))?;
    Some((deployment, set))
}
