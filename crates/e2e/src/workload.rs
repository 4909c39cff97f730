//! Workload objects, and assertions about their status in lilt.

use lilt_testbed_env::Project;
use serde_json::{Value, json};

use super::lilt::Lilt;

/// A command that only sleeps.
pub const SLEEP: &str = "exec sleep 987";

/// Returns a deployment of one container that runs a shell command; `change` edits the pod's spec.
pub fn deployment(name: &str, line: &str, change: impl FnOnce(&mut Value)) -> Value {
    workload("Deployment", name, line, change)
}

/// Like [`deployment`], for any workload kind.
pub fn workload(kind: &str, name: &str, line: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut spec = json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", line]}],
    });
    change(&mut spec);
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    })
}

/// Returns a deployment of a small web server in Python.
pub fn python(name: &str, program: &str, port: u16) -> Value {
    deployment(name, "", |spec| {
        spec["containers"][0]["image"] = json!("python:3-slim");
        spec["containers"][0]["command"] = json!(["python3", "-c", program]);
        spec["containers"][0]["readinessProbe"] = json!({"tcpSocket": {"port": port}, "periodSeconds": 1});
    })
}

/// Returns a project with these objects, and further lines of its Tiltfile.
pub fn project(objects: &[Value], tiltfile: &str) -> Project {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    Project::new(&[("Tiltfile", &format!("k8s_yaml('all.yaml')\n{tiltfile}")), ("all.yaml", &list)])
}

/// Returns the runtime message of a resource.
pub fn runtime_message(resource: &Value) -> &str {
    resource["metadata"]["annotations"]["lilt.dev/runtime-message"].as_str().unwrap_or_default()
}

/// Waits until a resource has a runtime status whose message contains all texts.
pub fn wait_for_runtime_status(lilt: &Lilt, resource: &str, status: &str, said: &[&str]) {
    lilt.wait_until(resource, &format!("is {status} with {said:?}"), |it| {
        it["status"]["runtimeStatus"] == status && said.iter().all(|text| runtime_message(it).contains(text))
    });
}
