//! Ctrl-C during a build, push or apply: nothing continues without lilt.

use lilt_e2e::processes;
use lilt_e2e::proxy::{Proxy, detour};
use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, eventually};

#[test]
fn ctrl_c_ends_build() {
    let site = Site::new("end-build");
    // A name that only this build's process has.
    let mark = site.image().to_owned();
    site.project.write(
        "app/Dockerfile",
        &format!("FROM busybox\nRUN [\"sh\", \"-c\", \"echo building; sleep 987; sleep 987\", \"{mark}\"]\n"),
    );
    let lilt = site.up().start();
    lilt.wait_for_log_line("web", "       building");
    assert!(!processes::with_argument(&mark).is_empty(), "the engine runs the step");
    lilt.quit();
    eventually("the engine has given the build up", || {
        processes::with_argument(&mark).is_empty().then_some(())
    });
    assert!(!site.exists("deployment/web"));
}

#[test]
fn ctrl_c_ends_push() {
    let site = Site::new("end-push");
    // Large and random, so that the push takes a while.
    site.project.write("app/Dockerfile", "FROM busybox\nRUN dd if=/dev/urandom of=/large bs=1M count=200\n");
    let lilt = site.up().start();
    lilt.wait_for_line("web │ STEP 2/3 — Pushing");
    lilt.quit();
    assert!(!site.exists("deployment/web"), "an update that was cut off deploys nothing");
}

#[test]
fn ctrl_c_ends_hanging_apply() {
    let site = Site::new("end-apply");
    let gate = Project::new(&[]);
    let port = detour(&site.namespace, &gate);
    let proxy = Proxy::open(port);
    let wait = format!("until test -e {}; do sleep 0.02; done", gate.file("go").display());
    site.project.write(
        "Tiltfile",
        &format!(
            "k8s_yaml('web.yaml')\nk8s_resource('web', resource_deps=['gate'])\nlocal_resource('gate', '{wait}')\n"
        ),
    );
    let lilt = site.up().variable("KUBECONFIG", gate.file("kubeconfig")).start();
    lilt.wait_for_line("Auto-detected local registry from environment:");
    lilt.wait_until("gate", "is running", |it| it["status"]["updateStatus"] == "in_progress");
    proxy.hold();
    gate.write("go", "");
    lilt.wait_for_log_line("web", "     Applying YAML to cluster");
    lilt.wait_until("web", "is being updated", |it| it["status"]["updateStatus"] == "in_progress");
    lilt.quit();
}

#[test]
fn ctrl_c_ends_session_with_open_connections() {
    let site = Site::new("end-open");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let _silent = std::net::TcpStream::connect(("127.0.0.1", site.port)).expect("the port is open");
    lilt.quit();
}
