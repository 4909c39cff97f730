//! Workloads other than deployments, and pods created by others.

use lilt_e2e::lilt::Start;
use lilt_e2e::workload::{project, wait_for_runtime_status, workload};
use lilt_testbed_env::{Project, Testbed, eventually};
use serde_json::{Value, json};

#[test]
fn stateful_and_daemon_sets_are_ready_when_all_pods_are() {
    let namespace = Testbed::get().namespace("sets");
    let mut stateful = workload("StatefulSet", "numbered", "echo I am $HOSTNAME; exec sleep 987", |_| {});
    stateful["spec"]["replicas"] = json!(2);
    stateful["spec"]["serviceName"] = json!("numbered");
    let daemon = workload("DaemonSet", "everywhere", "echo here; exec sleep 987", |_| {});
    let waiting = workload("Deployment", "half", "echo up; exec sleep 987", |spec| {
        // The second of two finds no room beside the first.
        let label = json!({"matchLabels": {"app": "half"}});
        spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!([{"labelSelector": label, "topologyKey": "kubernetes.io/hostname"}]);
    });
    let mut half = waiting;
    half["spec"]["replicas"] = json!(2);
    let project = project(&[stateful, daemon, half], "");
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    lilt.wait_until_ready("numbered");
    lilt.wait_for_log_line("numbered", "I am numbered-0");
    lilt.wait_for_log_line("numbered", "I am numbered-1");
    lilt.wait_until_ready("everywhere");
    lilt.wait_for_log_line("everywhere", "here");
    lilt.wait_for_log_line("half", "up");
    wait_for_runtime_status(&lilt, "half", "pending", &["Pending", "nodes are available"]);
    namespace.kubectl(&["scale", "deployment/half", "--replicas=1"]);
    lilt.wait_until_ready("half");
    lilt.quit();
}

#[test]
fn pods_of_cron_job_are_shown() {
    let namespace = Testbed::get().namespace("cron");
    let container = json!({"name": "main", "image": "busybox", "command": ["sh", "-c", "echo it is time"]});
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
        "spec": {
            // Never by itself while the test runs.
            "schedule": "0 0 29 2 *",
            "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}},
        },
    });
    let project = project(&[cron], "");
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    lilt.wait_until_ready("tick");
    // As the controller makes it, with the cron job as its owner.
    namespace.kubectl(&["create", "job", "tick-1", "--from=cronjob/tick"]);
    lilt.wait_for_log_line("tick", "it is time");
    lilt.wait_until("tick", "shows its pod", |it| {
        it["status"]["k8sResourceInfo"]["podName"].as_str().unwrap_or_default().starts_with("tick-1-")
    });
    lilt.quit();
}

/// A definition of two kinds, removed with the test.
struct Kinds {
    group: String,
}

impl Kinds {
    fn define(group: &str) -> Kinds {
        for kind in ["Engine", "Piston"] {
            let plural = format!("{}s", kind.to_lowercase());
            let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let object = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {
                    "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
                },
            });
            let file = Project::new(&[("crd.json", &object.to_string())]);
            Testbed::get().kubectl(&["apply", "-f", &file.file("crd.json").to_string_lossy()]);
        }
        let kinds = Kinds { group: group.to_owned() };
        for plural in ["engines", "pistons"] {
            let name = format!("crd/{plural}.{group}");
            Testbed::get().kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &name]);
        }
        kinds
    }
}

impl Drop for Kinds {
    fn drop(&mut self) {
        for plural in ["engines", "pistons"] {
            let name = format!("{plural}.{}", self.group);
            let _ =
                Testbed::get().try_kubectl(&["delete", "crd", &name, "--wait=false", "--ignore-not-found"]);
        }
    }
}

/// Creates an object with an owner, like an operator.
fn owned(api_version: &str, kind: &str, name: &str, owner: (&str, &str, &str, &str)) -> Value {
    let (owner_version, owner_kind, owner_name, uid) = owner;
    let reference =
        json!({"apiVersion": owner_version, "kind": owner_kind, "name": owner_name, "uid": uid.trim()});
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "ownerReferences": [reference]}})
}

#[test]
fn pods_of_operator_are_found_through_unknown_kinds() {
    let namespace = Testbed::get().namespace("operator");
    let group = format!("{}.lilt.test", namespace.name());
    let version = format!("{group}/v1");
    let _kinds = Kinds::define(&group);
    let engine = |name: &str| json!({"apiVersion": version, "kind": "Engine", "metadata": {"name": name}});
    let kinds = "k8s_kind('Engine', pod_readiness='wait')\nk8s_resource('calm', pod_readiness='ignore')\n\
                 k8s_resource('picked', extra_pod_selectors=[{'piston-of': 'picked'}], discovery_strategy='selectors-only')\n";
    let project = project(&[engine("loud"), engine("calm"), engine("picked")], kinds);
    // A kind is known from the beginning of the load on.
    let text = project.read("Tiltfile");
    let (yaml, rest) = text.split_once('\n').expect("two lines");
    let (kind, more) = rest.split_once('\n').expect("two more");
    project.write("Tiltfile", &format!("{kind}\n{yaml}\n{more}"));
    let create = |object: &Value| {
        let file = Project::new(&[("object.json", &object.to_string())]);
        namespace.kubectl(&["create", "-f", &file.file("object.json").to_string_lossy()]);
    };
    let uid = |name: &str| namespace.kubectl(&["get", name, "-o", "jsonpath={.metadata.uid}"]);
    let engines = format!("engines.{group}");
    let pistons = format!("pistons.{group}");

    let lilt = Start::up(&project).in_namespace(&namespace).start();
    lilt.wait_until_ready("calm");
    let found = || namespace.try_kubectl(&["get", &format!("{engines}/loud")]).ok();
    eventually("it was applied", found);
    // Engine, piston, pod.
    let loud = uid(&format!("{engines}/loud"));
    create(&owned(&version, "Piston", "one", (&version, "Engine", "loud", &loud)));
    let piston = uid(&format!("{pistons}/one"));
    let mut pod = owned("v1", "Pod", "turning", (&version, "Piston", "one", &piston));
    pod["spec"] = json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", "echo turning; exec sleep 987"]}],
    });
    create(&pod);
    lilt.wait_for_log_line("loud", "turning");
    lilt.wait_until("loud", "is ready with its pod", |it| {
        it["status"]["k8sResourceInfo"]["podName"] == "turning" && it["status"]["runtimeStatus"] == "ok"
    });

    // By labels alone.
    pod["metadata"] = json!({"name": "picked-pod", "labels": {"piston-of": "picked"}});
    create(&pod);
    lilt.wait_for_log_line("picked", "turning");
    lilt.wait_until_ready("picked");
    lilt.quit();
}
