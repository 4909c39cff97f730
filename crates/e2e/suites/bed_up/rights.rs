//! Permissions in one namespace only.

use lilt_e2e::rights::restricted_kubeconfig;
use lilt_e2e::site::Site;
use lilt_e2e::workload::{deployment, wait_for_runtime_status};
use lilt_testbed_env::{Testbed, eventually};
use serde_json::{Value, json};

const ALLOWED: &str = "allow_k8s_contexts('somebody')\n";

/// All permissions in a namespace.
fn everything_here() -> Value {
    json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
}

fn web_pod(site: &Site) -> String {
    eventually("there is exactly one pod of it", || {
        let pods: Vec<String> = site.pods().into_iter().filter(|pod| pod.starts_with("web-")).collect();
        <[String; 1]>::try_from(pods).ok().map(|[pod]| pod)
    })
}

#[test]
fn session_works_with_namespace_rights() {
    let site = Site::new("rights");
    let home = restricted_kubeconfig(&site.namespace, &everything_here());
    let denied = Testbed::get().try_kubectl(&[
        "--kubeconfig",
        &home.file("kubeconfig").to_string_lossy(),
        "get",
        "nodes,configmaps",
        "-n",
        "kube-public",
    ]);
    assert!(denied.is_err(), "the rest of the cluster is closed: {denied:?}");
    // Without permission to read the announced registry, the Tiltfile sets it.
    let registry = format!("{ALLOWED}default_registry('{}')\n", Testbed::get().registry());
    site.project.write("Tiltfile", &format!("{registry}{}k8s_yaml('crash.yaml')\n", site.tiltfile()));
    site.project.write("crash.yaml", &deployment("crash", "echo oh no; exit 3", |_| {}).to_string());
    let lilt = site.up().variable("KUBECONFIG", home.file("kubeconfig")).start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = web_pod(&site);
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(web_pod(&site), pod, "updated in place");
    lilt.wait_for_log_line("crash", "oh no");
    wait_for_runtime_status(&lilt, "crash", "error", &["container main exited with code 3"]);
    lilt.wait_for_line(&format!("crash │ [event: pod {}/crash-", site.namespace.name()));
    // Forbidden optional reads cause no warnings.
    assert!(!lilt.output().contains("forbidden"), "{}", lilt.output());
    lilt.quit();
    site.down().variable("KUBECONFIG", home.file("kubeconfig")).run().expect_clean_exit(0);
    assert!(!site.exists("deployment/web"));
}

#[test]
fn each_missing_right_is_reported_and_session_continues() {
    let site = Site::new("few-rights");
    let rules = json!([
        {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    ]);
    let home = restricted_kubeconfig(&site.namespace, &rules);
    site.project.write("web.yaml", &site.shell("web", "echo said; exec sleep 987"));
    site.project.write(
        "Tiltfile",
        &format!("{ALLOWED}k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n", site.port),
    );
    let lilt = site.up().variable("KUBECONFIG", home.file("kubeconfig")).start();
    // The status needs no permission for logs, events or forwards.
    lilt.wait_until_ready("web");
    lilt.wait_for_line("web │ log lost: the cluster does not allow you to read the log of pod web-");
    lilt.wait_for_line("cannot get resource \"pods/log\"");
    assert_eq!(lilt_e2e::page::get(site.port, "/"), None);
    lilt.wait_for_line("web │ ERROR: the cluster does not allow you to forward ports of pod web-");
    lilt.wait_for_line("resource \"pods/portforward\"");
    // The log is complete when the permission is granted later.
    restricted_kubeconfig(&site.namespace, &everything_here());
    lilt.wait_for_log_line("web", "said");
    lilt.quit();

    // Without permission to watch pods there is no status, and the message says so.
    let rules = json!([{"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]}]);
    let home = restricted_kubeconfig(&site.namespace, &rules);
    let lilt = site.up().variable("KUBECONFIG", home.file("kubeconfig")).start();
    wait_for_runtime_status(
        &lilt,
        "web",
        "pending",
        &["cannot be seen: the cluster does not allow you to watch pods"],
    );
    lilt.wait_for_line("web │ WARNING: the pods of namespace");
    // The status appears as soon as it is allowed.
    restricted_kubeconfig(&site.namespace, &everything_here());
    lilt.wait_until_ready("web");
    lilt.quit();
}
