//! Stopping and starting the bed's programs. One at a time, after all other tests.

use lilt_testbed_env::Bed;

#[test]
fn restarted_api_server_keeps_objects() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let namespace = bed.namespace("faults");
    namespace.kubectl(&["create", "configmap", "settings"]);
    bed.restart("apiserver");
    namespace.kubectl(&["get", "configmap", "settings"]);
}

#[test]
fn stopped_registry_restarts_on_drop() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let image = format!("{}/library/busybox:latest", bed.registry());
    let stopped = bed.stop("registry");
    assert!(bed.try_docker(&["pull", "-q", &image]).is_err());
    drop(stopped);
    bed.docker(&["pull", "-q", &image]);
}

#[test]
fn panic_restarts_stopped_program() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _stopped = bed.stop("kubelet");
        panic!("on purpose");
    }));
    assert!(result.is_err());
    let namespace = bed.namespace("faults");
    namespace.kubectl(&["run", "quick", "--image=busybox", "--restart=Never", "--", "true"]);
    namespace.kubectl(&["wait", "pod/quick", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"]);
}
