//! The status of a `LiveUpdate`.

use lilt_api::{
    LiveUpdateContainerStateWaiting, LiveUpdateContainerStatus, LiveUpdateStateFailed, LiveUpdateStatus,
};
use lilt_model::ContainerId;

use super::containers::{Place, Waiting};
use super::{Failed, Fault, LiveRun, Target};

/// As in Tilt, a live update that failed lists no containers. A step that failed is reported for its container.
pub(in crate::objects) fn status(run: &LiveRun) -> LiveUpdateStatus {
    let broken = || run.containers.values().find_map(|target| target.fault.as_ref()?.failed());
    if let Some(Failed { reason, message, since }) = run.failed.as_ref().or_else(broken) {
        let failed = LiveUpdateStateFailed {
            reason: (*reason).to_owned(),
            message: message.clone(),
            last_transition_time: Some(*since),
        };
        return LiveUpdateStatus { containers: Vec::new(), failed: Some(failed) };
    }
    let running = run.containers.iter().map(running);
    LiveUpdateStatus { containers: running.chain(run.waiting.iter().map(waiting)).collect(), failed: None }
}

fn container(place: &Place, id: Option<&ContainerId>) -> LiveUpdateContainerStatus {
    LiveUpdateContainerStatus {
        container_id: id.map(ToString::to_string).unwrap_or_default(),
        container_name: place.name.clone(),
        pod_name: place.pod.name.clone(),
        namespace: place.pod.namespace.clone(),
        ..LiveUpdateContainerStatus::default()
    }
}

fn running((id, target): (&ContainerId, &Target)) -> LiveUpdateContainerStatus {
    let error = match &target.fault {
        Some(Fault::Step(words)) => words.clone(),
        Some(Fault::Transport(_)) | None => String::new(),
    };
    let waits = target.job.as_ref().and_then(|job| job.waits.as_ref());
    LiveUpdateContainerStatus {
        last_file_time_synced: target.synced,
        last_exec_error: error,
        waiting: waits.map(|message| LiveUpdateContainerStateWaiting {
            reason: "WaitingForCluster".to_owned(),
            message: message.clone(),
        }),
        ..container(&target.place, Some(id))
    }
}

fn waiting(Waiting { id, place }: &Waiting) -> LiveUpdateContainerStatus {
    let reason = LiveUpdateContainerStateWaiting {
        reason: "ContainerWaiting".to_owned(),
        message: "Waiting for container to start".to_owned(),
    };
    LiveUpdateContainerStatus { waiting: Some(reason), ..container(place, id.as_ref()) }
}
