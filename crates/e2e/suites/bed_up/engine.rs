//! Decisions of the engine about cluster resources: disabling, enabling, failing jobs.

use lilt_e2e::page::post;
use lilt_e2e::site::Site;
use lilt_testbed_env::eventually;
use serde_json::json;

#[test]
fn disabled_resource_is_deleted_and_enabled_one_redeployed() {
    let site = Site::new("switch");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &site.idle("web"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    assert!(site.exists("deployment/web"));
    let switch = |enable: &[&str], disable: &[&str]| {
        let request = json!({"type": "switch", "enable": enable, "disable": disable});
        assert_eq!(post(lilt.port(), "/api/request", &request).0, 200);
    };
    switch(&[], &["web"]);
    lilt.wait_until("web", "is disabled", |it| it["status"]["disableStatus"]["state"] == "Disabled");
    eventually("its deployment is gone", || (!site.exists("deployment/web")).then_some(()));
    switch(&["web"], &[]);
    lilt.wait_for_log_line("web", "Initial Build (enabled)");
    lilt.wait_until_ready("web");
    assert!(site.exists("deployment/web"));
    lilt.quit();
}

/// Like pods of an operator.
#[test]
fn unapplied_pods_are_matched_by_labels() {
    let site = Site::new("selectors");
    site.project.write("note.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n");
    let tiltfile = "k8s_yaml('note.yaml')\n\
        k8s_resource(new_name='op', objects=['note:configmap'], extra_pod_selectors={'made-by': 'op'})\n";
    site.project.write("Tiltfile", tiltfile);
    let lilt = site.up().start();
    lilt.wait_until("op", "waits for pods", |it| it["status"]["runtimeStatus"] == "pending");
    let run = ["run", "made", "--image=busybox", "--labels=made-by=op", "--restart=Never", "--"];
    site.namespace.kubectl(&[&run[..], &["sh", "-c", "echo said by a pod; exec sleep 987"]].concat());
    lilt.wait_for_log_line("op", "said by a pod");
    lilt.wait_until_ready("op");
    lilt.quit();
}

#[test]
fn ci_exits_1_on_first_failed_job_pod_with_last_lines() {
    let site = Site::new("ci-job-fails");
    let job = "apiVersion: batch/v1
kind: Job
metadata: {name: test}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox, command: [sh, -c, 'echo case 7 failed; exit 3']}
";
    site.project.write("Tiltfile", "k8s_yaml('job.yaml')\n");
    site.project.write("job.yaml", job);
    let ended = site.ci().run().expect_clean_exit(1);
    let complaint = ended.stderr();
    assert!(complaint.starts_with("Error: test: pod test-"), "{complaint}");
    assert!(complaint.contains("exited with code 3"), "{complaint}");
    assert!(complaint.contains("  case 7 failed\n"), "{complaint}");
}
