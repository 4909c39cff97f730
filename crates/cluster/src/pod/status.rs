//! The STATUS column of `kubectl get pods`, and the message that explains it.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod, PodStatus};

/// Returns the status and, if the cluster provides one, its message.
pub(super) fn of(pod: &Pod) -> (String, Option<String>) {
    let empty = PodStatus::default();
    let status = pod.status.as_ref().unwrap_or(&empty);
    let mut word = status.reason.clone().filter(|reason| !reason.is_empty());
    let mut message = status.message.clone().filter(|message| !message.is_empty());

    let gated = condition(status, "PodScheduled", "False").filter(|(reason, _)| reason == "SchedulingGated");
    if let Some((reason, text)) = gated {
        word = Some(reason);
        message = message.or(text);
    }
    let initializing = init_status(pod, status);
    match initializing {
        Some((init_word, init_message)) => {
            word = Some(init_word);
            message = init_message.or(message);
        }
        None => {
            if let Some((main_word, main_message)) = main_status(status) {
                word = Some(main_word);
                message = main_message.or(message);
            }
        }
    }
    let phase = status.phase.clone().unwrap_or_else(|| "Pending".to_owned());
    let mut word = word.unwrap_or(phase);
    if word == "Completed" && running_and_ready(status) {
        let ready = condition(status, "Ready", "True").is_some();
        word = if ready { "Running" } else { "NotReady" }.to_owned();
    }
    if pod.metadata.deletion_timestamp.is_some() {
        let node_lost = status.reason.as_deref() == Some("NodeLost");
        word = if node_lost { "Unknown" } else { "Terminating" }.to_owned();
    }
    if message.is_none() && word == "Pending" {
        message = condition(status, "PodScheduled", "False").and_then(|(_, text)| text);
    }
    (word, message)
}

fn condition(status: &PodStatus, kind: &str, value: &str) -> Option<(String, Option<String>)> {
    let found = status.conditions.as_deref()?.iter().find(|one| one.type_ == kind && one.status == value)?;
    Some((found.reason.clone().unwrap_or_default(), found.message.clone().filter(|text| !text.is_empty())))
}

/// Returns `Init:…` until all init containers have completed.
fn init_status(pod: &Pod, status: &PodStatus) -> Option<(String, Option<String>)> {
    let specs = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
    let statuses = status.init_container_statuses.as_deref().unwrap_or_default();
    let is_sidecar = |name: &str| {
        specs.iter().any(|spec| spec.name == name && spec.restart_policy.as_deref() == Some("Always"))
    };
    for (at, container) in statuses.iter().enumerate() {
        let state = container.state.as_ref();
        if let Some(terminated) = state.and_then(|state| state.terminated.as_ref()) {
            if terminated.exit_code == 0 {
                continue;
            }
            let reason = terminated.reason.clone().filter(|reason| !reason.is_empty());
            let word = reason.unwrap_or_else(|| exit_word(terminated.signal, terminated.exit_code));
            return Some((format!("Init:{word}"), terminated.message.clone()));
        }
        if is_sidecar(&container.name) && container.started == Some(true) {
            continue;
        }
        if let Some(waiting) = state.and_then(|state| state.waiting.as_ref())
            && let Some(reason) = waiting.reason.as_deref().filter(|reason| !reason.is_empty())
            && reason != "PodInitializing"
        {
            return Some((format!("Init:{reason}"), waiting.message.clone()));
        }
        return Some((format!("Init:{at}/{}", specs.len()), None));
    }
    None
}

/// Returns the status of the first container that waits or has terminated.
fn main_status(status: &PodStatus) -> Option<(String, Option<String>)> {
    let containers = status.container_statuses.as_deref().unwrap_or_default();
    containers.iter().find_map(|container| trouble(container.state.as_ref()?))
}

fn trouble(state: &ContainerState) -> Option<(String, Option<String>)> {
    if let Some(waiting) = &state.waiting
        && let Some(reason) = waiting.reason.clone().filter(|reason| !reason.is_empty())
    {
        return Some((reason, waiting.message.clone()));
    }
    let terminated = state.terminated.as_ref()?;
    let reason = terminated.reason.clone().filter(|reason| !reason.is_empty());
    let word = reason.unwrap_or_else(|| exit_word(terminated.signal, terminated.exit_code));
    Some((word, terminated.message.clone()))
}

fn exit_word(signal: Option<i32>, exit_code: i32) -> String {
    match signal {
        Some(signal) if signal != 0 => format!("Signal:{signal}"),
        _ => format!("ExitCode:{exit_code}"),
    }
}

fn running_and_ready(status: &PodStatus) -> bool {
    let containers: &[ContainerStatus] = status.container_statuses.as_deref().unwrap_or_default();
    containers.iter().any(|container| {
        container.ready && container.state.as_ref().is_some_and(|state| state.running.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn word(mut pod: Value) -> (String, Option<String>) {
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        let pod: Pod = serde_json::from_value(pod).unwrap();
        of(&pod)
    }

    fn main(state: Value) -> Value {
        json!({"status": {"phase": "Running", "containerStatuses": [
            {"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state}]}})
    }

    fn init(state: Value) -> Value {
        json!({"spec": {"containers": [], "initContainers": [{"name": "i"}, {"name": "j"}]},
            "status": {"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state}]}})
    }

    #[test]
    fn status_equals_that_of_kubectl() {
        let cases = [
            (json!({"status": {"phase": "Pending"}}), "Pending", None),
            (main(json!({"running": {}})), "Running", None),
            (
                main(json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}})),
                "CrashLoopBackOff",
                Some("back-off 10s"),
            ),
            (
                main(json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}})),
                "ImagePullBackOff",
                Some("no such image"),
            ),
            (main(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})), "OOMKilled", None),
            (main(json!({"terminated": {"exitCode": 3}})), "ExitCode:3", None),
            (main(json!({"terminated": {"exitCode": 0, "signal": 9}})), "Signal:9", None),
            (main(json!({"terminated": {"exitCode": 0, "reason": "Completed"}})), "Completed", None),
            (init(json!({"running": {}})), "Init:0/2", None),
            (init(json!({"terminated": {"exitCode": 1, "reason": "Error"}})), "Init:Error", None),
            (
                init(json!({"waiting": {"reason": "ErrImagePull", "message": "m"}})),
                "Init:ErrImagePull",
                Some("m"),
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Running"}}),
                "Terminating",
                None,
            ),
            (
                json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "disk is full"}}),
                "Evicted",
                Some("disk is full"),
            ),
            (
                json!({"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                    "reason": "Unschedulable", "message": "0/1 nodes are available"}]}}),
                "Pending",
                Some("0/1 nodes are available"),
            ),
        ];
        for (pod, expected, message) in cases {
            assert_eq!(word(pod.clone()), (expected.to_owned(), message.map(str::to_owned)), "{pod}");
        }
    }

    #[test]
    fn pod_with_completed_and_running_containers_is_running() {
        let pod = json!({"status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                 "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                {"name": "b", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": {"running": {}}}]}});
        assert_eq!(word(pod).0, "Running");
    }
}
