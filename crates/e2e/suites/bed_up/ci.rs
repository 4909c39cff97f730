//! `lilt ci` on a cluster: 0 when everything is ready, 1 with the cause when something is broken.

use lilt_e2e::bed::Site;

/// A deployment whose container prints something and ends. It is never ready, not even for the moment it runs.
fn crashing(site: &Site) -> String {
    let yaml = site.shell("web", "echo crashing now; exit 3");
    yaml.replace("image: busybox", "readinessProbe: {exec: {command: ['false']}}, image: busybox")
}

#[test]
fn ready_is_0() {
    let site = Site::new("ci");
    let ended = site.ci().run().clean(0);
    let printed = ended.output();
    assert!(printed.contains("web │ STEP 3/3 — Deploying\n"), "{printed}");
    assert!(printed.ends_with("SUCCESS. All workloads are healthy.\n"), "{printed}");
    assert_eq!(site.read("deployment/web", ".status.readyReplicas"), "1");
}

#[test]
fn a_crashing_pod_is_1() {
    let site = Site::new("ci-crash");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &crashing(&site));
    let ended = site.ci().run().clean(1);
    let complaint = ended.stderr();
    assert!(complaint.starts_with("Error: web: pod web-"), "{complaint}");
    ended.says("          web │ crashing now\n");
}

#[test]
fn an_image_that_is_not_there_is_1() {
    let site = Site::new("ci-pull");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &site.yaml("web", "no-such-image-anywhere"));
    let ended = site.ci().run().clean(1);
    let complaint = ended.stderr();
    assert!(complaint.contains("ErrImagePull") || complaint.contains("ImagePullBackOff"), "{complaint}");
    assert!(complaint.contains("no-such-image-anywhere"), "{complaint}");
}

#[test]
fn a_dockerfile_that_fails_is_1() {
    let site = Site::new("ci-docker");
    site.project.write("app/Dockerfile", "FROM busybox\n\nRUN echo about to fail; exit 5\n");
    let ended = site.ci().run().clean(1);
    let complaint = ended.stderr();
    assert!(complaint.contains("app/Dockerfile:3"), "{complaint}");
    assert!(
        complaint.contains("`RUN echo about to fail; exit 5` failed with exit code 5\nabout to fail"),
        "{complaint}"
    );
    ended.says("about to fail").says("web │ ERROR: Build Failed: ");
    assert!(!site.exists("deployment/web"));
}

/// Ready means that the pods of this deployment are, not those of the one before.
#[test]
fn pods_of_the_deployment_before_do_not_count() {
    let site = Site::new("ci-again");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    site.project.write("web.yaml", &site.idle("web"));
    site.ci().run().clean(0);
    site.project.write("web.yaml", &crashing(&site));
    site.ci().run().clean(1);
}

/// A job is done when it has ended, and what it printed is shown to the last line.
#[test]
fn a_job_is_shown_to_its_end() {
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
    let printed = site.ci().run().clean(0).output();
    let cases = printed.lines().filter(|line| line.starts_with("         test │ case ")).count();
    assert_eq!(cases, 300);
    assert!(printed.contains("         test │ all passed\n"));
}
