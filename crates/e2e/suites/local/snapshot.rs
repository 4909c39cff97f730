//! What `lilt snapshot view` shows of a file that was written elsewhere.

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::page;
use lilt_testbed_env::Project;
use serde_json::{Value, json};

use crate::objects::client::ask;

const OBJECTS: &str = "/proxy/apis/tilt.dev/v1alpha1";

fn view(project: &Project, snapshot: &Value) -> (Lilt, u16) {
    project.write("snapshot.json", &snapshot.to_string());
    let viewer = Start::new(project, &["snapshot", "view", "--no-open", "snapshot.json"]).start();
    let line = viewer.wait_for_line("Serving snapshot at ");
    let port = line.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
    (viewer, port.expect("a port"))
}

fn get(port: u16, path: &str) -> Value {
    let text = page::get(port, path).expect("it answers");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
}

fn resource(name: &str) -> Value {
    json!({
        "apiVersion": "tilt.dev/v1alpha1", "kind": "UIResource", "metadata": {"name": name},
        "status": {"runtimeStatus": "ok", "updateStatus": "ok"},
    })
}

/// More than a store without a folder keeps.
#[test]
fn snapshot_contains_long_log() {
    const LINES: u64 = 60_000;
    let line = |number: u64| {
        let text = format!("{number} {}\n", "x".repeat(200));
        json!({"spanId": "build:1", "time": "2026-11-15T19:51:53Z", "text": text, "level": "INFO"})
    };
    let log = json!({
        "spans": {"build:1": {"manifestName": "web"}},
        "segments": (0..LINES).map(line).collect::<Vec<_>>(),
    });
    let snapshot = json!({"view": {"uiResources": [resource("web")], "logList": log}});
    let project = Project::new(&[]);
    let (viewer, port) = view(&project, &snapshot);
    let first = get(port, "/api/lines?from=0&count=1");
    assert_eq!((&first["begin"], &first["end"]), (&json!(0), &json!(LINES)));
    assert!(first["lines"][0]["text"].as_str().is_some_and(|text| text.starts_with("0 x")), "{first}");
    assert_eq!(get(port, "/api/count?match=%5E7%20x")["count"], 1, "old lines are found, too");
    let missing = ask(port, "GET", "/api/logs?match=nowhere", "", "").1;
    assert!(missing.contains("lilt-lines-missing: 0"), "{missing}");
    viewer.quit();
}

#[test]
fn snapshot_contains_pods_events_forwards_and_buttons() {
    let discovery = json!({
        "metadata": {"name": "web", "uid": "u", "resourceVersion": "7"},
        "status": {"pods": [{"name": "web-1", "phase": "Running"}]},
    });
    let forward = json!({
        "metadata": {"name": "pf", "annotations": {"tilt.dev/resource": "web"}},
        "spec": {"podName": "web-1", "forwards": [{"localPort": 8000, "containerPort": 80}]},
    });
    let button = json!({
        "metadata": {"name": "seed"},
        "spec": {"text": "Seed", "location": {"componentType": "Resource", "componentID": "web"}},
    });
    let notice = json!([{"about": "pod/web-1", "warning": true, "reason": "BackOff", "message": "again",
        "at": "2026-11-15T19:51:53Z"}]);
    let conditions = json!([{"name": "web:deployment", "conditions": []}]);
    let snapshot = json!({
        "view": {"uiResources": [resource("web"), resource("other")], "uiButtons": [button]},
        "lilt": {
            "objects": {"KubernetesDiscovery": [discovery], "PortForward": [forward], "Nonsense": [1]},
            "notices": {"web": notice},
            "conditions": {"web": conditions},
        },
    });
    let project = Project::new(&[]);
    let (viewer, port) = view(&project, &snapshot);
    let found = get(port, &format!("{OBJECTS}/kubernetesdiscoveries/web"));
    assert_eq!(found["status"]["pods"][0]["name"], "web-1");
    let found = get(port, &format!("{OBJECTS}/portforwards"));
    assert_eq!(found["items"][0]["metadata"]["annotations"]["tilt.dev/resource"], "web");
    assert_eq!(get(port, &format!("{OBJECTS}/uibuttons"))["items"][0]["spec"]["text"], "Seed");
    assert_eq!(get(port, "/api/notices?resource=web"), notice);
    let (status, _, words) = ask(port, "GET", "/api/notices?resource=other", "", "");
    assert_eq!((status, words.as_str()), (410, "this snapshot does not tell\n"));
    assert_eq!(get(port, "/api/objects?resource=web"), conditions);
    // It is read-only, and the error says so.
    let (status, _, words) = ask(port, "DELETE", &format!("{OBJECTS}/uibuttons/seed"), "", "");
    assert!(status == 403 && words.contains("this is a snapshot"), "{status} {words}");
    assert_eq!(ask(port, "GET", "/api/snapshot", "", "").0, 404, "there is a file of it already");
    viewer.quit();
}
