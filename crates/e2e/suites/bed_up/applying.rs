//! How objects are applied: field conflicts, unchanged objects, recreated objects.

use lilt_e2e::site::Site;
use lilt_testbed_env::eventually;

#[test]
fn every_apply_mode_deploys_and_logs_field_conflicts() {
    let site = Site::new("modes");
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.namespace.kubectl(&["apply", "-f", &site.project.file("web.yaml").display().to_string()]);
    let lilt = site.up().start();
    lilt.wait_for_line("took over what kubectl-client-side-apply had applied");
    lilt.wait_until_ready("web");
    // This machine merges, as Tilt does.
    let output_end = lilt.output_end();
    site.project.write("web.yaml", &site.shell("web", "exec sleep 654"));
    site.project.write("Tiltfile", "update_settings(k8s_server_side_apply='false')\nk8s_yaml('web.yaml')\n");
    lilt.wait_for_line_after(output_end, "Objects applied to cluster:");
    eventually("it notes what it applied", || {
        let path = ".metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration";
        Some(site.read("deployment/web", path)).filter(|text| text.contains("sleep 654"))
    });
    // The API server merges, and nobody else: what was noted of the other way is taken over.
    let output_end = lilt.output_end();
    site.project.write("web.yaml", &site.shell("web", "exec sleep 321"));
    site.project.write("Tiltfile", "update_settings(k8s_server_side_apply='true')\nk8s_yaml('web.yaml')\n");
    lilt.wait_for_line_after(output_end, "Objects applied to cluster:");
    eventually("it is applied by the API server", || {
        let command = site.read("deployment/web", ".spec.template.spec.containers[0].command");
        let entries =
            site.read("deployment/web", ".metadata.managedFields[?(@.manager==\"tilt\")].operation");
        (command.contains("sleep 321") && entries.contains("Apply")).then_some(())
    });
    lilt.wait_until_ready("web");
    assert!(!lilt.output().contains("not supported yet"), "{}", lilt.output());
    lilt.quit();
}

#[test]
fn second_session_skips_unchanged_objects() {
    let site = Site::new("second");
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    let fields = || site.namespace.kubectl(&["get", "deployment/web", "-o", "yaml", "--show-managed-fields"]);
    let first = site.up().start();
    first.wait_until_ready("web");
    let home = first.home().to_owned();
    first.quit();
    let before = fields();
    let second = site.up().variable("XDG_CACHE_HOME", home.join("cache")).start();
    second.wait_for_line("→ web:deployment (unchanged)");
    second.wait_until_ready("web");
    assert_eq!(before, fields());
    second.quit();
}

#[test]
fn trigger_deletes_and_recreates_objects() {
    let site = Site::new("anew");
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n---\n";
    site.project.write("web.yaml", &format!("{config}{}", site.idle("web")));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\nk8s_resource('web', objects=['web:configmap'])\n");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let (workload, data) =
        (site.read("deployment/web", ".metadata.uid"), site.read("configmap/web", ".metadata.uid"));
    lilt.click("web");
    eventually("another deployment is there", || {
        let found = site.namespace.get("deployment/web").ok()?;
        (found["metadata"]["uid"] != workload).then_some(())
    });
    assert_eq!(site.read("configmap/web", ".metadata.uid"), data, "what holds data stays");
    lilt.wait_until_ready("web");
    lilt.quit();
}

#[test]
fn manual_edits_stay_until_triggered_update() {
    let site = Site::new("edited");
    let map = |value: &str| {
        let once = "apiVersion: v1\nkind: Secret\nmetadata: {name: once, annotations: {lilt.dev/create-once: 'true'}}\n";
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map}}\ndata: {{a: '{value}', b: '{value}'}}\n---\n\
            {once}stringData: {{password: 'very-{value}'}}\n"
        )
    };
    site.project.write("web.yaml", &map("1"));
    site.project.write(
        "Tiltfile",
        "k8s_yaml('web.yaml')\nk8s_resource(new_name='web', objects=['map:configmap', 'once:secret'])\n",
    );
    let lilt = site.up().start();
    lilt.wait_until("web", "is applied", |it| it["status"]["updateStatus"] == "ok");
    let by_hand = "{\"data\":{\"a\":\"by hand\"}}";
    site.namespace.kubectl(&["patch", "configmap/map", "--type=merge", "-p", by_hand]);
    site.project.write("web.yaml", &map("2"));
    lilt.wait_for_line("kept what was changed in the cluster by kubectl-patch (.data.a)");
    lilt.wait_for_line("data.password: [redacted] → [redacted, other]");
    eventually("the other one is applied", || (site.read("configmap/map", ".data.b") == "2").then_some(()));
    assert_eq!(site.read("configmap/map", ".data.a"), "by hand");
    lilt.click("web");
    eventually("it is overwritten", || (site.read("configmap/map", ".data.a") == "2").then_some(()));
    // "very-1"
    assert_eq!(site.read("secret/once", ".data.password"), "dmVyeS0x");
    lilt.quit();
}
