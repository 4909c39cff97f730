//! The runtime status of pods, with the events that explain it.

use lilt_e2e::lilt::Start;
use lilt_e2e::site::Site;
use lilt_e2e::workload::{SLEEP, deployment, project, wait_for_runtime_status};
use lilt_testbed_env::{Namespace, Testbed, eventually};
use serde_json::{Value, json};

#[test]
fn pod_problems_are_explained_with_their_event() {
    let namespace = Testbed::get().namespace("status");
    let troubles = [
        deployment("crash", "echo oh no; exit 3", |_| {}),
        deployment("oom", "x=a; while true; do x=$x$x; done", |spec| {
            spec["containers"][0]["resources"] = json!({"limits": {"memory": "20Mi"}});
        }),
        deployment("image", SLEEP, |spec| spec["containers"][0]["image"] = json!("no-such-image:of-lilt")),
        deployment("nowhere", SLEEP, |spec| spec["nodeSelector"] = json!({"no-such": "node"})),
        deployment("unready", SLEEP, |spec| {
            let exec = json!({"command": ["sh", "-c", "echo not today; exit 1"]});
            spec["containers"][0]["readinessProbe"] = json!({"exec": exec, "periodSeconds": 1});
        }),
        deployment("dead", SLEEP, |spec| {
            let exec = json!({"command": ["sh", "-c", "echo not alive; exit 1"]});
            spec["containers"][0]["livenessProbe"] =
                json!({"exec": exec, "periodSeconds": 1, "failureThreshold": 1});
        }),
        deployment("init", SLEEP, |spec| {
            spec["initContainers"] =
                json!([{"name": "prepare", "image": "busybox", "command": ["sh", "-c", "exit 7"]}]);
        }),
        deployment("volume", SLEEP, |spec| {
            spec["volumes"] = json!([{"name": "settings", "configMap": {"name": "absent"}}]);
            spec["containers"][0]["volumeMounts"] = json!([{"name": "settings", "mountPath": "/s"}]);
        }),
        deployment("secret", SLEEP, |spec| {
            spec["containers"][0]["envFrom"] = json!([{"secretRef": {"name": "absent"}}]);
        }),
        deployment("program", "", |spec| spec["containers"][0]["command"] = json!(["/no/such/program"])),
    ];
    let project = project(&troubles, "");
    let lilt = Start::up(&project).in_namespace(&namespace).start();

    wait_for_runtime_status(
        &lilt,
        "crash",
        "error",
        &["CrashLoopBackOff", "container main exited with code 3", "restarted"],
    );
    lilt.wait_for_line("crash │ Detected container restart. Pod: crash-");
    wait_for_runtime_status(&lilt, "oom", "error", &["OOMKilled: it used more memory than its limit"]);
    wait_for_runtime_status(&lilt, "image", "error", &["no-such-image:of-lilt"]);
    lilt.wait_for_line(&format!("image │ [event: pod {}/image-", namespace.name()));
    wait_for_runtime_status(&lilt, "nowhere", "pending", &["Pending", "nodes are available"]);
    wait_for_runtime_status(
        &lilt,
        "unready",
        "pending",
        &["Running, not ready: Readiness probe failed: not today"],
    );
    wait_for_runtime_status(
        &lilt,
        "dead",
        "error",
        &["CrashLoopBackOff", "Liveness probe failed: not alive"],
    );
    wait_for_runtime_status(
        &lilt,
        "init",
        "error",
        &["Init:CrashLoopBackOff", "container prepare exited with code 7"],
    );
    wait_for_runtime_status(&lilt, "volume", "pending", &["configmap \"absent\" not found"]);
    wait_for_runtime_status(
        &lilt,
        "secret",
        "error",
        &["CreateContainerConfigError", "secret \"absent\" not found"],
    );
    wait_for_runtime_status(&lilt, "program", "error", &["/no/such/program"]);
    lilt.quit();
}

fn set_status(namespace: &Namespace, pod: &str, status: &Value) {
    let patch = json!({"status": status}).to_string();
    namespace.kubectl(&["patch", "pod", pod, "--subresource=status", "--type=merge", "-p", &patch]);
}

#[test]
fn evicted_pod_counts_until_replaced() {
    let namespace = Testbed::get().namespace("evicted");
    let bare = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"},
        "spec": {"nodeSelector": {"no-such": "node"}, "containers": [{"name": "main", "image": "busybox"}]},
    });
    let web = deployment("web", SLEEP, |spec| spec["schedulerName"] = json!("nobody"));
    let project = project(&[bare, web], "");
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    wait_for_runtime_status(&lilt, "bare", "pending", &["nodes are available"]);
    let evicted =
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
    set_status(&namespace, "bare", &evicted);
    wait_for_runtime_status(
        &lilt,
        "bare",
        "error",
        &["pod bare: Evicted: The node was low on resource: memory."],
    );

    // The deployment replaces it, and the new pod counts.
    let pod = lilt.wait_until("web", "has a pod", |it| it["status"]["k8sResourceInfo"]["podName"] != "");
    let pod = pod["status"]["k8sResourceInfo"]["podName"].as_str().expect("a name").to_owned();
    set_status(&namespace, &pod, &evicted);
    lilt.wait_until("web", "has another pod", |it| {
        let name = it["status"]["k8sResourceInfo"]["podName"].as_str().unwrap_or_default();
        name != pod && !name.is_empty() && it["status"]["runtimeStatus"] == "pending"
    });
    lilt.quit();
}

#[test]
fn exceeded_quota_is_shown_until_there_is_room() {
    let namespace = Testbed::get().namespace("quota");
    namespace.kubectl(&["create", "quota", "small", "--hard=pods=0"]);
    let project = project(&[deployment("web", SLEEP, |_| {})], "");
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    let said = ["no pod yet: FailedCreate: ", "exceeded quota: small"];
    wait_for_runtime_status(&lilt, "web", "pending", &said);
    lilt.wait_for_line(&format!("web │ [event: replicaset {}/web-", namespace.name()));
    lilt.quit();

    // A later session shows it, too, although the event is old.
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    wait_for_runtime_status(&lilt, "web", "pending", &said);
    namespace.kubectl(&["delete", "quota", "small"]);
    // The controller tries again after a while that grows; this lets it try now.
    namespace.kubectl(&["rollout", "restart", "deployment/web"]);
    lilt.wait_until_ready("web");
    lilt.quit();
}

#[test]
fn job_status_shows_failure_and_keeps_success() {
    let namespace = Testbed::get().namespace("jobs");
    let job = |name: &str, line: &str| {
        let container = json!({"name": "main", "image": "busybox", "command": ["sh", "-c", line]});
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        })
    };
    let project = project(&[job("good", "echo done"), job("bad", "echo cannot; exit 9")], "");
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    wait_for_runtime_status(&lilt, "bad", "error", &["pod bad-", "container main exited with code 9"]);
    lilt.wait_for_log_line("bad", "cannot");
    lilt.wait_until_ready("good");
    lilt.wait_for_log_line("good", "done");
    namespace.kubectl(&["delete", "pods", "-l", "job-name=good"]);
    lilt.wait_until("good", "has lost its pod and stays good", |it| {
        it["status"]["k8sResourceInfo"]["podName"].as_str().is_none_or(str::is_empty)
            && it["status"]["runtimeStatus"] == "ok"
    });
    lilt.quit();
}

#[test]
fn crashing_image_is_fixed_by_next_save() {
    let site = Site::new("crashing");
    let good = site.project.read("app/Dockerfile");
    let bad = good.replace("\"httpd\", \"-f\"", "\"sh\", \"-c\", \"echo cannot serve; exit 5\", \"-f\"");
    assert_ne!(good, bad);
    site.project.write("app/Dockerfile", &bad);
    let lilt = site.up().start();
    lilt.wait_for_log_line("web", "cannot serve");
    wait_for_runtime_status(&lilt, "web", "error", &["container main exited with code 5"]);
    site.project.write("app/Dockerfile", &good);
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.quit();
}

#[test]
fn deleted_namespace_is_recreated_on_trigger() {
    let site = Site::new("deleted");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let name = site.namespace.name().to_owned();
    Testbed::get().kubectl(&["delete", "namespace", &name]);
    lilt.wait_until("web", "has no pod", |it| {
        let pod = it["status"]["k8sResourceInfo"]["podName"].as_str().unwrap_or_default();
        pod.is_empty() && it["status"]["runtimeStatus"] == "pending"
    });
    Testbed::get().kubectl(&["create", "namespace", &name]);
    eventually("the namespace has its service account", || site.namespace.get("serviceaccount/default").ok());
    lilt.click("web");
    lilt.wait_until_ready("web");
    site.serves("one");
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.quit();
}
