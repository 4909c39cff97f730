//! `k8s_custom_deploy` and `helm_resource`.

use lilt_e2e::lilt::Lilt;
use lilt_e2e::page::post;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};
use serde_json::json;

fn switch(lilt: &Lilt, enable: &[&str], disable: &[&str]) {
    let request = json!({"type": "switch", "enable": enable, "disable": disable});
    assert_eq!(post(lilt.port(), "/api/request", &request).0, 200);
}

fn gone(site: &Site, object: &str) {
    eventually(&format!("{object} is gone"), || (!site.exists(object)).then_some(()));
}

#[test]
fn custom_deploy_deploys_built_image_and_deletes() {
    let site = Site::new("deploy");
    let image = site.image();
    let tiltfile = format!(
        "docker_build('{image}', 'app', live_update=[sync('app/www', '/www')])\n\
         k8s_custom_deploy('web', deps=['web.yaml'], image_deps=['{image}'], apply_env={{'WHO': 'me'}},\n    \
         apply_cmd='echo $WHO deploys $TILT_IMAGE_MAP_0 >&2; sed s,IMAGE,$TILT_IMAGE_0, web.yaml | kubectl apply -o yaml -f -',\n    \
         delete_cmd='echo deleting; kubectl delete --ignore-not-found -f web.yaml')\n\
         k8s_resource('web', port_forwards='{}:8080')\n",
        site.port
    );
    site.project.write("web.yaml", &site.yaml("web", "IMAGE"));
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_log_line("web", &format!("me deploys {image}"));
    lilt.wait_for_line("→ web:deployment");
    let container = ".spec.template.spec.containers[0].image";
    let deployed = site.read("deployment/web", container);
    assert!(deployed.starts_with(&format!("{}/{image}:tilt-", Testbed::get().registry())), "{deployed}");

    // The image takes live updates as any other; what the command depends on runs it again.
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(site.only_pod(), pod);
    let output_end = lilt.output_end();
    let yaml = site.yaml("web", "IMAGE").replace("image:", "env: [{name: MORE, value: 'yes'}], image:");
    site.project.write("web.yaml", &yaml);
    lilt.wait_for_log_line_after(output_end, "web", "1 File Changed: [web.yaml]");
    eventually("another pod is there", || (site.only_pod() != pod).then_some(()));
    site.serves("two");
    lilt.wait_until_ready("web");

    // A trigger recreates it.
    let uid = site.read("deployment/web", ".metadata.uid");
    let output_end = lilt.output_end();
    lilt.click("web");
    lilt.wait_for_log_line_after(output_end, "web", "deleting");
    eventually("it is another deployment", || {
        let read = ["get", "deployment/web", "-o", "jsonpath={.metadata.uid}"];
        site.namespace.try_kubectl(&read).ok().filter(|now| *now != uid)
    });
    lilt.wait_until_ready("web");
    site.serves("two");

    switch(&lilt, &[], &["web"]);
    gone(&site, "deployment/web");
    switch(&lilt, &["web"], &[]);
    lilt.wait_until_ready("web");
    site.serves("two");
    site.project.write("Tiltfile", "local_resource('other', 'true')\n");
    gone(&site, "deployment/web");
    lilt.quit();
}

#[test]
fn custom_deploy_takes_live_updates_by_selector() {
    for (topic, selector) in
        [("by-name", "container_selector='main'"), ("by-image", "image_selector='busybox'")]
    {
        let site = Site::new(topic);
        let container = "image: busybox, command: [sh, -c, 'mkdir /www; exec httpd -f -p 8080 -h /www']}";
        site.project.write("web.yaml", &site.yaml("web", "busybox").replace("image: busybox}", container));
        let tiltfile = format!(
            "k8s_custom_deploy('web', deps=['web.yaml', 'app'], apply_cmd='kubectl apply -o yaml -f web.yaml',\n    \
             delete_cmd='kubectl delete -f web.yaml', {selector}, live_update=[sync('app/www', '/www')])\n\
             k8s_resource('web', port_forwards='{}:8080')\n",
            site.port
        );
        site.project.write("Tiltfile", &tiltfile);
        let lilt = site.up().start();
        lilt.wait_until_ready("web");
        let pod = site.only_pod();
        site.project.write("app/www/index.html", "two\n");
        site.serves("two");
        assert_eq!(site.only_pod(), pod);
        lilt.has_lines("Running cmd: kubectl apply", 1);
        let output_end = lilt.output_end();
        site.project.write("app/words.txt", "beside the sync\n");
        lilt.wait_for_line_after(output_end, "Running cmd: kubectl apply");
        lilt.wait_until_ready("web");
        lilt.quit();
    }
}

#[test]
fn custom_deploy_errors_are_reported() {
    let site = Site::new("deploy-bad");
    let with = |apply: &str| {
        let deploy = format!("k8s_custom_deploy('web', apply_cmd='{apply}', delete_cmd='true', deps=[])\n");
        site.project.write("Tiltfile", &format!("update_settings(k8s_upsert_timeout_secs=2)\n{deploy}"));
    };
    with("echo half; echo to the log >&2; exit 7");
    let lilt = site.up().start();
    lilt.wait_for_log_line("web", "ERROR: Build Failed: apply command failed: exit status 7");
    lilt.wait_for_log_line("web", "to the log");
    lilt.wait_for_log_line("web", "half");
    with("echo installed");
    lilt.wait_for_line("apply command returned malformed YAML: ");
    with("echo {apiVersion: v1, kind: Service, metadata: {name: nobody}}");
    lilt.wait_for_line("ERROR: Build Failed: nobody:service is not in the cluster");
    with("exec sleep 987");
    lilt.wait_for_log_line("web", "ERROR: Build Failed: apply command timed out after 2s");
    lilt.wait_for_line("hint: update_settings(k8s_upsert_timeout_secs=…) gives it more time");
    assert!(lilt.processes().is_empty(), "it was ended");
    // Empty output is valid: a chart may be empty.
    with("true");
    lilt.wait_until_ready("web");
    lilt.quit();
}

const CHART: &str = "apiVersion: v2\nname: site\nversion: 0.1.0\n";

#[test]
fn helm_installs_upgrades_and_uninstalls() {
    let site = Site::new("helm");
    let image = site.image();
    let template = site.yaml("web", "'{{ .Values.image.repository }}:{{ .Values.image.tag }}'");
    site.project.write("chart/Chart.yaml", CHART);
    site.project.write("chart/values.yaml", "image: {repository: none, tag: none}\nnote: first\n");
    let note =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {note: '{{ .Values.note }}'}\n";
    site.project.write("chart/templates/all.yaml", &format!("{template}---\n{note}"));
    let tiltfile = format!(
        "load('ext://helm_resource', 'helm_resource')\n\
         docker_build('{image}', 'app')\n\
         helm_resource('site', 'chart', deps=['chart'], image_deps=['{image}'],\n    \
         image_keys=[('image.repository', 'image.tag')], port_forwards=['{}:8080'])\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("site");
    site.serves("one");
    assert_eq!(site.read("configmap/note", ".data.note"), "first");
    site.project.write("chart/values.yaml", "image: {repository: none, tag: none}\nnote: second\n");
    eventually("the release is upgraded", || {
        (site.read("configmap/note", ".data.note") == "second").then_some(())
    });
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_until_ready("site");

    // Deleted objects of a command are drift, and recreated by the next update.
    site.namespace.kubectl(&["delete", "configmap", "note"]);
    lilt.wait_for_line("was deleted in the cluster; the next update puts it right");
    site.project.write("chart/values.yaml", "image: {repository: none, tag: none}\nnote: third\n");
    eventually("it is there again", || {
        let read = ["get", "configmap/note", "-o", "jsonpath={.data.note}"];
        site.namespace.try_kubectl(&read).is_ok_and(|note| note == "third").then_some(())
    });
    lilt.wait_until_ready("site");

    // So are changes of fields that the chart sets, but not of others.
    let output_end = lilt.output_end();
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=2"]);
    site.namespace.kubectl(&[
        "patch",
        "configmap/note",
        "-p",
        "{\"data\":{\"note\":\"mine\",\"more\":\"mine\"}}",
    ]);
    let message = lilt.wait_for_line_after(output_end, "was changed in the cluster");
    assert!(message.contains("data.note: third → mine") && !message.contains("more"), "{message}");
    site.project.write("chart/values.yaml", "image: {repository: none, tag: none}\nnote: fourth\n");
    eventually("it is put right", || (site.read("configmap/note", ".data.note") == "fourth").then_some(()));
    lilt.wait_until("site", "has no drift", |it| it["metadata"]["annotations"]["lilt.dev/drift"].is_null());
    lilt.wait_until_ready("site");
    lilt.quit();
    assert!(site.exists("deployment/web"));
    site.down().run().expect_clean_exit(0);
    gone(&site, "deployment/web");
    gone(&site, "configmap/note");
}
