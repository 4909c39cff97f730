//! Drift: objects that others deleted or changed.

use lilt_e2e::lilt::Lilt;
use lilt_e2e::site::Site;
use lilt_testbed_env::eventually;
use serde_json::Value;

fn drift(resource: &Value) -> String {
    resource["metadata"]["annotations"]["lilt.dev/drift"].as_str().unwrap_or_default().to_owned()
}

fn waits_for(lilt: &Lilt, words: &str) {
    lilt.wait_until("web", &format!("has the drift {words:?}"), |it| drift(it).contains(words));
}

fn site(topic: &str) -> Site {
    let site = Site::new(topic);
    let yaml = site.idle("web").replace("spec:\n  selector", "spec:\n  replicas: 1\n  selector");
    site.project.write("web.yaml", &yaml);
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site
}

#[test]
fn drift_is_reported_and_corrected_by_next_update() {
    let site = site("drift");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.namespace.kubectl(&["label", "deployment/web", "theirs=yes"]);
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=2"]);
    waits_for(&lilt, "spec.replicas: 1 → 2");
    lilt.wait_for_line("web │ WARNING: web:deployment");
    assert!(!drift(&lilt.wait_until("web", "is there", |_| true)).contains("theirs"));
    // A manual correction ends the drift.
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=1"]);
    lilt.wait_until("web", "is as it was applied", |it| drift(it).is_empty());
    site.namespace.kubectl(&["delete", "deployment/web"]);
    waits_for(&lilt, "was deleted in the cluster");
    assert!(!site.exists("deployment/web"), "nobody asked for it");
    // Any update corrects it.
    let yaml = site.project.read("web.yaml").replace("replicas: 1", "replicas: 0");
    site.project.write("web.yaml", &yaml);
    lilt.wait_until("web", "is put right", |it| drift(it).is_empty());
    eventually("it is there again", || site.exists("deployment/web").then_some(()));
    lilt.quit();
}

#[test]
fn drift_is_corrected_at_once_if_configured() {
    let site = site("drift-now");
    let tiltfile = format!("update_settings(drift='correct')\n{}", site.project.read("Tiltfile"));
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let before = site.read("deployment/web", ".metadata.uid");
    site.namespace.kubectl(&["delete", "deployment/web"]);
    lilt.wait_for_line("web │ Put Right: ");
    eventually("another one is there", || {
        let found = site.namespace.get("deployment/web").ok()?;
        (found["metadata"]["uid"] != before).then_some(())
    });
    lilt.wait_until_ready("web");
    lilt.quit();
}

#[test]
fn deleted_finished_job_is_no_drift() {
    let site = Site::new("drift-job");
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec:\n  ttlSecondsAfterFinished: 0\n  template:\n    \
        spec:\n      restartPolicy: Never\n      containers:\n      - {name: main, image: busybox, command: ['true']}\n";
    site.project.write("web.yaml", job);
    site.project
        .write("Tiltfile", "k8s_yaml('web.yaml')\nlocal_resource('other', 'cat text', deps=['text'])\n");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    eventually("the job is gone", || (!site.exists("job/web")).then_some(()));
    // A later change was seen, so the earlier one was, too.
    site.project.write("text", "others go on\n");
    lilt.wait_for_log_line("other", "others go on");
    assert_eq!(drift(&lilt.wait_until_ready("web")), "");
    lilt.quit();
}
