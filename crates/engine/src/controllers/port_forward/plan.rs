//! One task per forward.

use lilt_api::Content;
use lilt_model::cluster::PodPhase;
use lilt_model::kubernetes::Forward;
use lilt_model::{ClusterName, ResourceName};

use super::reconcile::wanted;
use super::target::forward_target;
use crate::objects::{ObjectRecord, cluster_named, log_resource, named_pod};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{ForwardTarget, Task};

/// Returns the tasks of the forwards of one owner.
pub(crate) fn plan(state: &State, owner: &Owner) -> Plan {
    let Some((cluster, resource)) = cluster_and_log(state, owner) else { return Plan::new() };
    if state.clusters.get(&cluster).info.is_none() {
        return Plan::new();
    }
    let task = |(slot, forward)| Task::Forward {
        owner: owner.clone(),
        slot,
        cluster: cluster.clone(),
        target: target(state, owner, &forward),
        forward,
        resource: resource.clone(),
    };
    wanted(state, owner).into_iter().map(task).collect()
}

/// Returns the cluster of an owner's forwards, and the resource whose log they write to.
fn cluster_and_log(state: &State, owner: &Owner) -> Option<(ClusterName, ResourceName)> {
    match owner {
        Owner::Resource(name) => Some((state.cluster_of(name), name.clone())),
        Owner::Object(key) => {
            let ObjectRecord { object, content: Content::PortForward(forward), .. } =
                state.objects.records.get(key)?
            else {
                return None;
            };
            Some((cluster_named(state, &forward.spec.cluster), log_resource(object)))
        }
    }
}

/// Returns the target of a forward: the best pod of a resource, or the pod that an object names.
fn target(state: &State, owner: &Owner, forward: &Forward) -> Option<ForwardTarget> {
    match owner {
        Owner::Resource(name) => forward_target(state, state.resources.get(name)?.kubernetes()?, forward),
        Owner::Object(key) => {
            let Content::PortForward(object) = &state.objects.records.get(key)?.content else { return None };
            let spec = &object.spec;
            let pod = named_pod(state, &spec.cluster, &spec.namespace, &spec.pod_name)?;
            let is_up = !pod.deleting && pod.phase == PodPhase::Running;
            is_up.then(|| ForwardTarget { pod: pod.reference(), port: forward.container_port })
        }
    }
}
