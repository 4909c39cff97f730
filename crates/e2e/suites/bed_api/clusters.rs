//! Clusters beside the session's own.

use lilt_testbed_env::Testbed;
use serde_json::json;

use crate::client::Session;
use crate::pods::find;

#[test]
fn cluster_object_connects_and_reports_status() {
    let namespace = Testbed::get().namespace("api-clusters");
    let tiltfile = "local_resource('one', 'true')\n";
    let session = Session::start_on(&namespace, &[("Tiltfile", tiltfile)]);
    let make = |name: &str, connection: serde_json::Value| {
        let spec = json!({"connection": connection});
        let object = json!({"apiVersion": "tilt.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": spec});
        session.apply(&object.to_string());
    };
    make("engine", json!({"docker": {}}));
    make("nowhere", json!({"docker": {"host": "unix:///nowhere/docker.sock"}}));
    make("other", json!({"kubernetes": {"namespace": "kube-system"}}));
    make("unknown", json!({"kubernetes": {"context": "no-such-context"}}));
    let other = find(&session, "cluster/other", "answers", |it| it["status"]["connectedAt"].is_string());
    let status = &other["status"];
    assert_eq!(status["connection"]["kubernetes"]["namespace"], "kube-system");
    assert!(status["version"].as_str().is_some_and(|version| version.starts_with('v')), "{status}");
    assert!(status["arch"].is_string() && status["error"].is_null(), "{status}");
    let engine = find(&session, "cluster/engine", "answers", |it| it["status"]["connectedAt"].is_string());
    assert!(engine["status"]["version"].is_string() && engine["status"]["arch"].is_string(), "{engine}");
    for silent in ["nowhere", "unknown"] {
        let message =
            find(&session, &format!("cluster/{silent}"), "does not", |it| it["status"]["error"].is_string());
        assert!(message["status"]["connectedAt"].is_null(), "{message}");
    }
    session.lilt.wait_for_line("Connecting again when the kubeconfig changes.");
    make("nowhere", json!({"docker": {}}));
    let found =
        find(&session, "cluster/nowhere", "answers now", |it| it["status"]["connectedAt"].is_string());
    assert!(found["status"]["error"].is_null(), "{found}");
    session.kubectl(&["delete", "clusters", "engine", "nowhere", "other", "unknown"]);
    session.lilt.quit();
}
