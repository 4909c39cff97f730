//! Connecting, applying and deleting, against the real API server.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use std::time::Duration;

use lilt_cluster::{ApplyOptions, Cluster, ConnectOptions, DeleteOutcome, Preview};
use lilt_model::Class;
use lilt_model::registry::Registry;
use lilt_model::settings::ServerSideApply;
use serde_json::{Value, json};
use space::{DEADLINE, Space};

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}

#[tokio::test]
async fn probe_reads_cluster_properties() {
    let space = Space::new("probe").await;
    let info = space.cluster.probe().await.unwrap();
    assert_eq!(info.context, "kind-lilt");
    assert_eq!(info.namespace, space.name);
    assert!(info.server_version.starts_with("v1."), "{info:?}");
    assert_eq!(info.platform.as_deref(), Some("linux/amd64"));
    assert_eq!(info.registry, Some(Registry { host: "localhost:5000".to_owned(), ..Registry::default() }));
}

#[tokio::test]
async fn unreachable_cluster_failure_names_address_and_cause() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: nowhere\n\
        contexts:\n- name: nowhere\n  context: {cluster: c}\n\
        clusters:\n- name: c\n  cluster: {server: 'https://127.0.0.1:9'}\n";
    std::fs::write(&path, text).unwrap();
    let options = ConnectOptions { kubeconfig: vec![path], ..ConnectOptions::default() };
    let cluster = Cluster::connect(options).await.unwrap();
    let failure = cluster.probe().await.unwrap_err();
    assert_eq!(failure.class(), Class::Environment);
    for part in ["nowhere", "https://127.0.0.1:9", "refused"] {
        assert!(failure.message.contains(part), "{failure}");
    }
    assert!(failure.hint.is_some());
}

#[tokio::test]
async fn unchanged_apply_is_a_no_op_and_an_edit_is_not() {
    let space = Space::new("apply").await;
    let first = space.apply(config_map("settings", "a")).await;
    assert!(first.changed);
    assert_eq!(first.object.namespace, space.name);
    let again = space.apply(config_map("settings", "a")).await;
    assert_eq!((again.changed, &again.uid), (false, &first.uid));
    let edited = space.apply(config_map("settings", "b")).await;
    assert_eq!((edited.changed, edited.recreated, &edited.uid), (true, false, &first.uid));
}

#[tokio::test]
async fn results_of_many_objects_are_in_order() {
    let space = Space::new("order").await;
    let inner = format!("{}-inner", space.name);
    let objects = [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inside", "namespace": inner}}),
        config_map("here", "x"),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}}),
    ];
    let applied = space.cluster.apply(&objects, DEADLINE).await.unwrap();
    let names: Vec<&str> = applied.iter().map(|one| one.object.name.as_str()).collect();
    assert_eq!(names, ["inside", "here", &inner]);
    assert_eq!(applied[2].object.namespace, "");
    space.cluster.delete(&objects, None).await.unwrap();
}

#[tokio::test]
async fn rejected_object_failure_names_field_and_reason() {
    let space = Space::new("refused").await;
    let bad = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 99999}]}});
    let failure = space.cluster.apply(&[bad], DEADLINE).await.unwrap_err();
    assert_eq!(failure.class(), Class::User);
    let text = failure.to_string();
    for part in ["web:service", "spec.ports[0].port", "between 1 and 65535"] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn unknown_field_is_a_warning_as_with_kubectl() {
    let space = Space::new("misspelt").await;
    let bad = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"portz": [{"port": 80}], "ports": [{"port": 80}]}});
    let applied = space.apply(bad.clone()).await;
    let remark = &applied.remarks[0];
    assert!(remark.warning && remark.text.contains("portz"), "{remark:?}");
    let always =
        ApplyOptions { timeout: DEADLINE, merge: ServerSideApply::Always, ..ApplyOptions::default() };
    let failure = space.cluster.apply_with(&[bad], &always).await.unwrap_err();
    assert_eq!(failure.class(), Class::User, "{failure}");
    let text = failure.to_string();
    assert!(text.contains("web:service") && text.contains("portz") && failure.hint.is_some(), "{text}");
}

#[tokio::test]
async fn unknown_kind_and_missing_namespace_fail() {
    let space = Space::new("unknown").await;
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    let failure = space.cluster.apply(&[unknown], DEADLINE).await.unwrap_err();
    assert!(failure.message.contains("Widget") && failure.message.contains("example.com/v1"), "{failure}");
    let homeless =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "not-there"}});
    let failure = space.cluster.apply(&[homeless], DEADLINE).await.unwrap_err();
    assert!(failure.to_string().contains("create the namespace not-there"), "{failure}");
}

#[tokio::test]
async fn object_without_a_name_is_shown() {
    let space = Space::new("nameless").await;
    let failure =
        space.cluster.apply(&[json!({"apiVersion": "v1", "kind": "Pod"})], DEADLINE).await.unwrap_err();
    assert!(failure.to_string().contains("metadata.name"), "{failure}");
}

#[tokio::test]
async fn forbidden_apply_failure_names_the_permission() {
    let space = Space::new("forbidden").await;
    let limited = limited_cluster(&space);
    let failure = Cluster::connect(limited.1)
        .await
        .unwrap()
        .apply(&[config_map("x", "y")], DEADLINE)
        .await
        .unwrap_err();
    assert_eq!(failure.class(), Class::Environment);
    assert!(failure.message.contains("x:configmap"), "{failure}");
    assert!(failure.detail.as_deref().unwrap_or_default().contains("cannot patch resource"), "{failure}");
}

/// A kubeconfig for a user without permissions.
fn limited_cluster(space: &Space) -> (tempfile::TempDir, ConnectOptions) {
    let text = std::fs::read_to_string(std::env::var("KUBECONFIG").unwrap()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let user = lines.iter().position(|line| line.trim_start().starts_with("client-certificate")).unwrap();
    let indent = " ".repeat(lines[user].len() - lines[user].trim_start().len());
    let impersonate = format!("{indent}as: nobody-at-all");
    lines.insert(user, &impersonate);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    std::fs::write(&path, lines.join("\n")).unwrap();
    let options = ConnectOptions {
        kubeconfig: vec![path],
        namespace: Some(space.name.clone()),
        ..ConnectOptions::default()
    };
    (directory, options)
}

#[tokio::test]
async fn immutable_change_recreates_the_object() {
    let space = Space::new("immutable").await;
    let job = |command: &str| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "busybox", "command": [command]}]}}}})
    };
    let first = space.apply(job("true")).await;
    let second = space.apply(job("false")).await;
    assert!(second.recreated && second.changed);
    assert_ne!(first.uid, second.uid);
}

#[tokio::test]
async fn crd_and_its_objects_are_applied_together() {
    let space = Space::new("crd").await;
    let group = format!("{}.example.com", space.name);
    let objects = [
        json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}),
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {"group": group, "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}),
    ];
    let applied = space.cluster.apply(&objects, DEADLINE).await.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(applied[0].object.kind, "Widget");
    let outcome = space.cluster.delete(&objects, Some(DEADLINE)).await.unwrap();
    assert!(outcome.iter().all(|(_, outcome)| *outcome == DeleteOutcome::Deleted), "{outcome:?}");
    // The kind was deleted, too.
    let again = space.cluster.delete(&objects, Some(DEADLINE)).await.unwrap();
    assert!(again.iter().all(|(_, outcome)| *outcome == DeleteOutcome::AlreadyGone), "{again:?}");
}

#[tokio::test]
async fn delete_waits_and_is_idempotent() {
    let space = Space::new("delete").await;
    let objects = [config_map("one", "1"), space::pod("main", "busybox", "sleep 1000")];
    space.cluster.apply(&objects, DEADLINE).await.unwrap();
    let outcome = space.cluster.delete(&objects, Some(DEADLINE)).await.unwrap();
    assert!(outcome.iter().all(|(_, outcome)| *outcome == DeleteOutcome::Deleted));
    // It is deleted: the next apply creates another object.
    let applied = space.cluster.apply(&objects[..1], DEADLINE).await.unwrap();
    assert!(applied[0].changed);
    let again = space.cluster.delete(&objects, Some(DEADLINE)).await.unwrap();
    let outcomes: Vec<DeleteOutcome> = again.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(outcomes, [DeleteOutcome::Deleted, DeleteOutcome::AlreadyGone]);
}

#[tokio::test]
async fn stuck_deletion_does_not_prevent_others() {
    let space = Space::new("others").await;
    let mut stuck = config_map("stuck", "x");
    stuck["metadata"]["finalizers"] = json!(["example.com/never"]);
    let objects = [stuck.clone(), config_map("other", "x")];
    space.cluster.apply(&objects, DEADLINE).await.unwrap();
    let outcomes = space.cluster.delete_each(&objects, Some(Duration::from_secs(2))).await.unwrap();
    assert!(outcomes[0].1.as_ref().is_err_and(|failure| failure.to_string().contains("example.com/never")));
    assert_eq!(outcomes[1].1, Ok(DeleteOutcome::Deleted));
    let there = space.cluster.exist(&objects).await.unwrap();
    assert_eq!(there.iter().map(|(_, there)| *there).collect::<Vec<_>>(), [true, false]);
    stuck["metadata"]["finalizers"] = json!([]);
    space.apply(stuck).await;
}

#[tokio::test]
async fn service_with_immutable_change_is_recreated() {
    let space = Space::new("anew").await;
    let set = |size: &str| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {
            "replicas": 0, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "busybox"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}}}}]}})
    };
    space.apply(set("1Gi")).await;
    let second = space.apply(set("2Gi")).await;
    assert!(second.recreated && second.remarks[0].text.contains("made anew"), "{second:?}");
    let service = |address: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
            "spec": {"clusterIP": address, "ports": [{"port": 80}], "selector": {"app": "db"}}})
    };
    let mut first = service("None");
    first["spec"]["clusterIP"] = json!(null);
    space.apply(first).await;
    let headless = space.apply(service("None")).await;
    assert!(headless.recreated, "{headless:?}");
}

/// Its manifest would not recreate the data.
#[tokio::test]
async fn volume_claim_is_not_recreated() {
    let space = Space::new("claim").await;
    let claim = |class: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class,
                "resources": {"requests": {"storage": "1Gi"}}}})
    };
    let first = space.apply(claim("slow")).await;
    let failure = space.cluster.apply(&[claim("fast")], DEADLINE).await.unwrap_err();
    assert!(
        failure.hint.as_ref().is_some_and(|hint| hint.contains("kubectl delete persistentvolumeclaim data"))
    );
    let previews = space.cluster.preview(&[claim("fast")], ServerSideApply::Auto).await.unwrap();
    assert!(matches!(previews[0].1, Preview::Refused(_)), "{previews:?}");
    let same = space.apply(claim("slow")).await;
    assert_eq!(same.uid, first.uid);
}

/// The grace period of a pod does not count as time of the apply.
#[tokio::test]
async fn recreation_waits_for_slow_deletion() {
    let space = Space::new("grace").await;
    let pod = |text: &str| {
        let script = format!("trap '' TERM; echo {text}; while :; do sleep 1; done");
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stubborn"}, "spec": {
            "terminationGracePeriodSeconds": 8,
            "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", script]}]}})
    };
    space.apply(pod("one")).await;
    let begin = tokio::time::Instant::now();
    while status(&space, "stubborn")["phase"] != "Running" {
        assert!(begin.elapsed() < DEADLINE, "it does not start");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let second = space.cluster.apply(&[pod("two")], Duration::from_secs(6)).await;
    let second = second.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(second[0].recreated, "{second:?}");
    assert!(space.cluster.delete(&[pod("two")], None).await.is_ok());
}

fn status(space: &Space, pod: &str) -> Value {
    let mut kubectl = std::process::Command::new("kubectl");
    let output = kubectl.args(["-n", &space.name, "get", "pod", pod, "-o", "json"]).output().unwrap();
    serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()["status"].clone()
}

#[tokio::test]
async fn stuck_deletion_failure_names_finalizers() {
    let space = Space::new("stuck").await;
    let mut stuck = config_map("stuck", "x");
    stuck["metadata"]["finalizers"] = json!(["example.com/never"]);
    space.apply(stuck.clone()).await;
    let failure = space.cluster.delete(&[stuck.clone()], Some(Duration::ZERO)).await.unwrap_err();
    assert!(failure.to_string().contains("example.com/never"), "{failure}");
    stuck["metadata"]["finalizers"] = json!([]);
    // Without the finalizer it is deleted, and the apply recreates it.
    let applied = space.apply(stuck).await;
    assert!(applied.changed);
}

/// Custom resources are deleted while their operator still runs, also those that a person created.
#[tokio::test]
async fn custom_resources_and_crds_are_deleted_before_operators() {
    let space = Space::new("operator").await;
    let group = format!("{}.example.com", space.name);
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let operator = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "operator"}, "spec": {
        "replicas": 0, "selector": {"matchLabels": {"app": "operator"}},
        "template": {"metadata": {"labels": {"app": "operator"}},
            "spec": {"containers": [{"name": "main", "image": "busybox"}]}}}});
    let widget = |name: &str| {
        json!({"apiVersion": format!("{group}/v1"), "kind": "Widget",
            "metadata": {"name": name, "finalizers": ["example.com/operator"]}})
    };
    let all = [definition, operator, widget("named"), widget("by-hand")];
    let objects = &all[..3];
    space.cluster.apply(&all, DEADLINE).await.unwrap_or_else(|failure| panic!("{failure}"));
    let kubectl = |arguments: &[&str]| {
        let output =
            std::process::Command::new("kubectl").args(["-n", &space.name]).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let clear_up = async {
        for name in ["named", "by-hand"] {
            let widget = format!("widgets.{group}/{name}");
            while kubectl(&["get", &widget, "-o", "jsonpath={.metadata.deletionTimestamp}"]).is_empty() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let there = space.cluster.exist(&objects[..2]).await.unwrap();
            assert!(there.iter().all(|(_, there)| *there), "operator and kind stay for {name}: {there:?}");
            // What the operator would do.
            kubectl(&["patch", &widget, "--type=merge", "-p", "{\"metadata\":{\"finalizers\":null}}"]);
        }
    };
    let (outcome, ()) = tokio::join!(space.cluster.delete(objects, Some(DEADLINE)), clear_up);
    let outcome = outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.iter().all(|(_, outcome)| *outcome == DeleteOutcome::Deleted), "{outcome:?}");
}
