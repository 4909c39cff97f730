//! `lilt ci` on a cluster: 0 when everything is ready, 1 with the cause when something is broken.

use lilt_e2e::site::Site;

/// A deployment whose container prints something and exits. It is never ready.
fn crashing(site: &Site) -> String {
    let yaml = site.shell("web", "echo crashing now; exit 3");
    yaml.replace("image: busybox", "readinessProbe: {exec: {command: ['false']}}, image: busybox")
}

#[test]
fn ci_exits_0_when_ready() {
    let site = Site::new("ci");
    let ended = site.ci().run().expect_clean_exit(0);
    let printed = ended.output();
    assert!(printed.contains("web │ STEP 3/3 — Deploying\n"), "{printed}");
    assert!(printed.ends_with("SUCCESS. All workloads are healthy.\n"), "{printed}");
    assert_eq!(site.read("deployment/web", ".status.readyReplicas"), "1");
}

#[test]
fn ci_exits_1_on_crash_loop() {
    let site = Site::new("ci-crash");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &crashing(&site));
    let ended = site.ci().run().expect_clean_exit(1);
    let complaint = ended.stderr();
    assert!(complaint.starts_with("Error: web: pod web-"), "{complaint}");
    ended.expect_output("          web │ crashing now\n");
}

#[test]
fn ci_exits_1_on_missing_image() {
    let site = Site::new("ci-pull");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &site.yaml("web", "no-such-image-anywhere"));
    let ended = site.ci().run().expect_clean_exit(1);
    let complaint = ended.stderr();
    assert!(complaint.contains("ErrImagePull") || complaint.contains("ImagePullBackOff"), "{complaint}");
    assert!(complaint.contains("no-such-image-anywhere"), "{complaint}");
}

#[test]
fn ci_exits_1_on_failing_dockerfile() {
    let site = Site::new("ci-docker");
    site.project.write("app/Dockerfile", "FROM busybox\n\nRUN echo about to fail; exit 5\n");
    let ended = site.ci().run().expect_clean_exit(1);
    let complaint = ended.stderr();
    assert!(complaint.contains("app/Dockerfile:3"), "{complaint}");
    assert!(
        complaint.contains("`RUN echo about to fail; exit 5` failed with exit code 5\nabout to fail"),
        "{complaint}"
    );
    ended.expect_output("about to fail").expect_output("web │ ERROR: Build Failed: ");
    assert!(!site.exists("deployment/web"));
}

/// Only pods of the current deployment count, not those of the former one.
#[test]
fn ci_ignores_pods_of_earlier_deployment() {
    let site = Site::new("ci-again");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &site.idle("web"));
    site.ci().run().expect_clean_exit(0);
    site.project.write("web.yaml", &crashing(&site));
    site.ci().run().expect_clean_exit(1);
}

/// A job is done when it has ended, and what it printed is shown to the last line.
#[test]
fn ci_prints_job_log_to_its_end() {
    let site = Site::new("ci-job");
    let job = "apiVersion: batch/v1
kind: Job
metadata: {name: test}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox, command: [sh, -c, 'for i in $(seq 300); do echo case $i; done; echo all passed']}
";
    site.project.write("Tiltfile", "k8s_yaml('job.yaml')\n");
    site.project.write("job.yaml", job);
    let printed = site.ci().run().expect_clean_exit(0).output();
    let cases = printed.lines().filter(|line| line.starts_with("         test │ case ")).count();
    assert_eq!(cases, 300);
    assert!(printed.contains("         test │ all passed\n"));
}
