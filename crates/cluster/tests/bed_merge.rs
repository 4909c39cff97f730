//! Server-side and client-side apply, field ownership and drift, against the real API server.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use lilt_cluster::{Applied, ApplyOptions, DeleteOutcome, KnownObject, Preview};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::settings::ServerSideApply;
use serde_json::{Value, json};
use space::{DEADLINE, Space};

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})
}

/// Starts no pods: only the fields of the object matter.
fn deployment(container: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}}})
}

fn options(merge: ServerSideApply) -> ApplyOptions<'static> {
    ApplyOptions { timeout: DEADLINE, merge, ..ApplyOptions::default() }
}

trait Try {
    async fn applied(&self, object: &Value, how: &ApplyOptions<'_>) -> Applied;
    fn kubectl(&self, arguments: &[&str], input: &Value) -> String;
    fn read(&self, object: &str) -> Value;
}

impl Try for Space {
    async fn applied(&self, object: &Value, how: &ApplyOptions<'_>) -> Applied {
        let applied = self.cluster.apply_with(std::slice::from_ref(object), how).await;
        applied.unwrap_or_else(|failure| panic!("{failure}")).remove(0)
    }

    fn kubectl(&self, arguments: &[&str], input: &Value) -> String {
        let mut command = Command::new("kubectl");
        command.args(["-n", &self.name]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "kubectl {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn read(&self, object: &str) -> Value {
        let text = self.kubectl(&["get", object, "-o", "json", "--show-managed-fields"], &Value::Null);
        serde_json::from_str(&text).unwrap()
    }
}

fn said(applied: &Applied) -> String {
    applied.remarks.iter().map(|remark| remark.text.clone()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn kubectl_fields_are_taken_over_and_removed_fields_vanish() {
    let space = Space::new("takeover").await;
    space.kubectl(&["apply", "-f", "-"], &config_map(json!({"a": "1", "b": "1"})));
    let applied = space.applied(&config_map(json!({"a": "2"})), &options(ServerSideApply::Auto)).await;
    assert!(said(&applied).contains("took over what kubectl-client-side-apply had applied"), "{applied:?}");
    let object = space.read("configmap/settings");
    assert_eq!(object["data"], json!({"a": "2"}));
    assert!(!object.to_string().contains("last-applied-configuration"), "{object}");
    // The second apply has nothing to take over.
    let again = space.applied(&config_map(json!({"a": "2"})), &options(ServerSideApply::Auto)).await;
    assert!(!again.changed && again.remarks.is_empty(), "{again:?}");
}

#[tokio::test]
async fn conflict_is_forced_and_remarked() {
    let space = Space::new("conflict").await;
    let web = deployment(json!({"name": "main", "image": "busybox:1"}));
    space.apply(web.clone()).await;
    space.kubectl(&["set", "image", "deployment/web", "main=busybox:2"], &Value::Null);
    let applied = space.applied(&web, &options(ServerSideApply::Auto)).await;
    assert!(said(&applied).contains("took fields from kubectl-set"), "{applied:?}");
    assert!(said(&applied).contains(".image"), "{applied:?}");
    assert_eq!(
        space.read("deployment/web")["spec"]["template"]["spec"]["containers"][0]["image"],
        "busybox:1"
    );
}

#[tokio::test]
async fn client_side_apply_is_the_fallback() {
    let space = Space::new("twice").await;
    let twice = |value: &str| {
        let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": value}]);
        deployment(json!({"name": "main", "image": "busybox", "env": env}))
    };
    let applied = space.applied(&twice("2"), &options(ServerSideApply::Auto)).await;
    assert!(applied.remarks[0].warning && said(&applied).contains("duplicate entries"), "{applied:?}");
    space.applied(&twice("3"), &options(ServerSideApply::Auto)).await;
    let env = &space.read("deployment/web")["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env[1]["value"], "3", "{env}");
    // And back again.
    let once = deployment(json!({"name": "main", "image": "busybox", "env": [{"name": "B", "value": "1"}]}));
    let applied = space.applied(&once, &options(ServerSideApply::Auto)).await;
    let object = space.read("deployment/web");
    let env = &object["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(*env, json!([{"name": "B", "value": "1"}]), "{applied:?}");
    // With server-side apply forced, the object is rejected.
    let always = options(ServerSideApply::Always);
    let failure = space.cluster.apply_with(&[twice("4")], &always).await.unwrap_err();
    assert!(failure.to_string().contains("duplicate entries"), "{failure}");
}

#[tokio::test]
async fn client_side_apply_merges_like_kubectl() {
    let space = Space::new("client").await;
    let how = options(ServerSideApply::Never);
    let container = |env: Value| json!({"name": "main", "image": "busybox", "env": env});
    let both = container(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]));
    let first = space.applied(&deployment(both.clone()), &how).await;
    assert!(first.changed);
    let again = space.applied(&deployment(both), &how).await;
    assert!(!again.changed, "{again:?}");
    let object = space.read("deployment/web");
    let notes =
        object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].as_str();
    assert!(notes.is_some_and(|text| text.contains("\"A\"")), "{object}");
    // Fields that others added stay, fields removed from the manifest vanish.
    space.kubectl(&["set", "env", "deployment/web", "THEIRS=x"], &Value::Null);
    space.kubectl(&["annotate", "deployment/web", "note=theirs"], &Value::Null);
    let one = container(json!([{"name": "A", "value": "2"}]));
    space.applied(&deployment(one), &how).await;
    let object = space.read("deployment/web");
    assert_eq!(object["metadata"]["annotations"]["note"], "theirs");
    let env = &object["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(*env, json!([{"name": "A", "value": "2"}, {"name": "THEIRS", "value": "x"}]));
    let managers: Vec<String> = object["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {}", entry["manager"], entry["operation"]))
        .collect();
    assert!(managers.contains(&"\"tilt\" \"Update\"".to_owned()), "{managers:?}");
    // kubectl can continue with the object, and an immutable field recreates it.
    space.kubectl(&["apply", "-f", "-"], &deployment(container(json!([]))));
    let mut other = deployment(json!({"name": "main", "image": "busybox"}));
    other["spec"]["selector"] = json!({"matchLabels": {"app": "other"}});
    other["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let recreated = space.applied(&other, &how).await;
    assert!(recreated.recreated && said(&recreated).contains("made anew"), "{recreated:?}");
}

#[tokio::test]
async fn object_too_large_for_last_applied_is_applied() {
    let space = Space::new("large").await;
    let how = options(ServerSideApply::Never);
    let large = |end: &str| config_map(json!({"k": format!("{}{end}", "x".repeat(300_000))}));
    space.applied(&large("a"), &how).await;
    space.applied(&large("b"), &how).await;
    assert!(space.read("configmap/settings")["data"]["k"].as_str().unwrap().ends_with('b'));
    space.applied(&large("c"), &options(ServerSideApply::Auto)).await;
}

#[tokio::test]
async fn edited_config_map_is_kept_until_overwritten() {
    for merge in [ServerSideApply::Auto, ServerSideApply::Never] {
        let space = Space::new("edited").await;
        let how = options(merge);
        space.applied(&config_map(json!({"a": "1", "b": "1"})), &how).await;
        let edit = "{\"data\":{\"a\":\"by hand\"}}";
        space.kubectl(&["patch", "configmap", "settings", "--type=merge", "-p", edit], &Value::Null);
        let applied = space.applied(&config_map(json!({"a": "2", "b": "2"})), &how).await;
        assert!(applied.remarks.iter().any(|it| it.warning && it.text.contains("data.a")), "{applied:?}");
        assert_eq!(space.read("configmap/settings")["data"], json!({"a": "by hand", "b": "2"}));
        let asked = ApplyOptions { overwrite: true, ..options(merge) };
        space.applied(&config_map(json!({"a": "2", "b": "2"})), &asked).await;
        assert_eq!(space.read("configmap/settings")["data"], json!({"a": "2", "b": "2"}));
    }
}

/// An apply with kubectl after ours counts as an edit, not as an earlier tool.
#[tokio::test]
async fn config_map_applied_by_kubectl_is_kept() {
    let space = Space::new("applied-over").await;
    let how = options(ServerSideApply::Auto);
    space.kubectl(&["apply", "-f", "-"], &config_map(json!({"a": "earlier", "gone": "1"})));
    let first = space.applied(&config_map(json!({"a": "1", "b": "1"})), &how).await;
    assert!(said(&first).contains("took over"), "{first:?}");
    assert_eq!(space.read("configmap/settings")["data"], json!({"a": "1", "b": "1"}));
    space.kubectl(&["apply", "-f", "-"], &config_map(json!({"a": "by hand", "b": "1"})));
    let second = space.applied(&config_map(json!({"a": "2", "b": "2"})), &how).await;
    assert!(second.remarks.iter().any(|it| it.warning && it.text.contains("data.a")), "{second:?}");
    assert_eq!(space.read("configmap/settings")["data"]["a"], "by hand");
}

/// Secrets are written in plain text (`stringData`), which the API server stores differently.
#[tokio::test]
async fn edited_secret_is_kept_until_overwritten() {
    let secret = |user: &str, password: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
            "stringData": {"user": user, "password": password}})
    };
    let encoded = |user: &str, password: &str| {
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        json!({"user": encode(user), "password": encode(password)})
    };
    for merge in [ServerSideApply::Auto, ServerSideApply::Always, ServerSideApply::Never] {
        let space = Space::new("secret").await;
        let how = options(merge);
        space.applied(&secret("a", "a"), &how).await;
        assert!(!space.applied(&secret("a", "a"), &how).await.changed, "{merge:?}");
        let edit = "{\"stringData\":{\"password\":\"by hand\"}}";
        space.kubectl(&["patch", "secret", "login", "--type=merge", "-p", edit], &Value::Null);
        let applied = space.applied(&secret("b", "b"), &how).await;
        assert!(
            applied.remarks.iter().any(|it| it.warning && it.text.contains("data.password")),
            "{applied:?}"
        );
        assert!(!said(&applied).contains("by hand"), "{applied:?}");
        assert_eq!(space.read("secret/login")["data"], encoded("b", "by hand"), "{merge:?}");
        let asked = ApplyOptions { overwrite: true, ..options(merge) };
        space.applied(&secret("b", "b"), &asked).await;
        assert_eq!(space.read("secret/login")["data"], encoded("b", "b"), "{merge:?}");
    }
}

#[tokio::test]
async fn edited_create_once_object_is_not_deleted() {
    let space = Space::new("filled").await;
    let made_once = |kind: &str, name: &str, content: &str| {
        json!({"apiVersion": "v1", "kind": kind, content: {"token": "placeholder"},
            "metadata": {"name": name, "annotations": {"lilt.dev/create-once": "true"}}})
    };
    let objects = [
        made_once("Secret", "untouched", "stringData"),
        made_once("Secret", "changed", "stringData"),
        made_once("Secret", "added", "stringData"),
        made_once("ConfigMap", "changed", "data"),
        made_once("ConfigMap", "missing", "data"),
    ];
    for object in &objects[..4] {
        let mut labelled = object.clone();
        labelled["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "tilt"});
        space.applied(&labelled, &options(ServerSideApply::Auto)).await;
    }
    let patch = |what: [&str; 2], edit: &str| {
        space.kubectl(&[&["patch"], &what[..], &["-p", edit]].concat(), &Value::Null)
    };
    patch(["secret", "changed"], r#"{"stringData":{"token":"real"}}"#);
    patch(["secret", "added"], r#"{"stringData":{"other":"real"}}"#);
    patch(["configmap", "changed"], r#"{"data":{"token":"real"}}"#);
    let outcomes = space.cluster.delete(&objects, Some(DEADLINE)).await.unwrap();
    let outcomes: Vec<DeleteOutcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!([&outcomes[0], &outcomes[4]], [&DeleteOutcome::Deleted, &DeleteOutcome::AlreadyGone]);
    for (outcome, field) in outcomes[1..4].iter().zip(["data.token", "data.other", "data.token"]) {
        let DeleteOutcome::Kept(kept) = outcome else { panic!("{outcomes:?}") };
        assert_eq!(kept.fields, [field]);
        // The printed command works.
        let command: Vec<&str> = kept.command.split(' ').skip(1).collect();
        assert_eq!(command[2], "delete", "{kept}");
        space.kubectl(&command, &Value::Null);
    }
    let there = space.cluster.exist(&objects).await.unwrap();
    assert!(there.iter().all(|(_, there)| !there), "{there:?}");
}

#[tokio::test]
async fn create_once_object_is_kept_and_difference_redacted() {
    let space = Space::new("once").await;
    let secret = |value: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"password": value},
            "metadata": {"name": "login", "annotations": {"lilt.dev/create-once": "true"}}})
    };
    let first = space.applied(&secret("first"), &options(ServerSideApply::Auto)).await;
    assert!(first.changed && first.remarks.is_empty());
    let second = space.applied(&secret("second"), &options(ServerSideApply::Auto)).await;
    assert!(!second.changed && second.remarks[0].warning, "{second:?}");
    assert!(said(&second).contains("data.password: [redacted] → [redacted, other]"), "{second:?}");
    // "first" in base64
    assert_eq!(space.read("secret/login")["data"]["password"], "Zmlyc3Q=");
    let same = space.applied(&secret("first"), &options(ServerSideApply::Auto)).await;
    assert!(same.remarks.is_empty(), "{same:?}");
}

#[tokio::test]
async fn known_unchanged_object_is_not_applied_again() {
    let space = Space::new("again").await;
    let mut web = deployment(json!({"name": "main", "image": "busybox"}));
    web["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "tilt"});
    let first = space.applied(&web, &options(ServerSideApply::Auto)).await;
    let known = KnownObject { manifest: first.manifest.clone(), fingerprint: first.fingerprint.clone() };
    let known = |many| ApplyOptions {
        known: [(ObjectRef::of(&web).unwrap(), known.clone())].into(),
        bulk: many,
        ..options(ServerSideApply::Auto)
    };
    for many in [true, false] {
        let again = space.applied(&web, &known(many)).await;
        assert_eq!((again.changed, &again.uid, &again.fingerprint), (false, &first.uid, &first.fingerprint));
    }
    space.kubectl(&["set", "image", "deployment/web", "main=other"], &Value::Null);
    let mended = space.applied(&web, &known(false)).await;
    assert!(mended.changed, "somebody changed it: {mended:?}");
    let now = space.read("deployment/web");
    assert_eq!(now["spec"]["template"]["spec"]["containers"][0]["image"], "busybox");
}

#[tokio::test]
async fn preview_reports_changes_without_making_them() {
    let space = Space::new("preview").await;
    let mut web = deployment(json!({"name": "main", "image": "busybox:1"}));
    space.apply(web.clone()).await;
    space.apply(config_map(json!({"a": "1"}))).await;
    let inner = format!("{}-inner", space.name);
    let mut other = web.clone();
    other["spec"]["selector"] = json!({"matchLabels": {"app": "x"}});
    other["spec"]["template"]["metadata"]["labels"] = json!({"app": "x"});
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "busybox:2".into();
    let bad = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bad"}, "spec": {"ports": [{"port": 99999}]}});
    let objects = [
        web.clone(),
        config_map(json!({"a": "1"})),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": inner}}),
        other,
        bad,
        json!({"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "n"}}),
    ];
    let seen = space.cluster.preview(&objects, ServerSideApply::Auto).await.unwrap();
    let previews: Vec<&Preview> = seen.iter().map(|(_, preview)| preview).collect();
    let Preview::Change(changes) = previews[0] else { panic!("{seen:?}") };
    assert_eq!(changes[0].to_string(), "spec.template.spec.containers[main].image: busybox:1 → busybox:2");
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(previews[1..4], [&Preview::Unchanged, &Preview::Create, &Preview::Create]);
    assert!(matches!(previews[4], Preview::Recreate(why) if why.contains("selector")), "{seen:?}");
    assert!(
        matches!(previews[5], Preview::Refused(failure) if failure.to_string().contains("99999")),
        "{seen:?}"
    );
    assert!(
        matches!(previews[6], Preview::Refused(failure) if failure.to_string().contains("Nothing")),
        "{seen:?}"
    );
    assert_eq!(
        space.read("deployment/web")["spec"]["template"]["spec"]["containers"][0]["image"],
        "busybox:1"
    );
    // Removed fields are reported also for objects that kubectl applied.
    space.kubectl(&["apply", "-f", "-"], &config_map(json!({"a": "1", "b": "1"})));
    let seen = space.cluster.preview(&[config_map(json!({"a": "1"}))], ServerSideApply::Auto).await.unwrap();
    let Preview::Change(changes) = &seen[0].1 else { panic!("{seen:?}") };
    assert_eq!(changes[0].to_string(), "data.b: 1 → (none)");
}

#[tokio::test]
async fn drift_is_limited_to_fields_of_the_manifest() {
    let space = Space::new("drift").await;
    let mut web = deployment(json!({"name": "main", "image": "busybox:1"}));
    web["spec"]["replicas"] = json!(0);
    space.apply(web.clone()).await;
    let drift = async || {
        let found = space.cluster.drift(&web, Some(ServerSideApply::Auto)).await.unwrap();
        found.map(|changes| changes.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    space.kubectl(&["annotate", "deployment/web", "note=theirs"], &Value::Null);
    assert_eq!(drift().await, Some(Vec::new()), "what the manifest does not set is none");
    space.kubectl(&["set", "image", "deployment/web", "main=busybox:2"], &Value::Null);
    let image = "spec.template.spec.containers[main].image: busybox:1 → busybox:2".to_owned();
    assert_eq!(drift().await, Some(vec![image.clone()]));
    // As an autoscaler does.
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web",
        "namespace": space.name}, "spec": {"replicas": 1}});
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/web/scale?fieldManager=kube-controller-manager",
        space.name
    );
    space.kubectl(&["replace", "--raw", &path, "-f", "-"], &scale);
    assert_eq!(drift().await, Some(vec![image]));
    space.kubectl(&["delete", "deployment/web"], &Value::Null);
    assert_eq!(drift().await, None);
}

/// Controllers inject the certificate of a webhook and change it at any time.
#[tokio::test]
async fn injected_webhook_certificate_is_no_drift() {
    let space = Space::new("webhook").await;
    let name = format!("{}.example.com", space.name);
    let configuration = |address: &str| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": space.name},
            "webhooks": [{"name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "failurePolicy": "Ignore", "clientConfig": {"url": address},
                "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
                    "resources": ["widgets"]}]}]})
    };
    let manifest = configuration("https://127.0.0.1:9/check");
    space.apply(manifest.clone()).await;
    // It only has to be a valid certificate.
    let authority = space.kubectl(
        &[
            "config",
            "view",
            "--raw",
            "--flatten",
            "-o",
            "jsonpath={.clusters[0].cluster.certificate-authority-data}",
        ],
        &Value::Null,
    );
    let object = format!("validatingwebhookconfiguration/{}", space.name);
    let patch =
        json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": authority.trim()}]);
    space.kubectl(&["patch", &object, "--type=json", "-p", &patch.to_string()], &Value::Null);
    let drift = async |manifest: &Value| {
        let found = space.cluster.drift(manifest, Some(ServerSideApply::Auto)).await.unwrap();
        found.map(|changes| changes.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let first = drift(&manifest).await;
    // The next apply keeps it.
    space.apply(manifest.clone()).await;
    let bundle =
        space.kubectl(&["get", &object, "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}"], &Value::Null);
    let moved = drift(&configuration("https://127.0.0.1:9/other")).await;
    space.cluster.delete(&[manifest], None).await.unwrap();
    assert_eq!(first, Some(Vec::new()));
    assert_eq!(bundle.trim(), authority.trim());
    assert!(moved.is_some_and(|changes| changes.len() == 1 && changes[0].contains("url")));
}
