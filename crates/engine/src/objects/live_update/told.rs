//! What a `LiveUpdate` tells of its containers.

use lilt_api::fields::Fields;
use lilt_model::ContainerId;
use serde_json::{Map, Value, json};

use super::containers::{Place, Waiting};
use super::{Failed, Fault, LiveRun, Target};

/// As in Tilt, where files cannot go into containers, nothing is told of these. A step that failed in one is said of that one.
pub(in crate::objects) fn tell(run: &LiveRun, status: &mut Map<String, Value>) {
    let broken = || run.containers.values().find_map(|target| target.fault.as_ref()?.failed());
    if let Some(Failed { reason, message, since }) = run.failed.as_ref().or_else(broken) {
        let told = json!({"reason": reason, "message": message, "lastTransitionTime": since});
        status.insert("failed".to_owned(), told);
        return;
    }
    let running = run.containers.iter().map(running);
    status.insert("containers".to_owned(), running.chain(run.waiting.iter().map(waiting)).collect());
}

fn container(place: &Place, id: Option<&ContainerId>) -> Fields {
    Fields::new()
        .put_unless_empty("containerID", id.map(ContainerId::as_str).unwrap_or_default())
        .put("containerName", place.name.as_str())
        .put("podName", place.pod.name.as_str())
        .put("namespace", place.pod.namespace.as_str())
}

fn running((id, target): (&ContainerId, &Target)) -> Value {
    let error = match &target.fault {
        Some(Fault::Step(words)) => words.as_str(),
        Some(Fault::Transport(_)) | None => "",
    };
    let waits = target.job.as_ref().and_then(|job| job.waits.as_ref());
    let waits = waits.map(|message| json!({"reason": "WaitingForCluster", "message": message}));
    container(&target.place, Some(id))
        .put_unless_empty("waiting", waits.unwrap_or_default())
        .put_unless_empty("lastFileTimeSynced", target.synced.map_or(Value::Null, |at| json!(at)))
        .put_unless_empty("lastExecError", error)
        .value()
}

fn waiting(Waiting { id, place }: &Waiting) -> Value {
    let why = json!({"reason": "ContainerWaiting", "message": "Waiting for container to start"});
    container(place, id.as_ref()).put("waiting", why).value()
}
