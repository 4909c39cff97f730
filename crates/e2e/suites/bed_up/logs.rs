//! Logs of containers.

use lilt_e2e::lilt::Start;
use lilt_testbed_env::{Project, Testbed, eventually};

const YAML: &str = r#"
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox
        command: [sh, -c, "echo first line; i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo number $i; done; printf 'no newline'"]
---
apiVersion: v1
kind: Pod
metadata: {name: several}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: istio-init, image: busybox, command: [sh, -c, "echo chatter of the mesh"]}
  - {name: linkerd-init, image: busybox, command: [sh, -c, "echo chatter of the mesh"]}
  - {name: prepare, image: busybox, command: [sh, -c, "echo preparing"]}
  containers:
  - {name: one, image: busybox, command: [sh, -c, "echo from one; exec sleep 987"]}
  - {name: istio-proxy, image: busybox, command: [sh, -c, "echo chatter of the mesh; exec sleep 987"]}
  - {name: linkerd-proxy, image: busybox, command: [sh, -c, "echo chatter of the mesh; exec sleep 987"]}
  - {name: two, image: busybox, command: [sh, -c, "echo from two >&2; exec sleep 987"]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: again}
spec:
  selector: {matchLabels: {app: again}}
  template:
    metadata: {labels: {app: again}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: busybox
        command: [sh, -c, "echo run of a container; test -e /seen/it && exec sleep 987; touch /seen/it; exit 4"]
        volumeMounts: [{name: seen, mountPath: /seen}]
      volumes: [{name: seen, emptyDir: {}}]
"#;

#[test]
fn pod_logs_are_complete_and_attributed() {
    let testbed = Testbed::get();
    let namespace = testbed.namespace("logs");
    let project = Project::new(&[("Tiltfile", "k8s_yaml('all.yaml')\n"), ("all.yaml", YAML)]);
    let lilt = Start::up(&project).in_namespace(&namespace).start();

    // A container that prints and exits: every line, also an unterminated last one.
    lilt.wait_until_ready("short");
    lilt.wait_for_log_line("short", "no newline");
    lilt.wait_for_log_line("short", "first line");
    let printed = lilt.output();
    let numbers: Vec<&str> =
        printed.lines().filter_map(|line| line.strip_prefix("        short │ number ")).collect();
    let expected: Vec<String> = (1..=500).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected, "all lines, once, in order");

    // With several containers each line has the container's name.
    lilt.wait_for_log_line("several", "[prepare] preparing");
    lilt.wait_for_log_line("several", "[one] from one");
    lilt.wait_for_log_line("several", "[two] from two");
    // Like Tilt, logs of service mesh sidecars are omitted.
    assert_eq!(lilt.count("chatter of the mesh"), 0);

    // One that fails and is started again: both runs are shown, and it is ready in the end.
    lilt.wait_until_ready("again");
    eventually(&format!("both runs are shown in:\n{}", lilt.output()), || {
        (lilt.count("again │ run of a container") == 2).then_some(())
    });
    let events = lilt.wait_for_line(&format!("[event: pod {}/again-", namespace.name()));
    assert!(events.contains("again │ [event: pod"), "{events}");
    lilt.quit();
}
