//! Tests of the test bed's handle, on the test bed.
#![allow(clippy::disallowed_methods, reason = "tests start processes")]

use std::path::Path;
use std::process::{Command, Stdio};

use lilt_testbed_env::{Namespace, Project, Testbed, eventually, free_port};

/// A namespace that is gone, or going.
fn is_removed(testbed: &Testbed, name: &str) -> bool {
    testbed
        .try_kubectl(&["get", "namespace", name, "-o", "jsonpath={.status.phase}"])
        .map_or(true, |phase| phase == "Terminating")
}

#[test]
fn environment_selects_cluster_and_engine() {
    let testbed = Testbed::get();
    assert!(Path::new(testbed.kubeconfig()).is_file());
    assert!(testbed.docker_host().starts_with("unix:///"));
    assert_eq!(testbed.kubectl(&["config", "current-context"]).trim(), "kind-lilt");
    assert!(testbed.docker(&["version", "-f", "{{.Server.Version}}"]).contains("testbed"));
    let announced =
        testbed.kubectl(&["-n", "kube-public", "get", "configmap", "local-registry-hosting", "-o", "yaml"]);
    assert!(announced.contains(testbed.registry()), "{announced}");
    let helm = testbed.command("helm").args(["version", "--short"]).output().unwrap();
    assert!(helm.status.success(), "{helm:?}");
}

#[test]
fn failure_contains_client_output() {
    let reason = Testbed::get().try_kubectl(&["get", "pod", "no-such-pod"]).unwrap_err();
    assert!(reason.contains("kubectl get pod no-such-pod failed"), "{reason}");
    assert!(reason.contains("\"no-such-pod\" not found"), "{reason}");
}

#[test]
fn pod_runs_in_namespace_and_is_deleted_with_it() {
    let testbed = Testbed::get();
    let namespace = testbed.namespace("env");
    let variables: Vec<(&str, &str)> = namespace.variables().collect();
    assert!(variables.contains(&("KUBECONFIG", namespace.kubeconfig().to_str().unwrap())));
    namespace.kubectl(&["run", "sleeper", "--image=busybox", "--", "sleep", "3600"]);
    namespace.kubectl(&["wait", "pod/sleeper", "--for=condition=Ready", "--timeout=60s"]);
    let there = testbed.kubectl(&["-n", namespace.name(), "get", "pods", "-o", "name"]);
    assert_eq!(there.trim(), "pod/sleeper");

    let (name, kubeconfig) = (namespace.name().to_owned(), namespace.kubeconfig().to_owned());
    drop(namespace);
    assert!(is_removed(testbed, &name));
    assert!(!kubeconfig.exists());
    eventually("the namespace is gone with its pods", || {
        testbed.try_kubectl(&["get", "namespace", &name]).is_err().then_some(())
    });
}

#[test]
fn namespaces_are_separate() {
    let testbed = Testbed::get();
    let (first, second) = (testbed.namespace("env"), testbed.namespace("env"));
    first.kubectl(&["create", "configmap", "settings"]);
    assert!(second.try_kubectl(&["get", "configmap", "settings"]).is_err());
}

#[test]
fn panic_removes_the_namespace() {
    let testbed = Testbed::get();
    let mut name = String::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let namespace: Namespace = testbed.namespace("env");
        namespace.name().clone_into(&mut name);
        namespace.kubectl(&["get", "nonsense"]);
    }));
    assert!(result.is_err() && !name.is_empty());
    assert!(is_removed(testbed, &name));
}

/// This test starts itself twice as a child: one that is killed with a namespace in its hands, one that comes later.
#[test]
fn namespace_of_killed_test_is_swept() {
    const ROLE: &str = "LILT_TESTBED_ENV_ROLE";
    const FILE: &str = "LILT_TESTBED_ENV_FILE";
    let testbed = Testbed::get();
    match std::env::var(ROLE).as_deref() {
        Ok("holder") => {
            let namespace = testbed.namespace("killed");
            std::fs::write(std::env::var(FILE).unwrap(), namespace.name()).unwrap();
            loop {
                std::thread::park();
            }
        }
        Ok(_) => return drop(testbed.namespace("sweeper")),
        Err(_) => {}
    }

    let project = Project::new(&[]);
    let child = |role: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "namespace_of_killed_test_is_swept"]).env(ROLE, role);
        command.env(FILE, project.file("name")).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut holder = child("holder");
    let name = eventually("the child has its namespace", || {
        project.exists("name").then(|| project.read("name")).filter(|name| !name.is_empty())
    });
    assert!(child("sweeper").wait().unwrap().success());
    assert!(!is_removed(testbed, &name), "a living process keeps its namespace");

    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(!is_removed(testbed, &name), "nobody is there to remove it yet");
    assert!(child("sweeper").wait().unwrap().success());
    assert!(is_removed(testbed, &name), "the next one sweeps");
}

#[test]
fn free_port_can_be_bound() {
    let port = free_port();
    std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
}
