//! Rights in one namespace and nowhere else.

use lilt_e2e::bed::Site;
use lilt_e2e::rights::somebody;
use lilt_e2e::workload::{deployment, shows};
use lilt_testbed_env::{Bed, eventually};
use serde_json::{Value, json};

const ALLOWED: &str = "allow_k8s_contexts('somebody')\n";

/// All that there is in a namespace.
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
fn rights_in_the_namespace_alone_are_enough() {
    let site = Site::new("rights");
    let home = somebody(&site.namespace, &everything_here());
    let denied = Bed::get().try_kubectl(&[
        "--kubeconfig",
        &home.file("kubeconfig").to_string_lossy(),
        "get",
        "nodes,configmaps",
        "-n",
        "kube-public",
    ]);
    assert!(denied.is_err(), "the rest of the cluster is closed: {denied:?}");
    // Who may not read what the cluster announces says where images go.
    let registry = format!("{ALLOWED}default_registry('{}')\n", Bed::get().registry());
    site.project.write("Tiltfile", &format!("{registry}{}k8s_yaml('crash.yaml')\n", site.tiltfile()));
    site.project.write("crash.yaml", &deployment("crash", "echo oh no; exit 3", |_| {}).to_string());
    let lilt = site.up().variable("KUBECONFIG", home.file("kubeconfig")).start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = web_pod(&site);
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(web_pod(&site), pod, "updated in place");
    lilt.wait_for_words("crash", "oh no");
    shows(&lilt, "crash", "error", &["container main exited with code 3"]);
    lilt.wait_for_line(&format!("crash │ [event: pod {}/crash-", site.namespace.name()));
    // Nobody is bothered with what is closed.
    assert!(!lilt.output().contains("forbidden"), "{}", lilt.output());
    lilt.quit();
    site.down().variable("KUBECONFIG", home.file("kubeconfig")).run().clean(0);
    assert!(!site.exists("deployment/web"));
}

#[test]
fn each_right_that_is_missing_is_told_and_the_rest_goes_on() {
    let site = Site::new("few-rights");
    let rules = json!([
        {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    ]);
    let home = somebody(&site.namespace, &rules);
    site.project.write("web.yaml", &site.shell("web", "echo said; exec sleep 987"));
    site.project.write(
        "Tiltfile",
        &format!("{ALLOWED}k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n", site.port),
    );
    let lilt = site.up().variable("KUBECONFIG", home.file("kubeconfig")).start();
    // Status needs neither logs nor events nor forwards.
    lilt.wait_until_ready("web");
    lilt.wait_for_line("web │ log lost: the cluster does not allow you to read the log of pod web-");
    lilt.wait_for_line("cannot get resource \"pods/log\"");
    assert_eq!(lilt_e2e::page::get(site.port, "/"), None);
    lilt.wait_for_line("web │ ERROR: the cluster does not allow you to forward ports of pod web-");
    lilt.wait_for_line("resource \"pods/portforward\"");
    // Nothing of the log is lost when the right comes later.
    somebody(&site.namespace, &everything_here());
    lilt.wait_for_words("web", "said");
    lilt.quit();

    // Without a look at the pods there is no status; who may not look is told so.
    let rules = json!([{"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]}]);
    let home = somebody(&site.namespace, &rules);
    let lilt = site.up().variable("KUBECONFIG", home.file("kubeconfig")).start();
    shows(&lilt, "web", "pending", &["cannot be seen: the cluster does not allow you to watch pods"]);
    lilt.wait_for_line("web │ WARNING: the pods of namespace");
    // It is seen as soon as it is allowed.
    somebody(&site.namespace, &everything_here());
    lilt.wait_until_ready("web");
    lilt.quit();
}
