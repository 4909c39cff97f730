//! Which pods count.

use std::collections::BTreeMap;

use lilt_model::cluster::{Pod, PodPhase};
use lilt_model::{Timestamp, Uid};

use crate::state::{KubernetesState, State};

/// The label that a deployment gives the pods of each of its replica sets.
const REPLICA_SET: &str = "pod-template-hash";

/// Of those made in the same second, one that has ended is the older: the other replaced it.
pub(crate) fn newest_pod<'a>(pods: impl Iterator<Item = &'a Pod>) -> Option<&'a Pod> {
    let age = |pod: &'a Pod| (pod.created, !has_ended(pod), &pod.name);
    pods.max_by(|one, other| age(one).cmp(&age(other)))
}

pub(crate) fn has_ended(pod: &Pod) -> bool {
    matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded)
}

/// The pods that the newest deployment made and that are to stay. Of a deployment, those of its newest replica set.
pub(crate) fn current_pods<'a>(
    state: &'a State,
    kubernetes: &'a KubernetesState,
) -> impl Iterator<Item = &'a Pod> {
    let rollouts = Rollouts::of(staying(state, kubernetes));
    staying(state, kubernetes).filter(move |pod| rollouts.is_newest(pod))
}

fn staying<'a>(state: &'a State, kubernetes: &'a KubernetesState) -> impl Iterator<Item = &'a Pod> {
    let hashes = kubernetes.deployed.as_ref().map_or(&[][..], |deployed| &deployed.template_hashes);
    let known = kubernetes.pods.iter().filter_map(|pod| state.pods.known.get(pod)).map(|pod| &**pod);
    known
        .filter(|pod| !pod.deleting)
        // Bare pods and those that an operator made have no hash of ours.
        .filter(move |pod| pod.template_hash.as_ref().is_none_or(|hash| hashes.contains(hash)))
}

/// Per deployment and replica set, when its newest pod was made.
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
        // Kubernetes tells its times in whole seconds: two may be equally new.
        sets.get(set) == sets.values().max()
    }
}

/// Deployment and replica set of a pod. Other owners, such as the jobs of an operator, live beside each other.
fn line(pod: &Pod) -> Option<(&Uid, &Uid)> {
    let hash = pod.labels.get(REPLICA_SET)?;
    let [set, deployment, ..] = &pod.owners[..] else { return None };
    pod.nearest_owner.as_ref().filter(|owner| owner.ends_with(hash.as_str()))?;
    Some((deployment, set))
}
