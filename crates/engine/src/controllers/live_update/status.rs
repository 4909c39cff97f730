//! What readers see of live updates: the status of a `LiveUpdate`.

use lilt_api::{
    LiveUpdateContainerStateWaiting, LiveUpdateContainerStatus, LiveUpdateStateFailed, LiveUpdateStatus,
    ObjectKey,
};
use lilt_model::ContainerId;
use lilt_model::cluster::PodRef;

use super::object::NotPossible;
use super::state::{ContainerFault, SyncContainer};
use crate::state::State;

/// The status of an object.
///
/// As in Tilt, the containers are not listed where files cannot be copied into one of them. A step that failed in a
/// container is shown there.
pub(crate) fn object_status(state: &State, key: &ObjectKey) -> LiveUpdateStatus {
    let Some(run) = state.live_updates.objects.get(key) else { return LiveUpdateStatus::default() };
    let failed = run.failed.clone().or_else(|| run.containers.values().find_map(not_reached));
    if let Some(NotPossible { reason, message, since }) = failed {
        let failed =
            LiveUpdateStateFailed { reason: reason.to_owned(), message, last_transition_time: Some(since) };
        return LiveUpdateStatus { containers: Vec::new(), failed: Some(failed) };
    }
    let running = run.containers.iter().map(|(id, container)| {
        let waits = container.job.as_ref().and_then(|job| job.waits_for());
        running_container(id, container, waits.map(|message| ("WaitingForCluster", message)))
    });
    let waiting = run.waiting.iter().map(|waiting| {
        let found = &waiting.container;
        waiting_container(&found.pod, &found.name, waiting.id.as_ref())
    });
    LiveUpdateStatus { containers: running.chain(waiting).collect(), failed: None }
}

fn not_reached(container: &SyncContainer) -> Option<NotPossible> {
    match &container.fault {
        Some(ContainerFault::Transport { failure, since }) => {
            let message = format!("pod {}: {failure}", container.pod.name);
            Some(NotPossible { reason: "UpdateFailed", message, since: *since })
        }
        Some(ContainerFault::Step(_)) | None => None,
    }
}

/// What identifies a container.
fn container_status(pod: &PodRef, name: &str, id: Option<&ContainerId>) -> LiveUpdateContainerStatus {
    LiveUpdateContainerStatus {
        container_id: id.map(ToString::to_string).unwrap_or_default(),
        container_name: name.to_owned(),
        pod_name: pod.name.clone(),
        namespace: pod.namespace.clone(),
        ..LiveUpdateContainerStatus::default()
    }
}

/// A container that takes changes. `waits`: the reason why it does not get them now, and a message.
pub(crate) fn running_container(
    id: &ContainerId,
    container: &SyncContainer,
    waits: Option<(&str, &str)>,
) -> LiveUpdateContainerStatus {
    LiveUpdateContainerStatus {
        last_file_time_synced: container.synced,
        last_exec_error: container.step_error().unwrap_or_default().to_owned(),
        waiting: waits.map(waiting),
        ..container_status(&container.pod, &container.name, Some(id))
    }
}

/// A container that has not started yet.
pub(crate) fn waiting_container(
    pod: &PodRef,
    name: &str,
    id: Option<&ContainerId>,
) -> LiveUpdateContainerStatus {
    let waits = waiting(("ContainerWaiting", "Waiting for container to start"));
    LiveUpdateContainerStatus { waiting: Some(waits), ..container_status(pod, name, id) }
}

fn waiting((reason, message): (&str, &str)) -> LiveUpdateContainerStateWaiting {
    LiveUpdateContainerStateWaiting { reason: reason.to_owned(), message: message.to_owned() }
}
