//! Conditions of applied objects, from the real API server.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use lilt_cluster::{Cluster, ConnectOptions, ObjectState};
use lilt_model::kubernetes::ObjectRef;
use serde_json::{Value, json};
use space::Space;

/// Polls until the conditions are as expected.
async fn until(cluster: &Cluster, object: &Value, wanted: impl Fn(&ObjectState) -> bool) -> ObjectState {
    let object = ObjectRef::of(object).unwrap();
    let asking = async {
        loop {
            let found = cluster.object_state(&object).await.unwrap_or_else(|failure| panic!("{failure}"));
            match found {
                Some(state) if wanted(&state) => return state,
                _ => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    };
    tokio::time::timeout(space::DEADLINE, asking)
        .await
        .unwrap_or_else(|_| panic!("{object} is not as wanted"))
}

fn says(state: &ObjectState, kind: &str, status: &str) -> bool {
    state.conditions.iter().any(|it| it.kind == kind && it.status == status)
}

#[tokio::test]
async fn conditions_of_objects_are_read() {
    let space = Space::new("conditions").await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "busybox", "command": ["sleep", "3600"]}]}}}});
    space.apply(deployment.clone()).await;
    let state = until(&space.cluster, &deployment, |state| says(state, "Available", "True")).await;
    assert!(says(&state, "Progressing", "True") && !state.is_deleting, "{state:?}");
    let available = state.conditions.iter().find(|it| it.kind == "Available").unwrap();
    assert!(available.last_transition_time.is_some() && !available.reason.is_empty(), "{available:?}");

    // A deleted custom resource that a finalizer keeps.
    let group = format!("{}.example.com", space.name);
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let widget = json!({"apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": {"name": "w", "finalizers": ["example.com/kept"]}});
    space.apply(definition.clone()).await;
    until(&space.cluster, &definition, |state| says(state, "Established", "True")).await;
    space.apply(widget.clone()).await;
    let kubectl = |words: &[&str]| {
        let output =
            std::process::Command::new("kubectl").args(["-n", &space.name]).args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let kind = format!("widget.{group}/w");
    let waiting = r#"{"status":{"conditions":[{"type":"Ready","status":"False","reason":"NoDisk","message":"there is none"}]}}"#;
    kubectl(&["patch", &kind, "--subresource=status", "--type=merge", "-p", waiting]);
    let state = until(&space.cluster, &widget, |state| says(state, "Ready", "False")).await;
    assert_eq!((state.conditions[0].reason.as_str(), state.is_deleting), ("NoDisk", false));
    kubectl(&["delete", &kind, "--wait=false"]);
    until(&space.cluster, &widget, |state| state.is_deleting).await;
    kubectl(&["patch", &kind, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    kubectl(&["delete", "crd", &format!("widgets.{group}")]);
    assert_eq!(space.cluster.object_state(&ObjectRef::of(&widget).unwrap()).await.unwrap(), None);
}

#[tokio::test]
async fn object_without_status_and_forbidden_object_are_distinguished() {
    let space = Space::new("unread").await;
    let text = std::fs::read_to_string(std::env::var("KUBECONFIG").unwrap()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let limited = text.replacen("    client-certificate", "    as: nobody-at-all\n    client-certificate", 1);
    assert_ne!(limited, text);
    std::fs::write(&path, limited).unwrap();
    let namespace = Some(space.name.clone());
    let options = ConnectOptions { kubeconfig: vec![path], namespace, ..ConnectOptions::default() };
    let nobody = Cluster::connect(options).await.unwrap();
    let ask = async |kind: &str, version: &str| {
        let object = ObjectRef {
            api_version: version.to_owned(),
            kind: kind.to_owned(),
            namespace: space.name.clone(),
            name: "x".to_owned(),
        };
        nobody.object_state(&object).await
    };
    // Without the permission to read a Secret, its state is empty.
    assert_eq!(ask("Secret", "v1").await.unwrap(), Some(ObjectState::default()));
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
    let known = ObjectRef::of(&settings).unwrap();
    assert_eq!(space.cluster.object_state(&known).await.unwrap(), None);
    space.apply(settings).await;
    assert_eq!(space.cluster.object_state(&known).await.unwrap(), Some(ObjectState::default()));
    let failure = ask("Deployment", "apps/v1").await.unwrap_err();
    assert!(failure.kind == lilt_model::FailureKind::Forbidden, "{failure}");
}
