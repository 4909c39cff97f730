//! Objects as a table, for `kubectl get`.

use lilt_api::kinds::Kind;
use lilt_api::{ObjectKind, annotation};
use lilt_model::Timestamp;
use serde_json::{Value, json};

/// A column in addition to name and age: its header and the path of its value in the object.
type Column = (&'static str, &'static str);

/// The path of Tilt's reason why a resource is not updated.
const WAIT_REASON: &str = "/status/waiting/reason";

fn columns(kind: &Kind) -> &'static [Column] {
    match kind.kind {
        ObjectKind::UIResource => &[
            ("Update", "/status/updateStatus"),
            ("Runtime", "/status/runtimeStatus"),
            ("Waiting", WAIT_REASON),
            ("Pod", "/status/k8sResourceInfo/podName"),
        ],
        ObjectKind::Cmd => {
            &[("Args", "/spec/args"), ("Pid", "/status/running/pid"), ("Exit", "/status/terminated/exitCode")]
        }
        ObjectKind::UIButton => &[
            ("Text", "/spec/text"),
            ("Component", "/spec/location/componentID"),
            ("Clicked", "/status/lastClickedAt"),
        ],
        ObjectKind::ToggleButton => {
            &[("Component", "/spec/location/componentID"), ("Error", "/status/error")]
        }
        ObjectKind::FileWatch => &[
            ("Paths", "/spec/watchedPaths"),
            ("Last Event", "/status/lastEventTime"),
            ("Error", "/status/error"),
        ],
        ObjectKind::Session => {
            &[("Tiltfile", "/spec/tiltfilePath"), ("Done", "/status/done"), ("Error", "/status/error")]
        }
        ObjectKind::UISession => &[("Version", "/status/runningTiltBuild/version")],
        ObjectKind::Tiltfile => &[("Path", "/spec/path"), ("Error", "/status/terminated/error")],
        ObjectKind::Cluster => &[
            ("Version", "/status/version"),
            ("Context", "/status/connection/kubernetes/context"),
            ("Error", "/status/error"),
        ],
        ObjectKind::KubernetesApply => &[("Applied", "/status/lastApplyTime"), ("Error", "/status/error")],
        ObjectKind::KubernetesDiscovery => &[("Pods", "/status/pods")],
        ObjectKind::PortForward => &[("Pod", "/spec/podName"), ("Forwards", "/spec/forwards")],
        ObjectKind::PodLogStream => {
            &[("Pod", "/spec/pod"), ("Namespace", "/spec/namespace"), ("Error", "/status/error")]
        }
        ObjectKind::ImageMap => &[("Selector", "/spec/selector"), ("Image", "/status/image")],
        ObjectKind::DockerImage | ObjectKind::CmdImage => {
            &[("Ref", "/spec/ref"), ("Built", "/status/ref"), ("Error", "/status/completed/error")]
        }
        ObjectKind::LiveUpdate => &[("Base Path", "/spec/basePath"), ("Failed", "/status/failed/reason")],
        ObjectKind::DockerComposeService => &[
            ("Service", "/spec/service"),
            ("State", "/status/containerState/status"),
            ("Error", "/status/applyError"),
        ],
        ObjectKind::DockerComposeLogStream => &[("Service", "/spec/service"), ("Error", "/status/error")],
        ObjectKind::Extension => {
            &[("Repo", "/spec/repoName"), ("Path", "/status/path"), ("Error", "/status/error")]
        }
        ObjectKind::ExtensionRepo => {
            &[("Url", "/spec/url"), ("Ref", "/spec/ref"), ("Error", "/status/error")]
        }
        ObjectKind::ConfigMap => &[("Data", "/data")],
    }
}

/// Returns the object of a row as `includeObject` requests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attached {
    Metadata,
    Whole,
    Nothing,
}

pub(crate) fn table(kind: &Kind, objects: &[Value], attached: Attached, now: Timestamp) -> Value {
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "columnDefinitions": heads(kind),
        "rows": objects.iter().map(|object| row(kind, object, attached, now)).collect::<Vec<_>>(),
    })
}

fn heads(kind: &Kind) -> Vec<Value> {
    let head = |name: &str, format: &str, priority: u8| json!({"name": name, "type": "string", "format": format, "description": "", "priority": priority});
    let mut heads = vec![head("Name", "name", 0)];
    heads.extend(columns(kind).iter().map(|(name, _)| head(name, "", 0)));
    heads.push(head("Age", "", 0));
    heads
}

fn row(kind: &Kind, object: &Value, attached: Attached, now: Timestamp) -> Value {
    let mut cells = vec![object["metadata"]["name"].clone()];
    cells.extend(columns(kind).iter().map(|(_, place)| match object.pointer(place) {
        None if *place == WAIT_REASON => json!(own_wait_reason(object)),
        value => cell(value),
    }));
    cells.push(json!(age(object, now)));
    let mut row = json!({"cells": cells});
    match attached {
        Attached::Metadata => row["object"] = partial(object),
        Attached::Whole => row["object"] = object.clone(),
        Attached::Nothing => {}
    }
    row
}

/// Returns why a resource is not updated if Tilt has no reason for that, such as in manual mode.
fn own_wait_reason(object: &Value) -> String {
    let note = |key: &str| object["metadata"]["annotations"][key].as_str().unwrap_or_default();
    let hold: Value = serde_json::from_str(note(annotation::HOLD_DATA)).unwrap_or_default();
    if hold["hold"] != "trigger" {
        return note(annotation::HOLD).to_owned();
    }
    match (hold["changed"].as_bool(), hold["files"].as_u64()) {
        (Some(true), Some(1)) => "manual trigger: 1 file changed".to_owned(),
        (Some(true), Some(files @ 1..)) => format!("manual trigger: {files} files changed"),
        (Some(true), _) => "manual trigger: definition changed".to_owned(),
        _ => "manual trigger".to_owned(),
    }
}

/// Returns only the object's metadata.
pub(crate) fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn cell(value: Option<&Value>) -> Value {
    match value {
        None | Some(Value::Null) => json!(""),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            json!(words.join(" "))
        }
        Some(Value::Array(items)) => json!(items.len().to_string()),
        Some(Value::Object(members)) => json!(members.len().to_string()),
        Some(Value::String(text)) => json!(text.lines().next().unwrap_or_default()),
        Some(plain) => json!(plain.to_string()),
    }
}

/// Returns the age of an object as kubectl prints it.
fn age(object: &Value, now: Timestamp) -> String {
    let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    let Some(created) = created.and_then(Timestamp::from_rfc3339) else { return "<unknown>".into() };
    let seconds = now.since(created).as_secs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use lilt_api::kinds::kinds;

    use super::*;

    fn waiting(hold: &Value, words: &str, status: &Value) -> Value {
        let annotations = json!({annotation::HOLD_DATA: hold.to_string(), annotation::HOLD: words});
        let object = json!({"metadata": {"name": "web", "annotations": annotations}, "status": status});
        let kind = kinds().of(ObjectKind::UIResource);
        table(kind, &[object], Attached::Nothing, Timestamp::ZERO)["rows"][0]["cells"][3].clone()
    }

    #[test]
    fn manual_mode_shows_why_a_resource_waits() {
        let trigger = |changed: bool, files: u64| {
            waiting(&json!({"hold": "trigger", "changed": changed, "files": files}), "…", &json!({}))
        };
        assert_eq!(trigger(true, 1), "manual trigger: 1 file changed");
        assert_eq!(trigger(true, 3), "manual trigger: 3 files changed");
        assert_eq!(trigger(true, 0), "manual trigger: definition changed");
        assert_eq!(trigger(false, 0), "manual trigger");
    }

    #[test]
    fn wait_reason_of_tilt_comes_first() {
        let status = json!({"waiting": {"reason": "waiting-for-dep"}});
        assert_eq!(waiting(&json!({"hold": "dependencies"}), "waiting for db", &status), "waiting-for-dep");
        assert_eq!(waiting(&json!({"hold": "loop"}), "held: …", &json!({})), "held: …");
    }
}
