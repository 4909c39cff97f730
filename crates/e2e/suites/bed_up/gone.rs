//! Deleted namespaces, and exceeded quotas.

use lilt_e2e::site::Site;
use lilt_testbed_env::eventually;

/// A project with a namespace of its own.
fn site(topic: &str) -> (Site, String) {
    let site = Site::new(topic);
    let inner = format!("{}-inner", site.namespace.name());
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {inner}}}\n---\n");
    let web = site
        .idle("web")
        .replace("metadata: {name: web}", &format!("metadata: {{name: web, namespace: {inner}}}"));
    site.project.write("web.yaml", &format!("{namespace}{web}"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    (site, inner)
}

fn runs(site: &Site, namespace: &str) -> bool {
    let ready = ["-n", namespace, "get", "deployment/web", "-o", "jsonpath={.status.readyReplicas}"];
    site.namespace.try_kubectl(&ready).is_ok_and(|count| count == "1")
}

#[test]
fn deleted_namespace_is_recreated_by_next_update() {
    let (site, inner) = site("gone");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.namespace.kubectl(&["delete", "namespace", &inner]);
    lilt.wait_until("web", "is missed", |it| {
        it["metadata"]["annotations"]["lilt.dev/drift"].as_str().is_some_and(|it| it.contains("deleted"))
    });
    lilt.click("web");
    eventually("it runs again", || runs(&site, &inner).then_some(()));
    lilt.wait_until_ready("web");
    lilt.quit();
    site.namespace.kubectl(&["delete", "namespace", &inner, "--wait=false"]);
}

#[test]
fn deleted_namespace_is_recreated_at_once_if_configured() {
    let (site, inner) = site("gone-now");
    let tiltfile = format!("update_settings(drift='correct')\n{}", site.project.read("Tiltfile"));
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.namespace.kubectl(&["delete", "namespace", &inner]);
    eventually("it runs again", || runs(&site, &inner).then_some(()));
    lilt.wait_until_ready("web");
    lilt.quit();
    site.namespace.kubectl(&["delete", "namespace", &inner, "--wait=false"]);
}

#[test]
fn exceeded_quota_is_reported_and_others_deploy() {
    let site = Site::new("quota");
    site.namespace.kubectl(&["create", "quota", "small", "--hard=pods=0,configmaps=1"]);
    let maps: String = ["a", "b", "c"]
        .iter()
        .map(|name| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"))
        .collect();
    site.project.write("maps.yaml", &maps);
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write(
        "Tiltfile",
        "k8s_yaml(['web.yaml', 'maps.yaml'])\nlocal_resource('other', 'cat text', deps=['text'])\n",
    );
    let lilt = site.up().start();
    let refused = lilt.wait_for_line("does not fit into the quota");
    assert!(refused.contains("uncategorized │ ERROR: Build Failed: "), "{refused}");
    lilt.wait_for_line("kubectl describe quota");
    // The replica set cannot create its pods.
    lilt.wait_until("web", "says why it has no pod", |it| {
        it["metadata"]["annotations"]["lilt.dev/runtime-message"]
            .as_str()
            .is_some_and(|it| it.contains("quota"))
    });
    site.project.write("text", "others go on\n");
    lilt.wait_for_log_line("other", "others go on");
    site.namespace.kubectl(&["delete", "quota", "small"]);
    site.project.write("web.yaml", &site.idle("web").replace("987", "654"));
    lilt.wait_until_ready("web");
    lilt.quit();
}
