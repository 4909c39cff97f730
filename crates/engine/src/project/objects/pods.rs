//! Pods as the API tells of them.

use lilt_model::Timestamp;
use lilt_model::cluster::{Container, ContainerState, Pod, PodPhase};
use serde_json::{Value, json};

pub(crate) fn pod_status(pod: &Pod) -> Value {
    let phase = match pod.phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    };
    let conditions: Vec<Value> = pod
        .conditions
        .iter()
        .map(|it| {
            json!({
                "type": it.kind, "status": if it.met { "True" } else { "False" }, "reason": it.reason,
                "message": it.message, "lastTransitionTime": it.since.whole_seconds(),
            })
        })
        .collect();
    let containers = |init: bool| -> Vec<Value> {
        pod.containers.iter().filter(|it| it.init == init).map(container_status).collect()
    };
    let mut told = json!({
        "uid": pod.uid, "name": pod.name, "namespace": pod.namespace, "createdAt": pod.created.whole_seconds(),
        "phase": phase, "deleting": pod.deleting, "status": pod.status, "conditions": conditions,
        "initContainers": containers(true), "containers": containers(false),
        "errors": pod.message.iter().collect::<Vec<_>>(),
        "podTemplateSpecHash": pod.template_hash.clone().unwrap_or_default(),
        "ancestorUID": pod.owners.last(),
    });
    if let (Some(name), Some((api_version, kind))) = (&pod.nearest_owner, &pod.owner_kind) {
        let mut owner = json!({"name": name, "kind": kind, "apiVersion": api_version});
        if let Some(at) = pod.owner_created {
            owner["creationTimestamp"] = json!(at.whole_seconds());
        }
        told["owner"] = owner;
    }
    told
}

fn container_status(container: &Container) -> Value {
    let state = match &container.state {
        ContainerState::Waiting { reason, .. } => {
            json!({"waiting": {"reason": reason}, "running": null, "terminated": null})
        }
        ContainerState::Running { since } => {
            json!({"running": {"startedAt": since.whole_seconds()}, "waiting": null, "terminated": null})
        }
        ContainerState::Terminated { exit_code, reason, started, finished, .. } => json!({
            "terminated": {
                "exitCode": exit_code, "reason": reason, "startedAt": started.map(Timestamp::whole_seconds),
                "finishedAt": finished.whole_seconds(),
            },
            "running": null, "waiting": null,
        }),
    };
    json!({
        "name": container.name, "id": container.id, "image": container.image, "ready": container.ready,
        "restarts": container.restarts, "ports": container.ports, "state": state,
    })
}
