//! Tests that stop and start the test bed's programs: sequentially, after all other tests.

use lilt_testbed_env::Testbed;

#[test]
fn restarted_api_server_keeps_objects() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let namespace = testbed.namespace("faults");
    namespace.kubectl(&["create", "configmap", "settings"]);
    testbed.restart("apiserver");
    namespace.kubectl(&["get", "configmap", "settings"]);
}

#[test]
fn stopped_registry_restarts_on_drop() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let image = format!("{}/library/busybox:latest", testbed.registry());
    let stopped = testbed.stop("registry");
    assert!(testbed.try_docker(&["pull", "-q", &image]).is_err());
    drop(stopped);
    testbed.docker(&["pull", "-q", &image]);
}

#[test]
fn panic_restarts_stopped_program() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _stopped = testbed.stop("kubelet");
        panic!("on purpose");
    }));
    assert!(result.is_err());
    let namespace = testbed.namespace("faults");
    namespace.kubectl(&["run", "quick", "--image=busybox", "--restart=Never", "--", "true"]);
    namespace.kubectl(&["wait", "pod/quick", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"]);
}
