//! A missing cluster, a missing Docker engine, and a cluster that is not allowed.

use std::os::unix::fs::symlink;

use lilt_e2e::lilt::Start;
use lilt_e2e::proxy::{Proxy, detour};
use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, Testbed};

const LOCAL: &str = "local_resource('local', 'echo goes on')\n";

#[test]
fn up_waits_for_cluster() {
    let site = Site::new("late");
    site.project.write("Tiltfile", &format!("{}{LOCAL}", site.tiltfile()));
    let away = Project::new(&[]);
    let port = detour(&site.namespace, &away);
    let lilt = site.up().variable("KUBECONFIG", away.file("kubeconfig")).start();
    let error = lilt.wait_for_line("ERROR: cannot reach the cluster kind-lilt");
    assert!(error.contains(&format!("https://127.0.0.1:{port}")), "the place: {error}");
    assert!(error.contains("refused"), "the cause: {error}");
    lilt.wait_for_line("hint: is the cluster running?");
    lilt.wait_until("web", "waits for the cluster", |it| {
        let hold = it["metadata"]["annotations"]["lilt.dev/hold"].as_str().unwrap_or_default();
        it["status"]["waiting"]["reason"] == "waiting-for-cluster" && hold.contains("cannot reach")
    });
    lilt.wait_for_log_line("local", "goes on");
    lilt.wait_until_ready("local");

    let _proxy = Proxy::open(port);
    lilt.wait_for_line("Connected to the cluster of context kind-lilt");
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.quit();
}

#[test]
fn ci_exits_1_without_cluster() {
    let site = Site::new("no-cluster");
    let away = Project::new(&[]);
    let port = detour(&site.namespace, &away);
    let ended = site.ci().variable("KUBECONFIG", away.file("kubeconfig")).run().expect_clean_exit(1);
    let complaint = ended.stderr();
    assert!(
        complaint.contains(&format!("cannot reach the cluster kind-lilt at https://127.0.0.1:{port}")),
        "{complaint}"
    );
    assert!(complaint.contains("hint: is the cluster running?"), "{complaint}");
    let ended = site.down().variable("KUBECONFIG", away.file("kubeconfig")).run().expect_clean_exit(1);
    assert!(ended.stderr().contains("cannot reach the cluster kind-lilt"), "{}", ended.stderr());
}

#[test]
fn unlisted_remote_context_is_refused() {
    let site = Site::new("guard");
    let kubeconfig = std::fs::read_to_string(site.namespace.kubeconfig()).expect("it has one");
    let away = Project::new(&[("kubeconfig", &kubeconfig.replace("kind-lilt", "acme-production"))]);
    let start = |start: Start| start.variable("KUBECONFIG", away.file("kubeconfig"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    let yaml = site.idle("web");
    site.project.write("web.yaml", &yaml);
    for command in [site.ci(), site.down()] {
        let complaint = start(command).run().expect_clean_exit(1).stderr();
        assert!(complaint.contains("Tiltfile:1:1: Stop! acme-production might be production"), "{complaint}");
        assert!(complaint.contains("allow_k8s_contexts('acme-production')"), "{complaint}");
    }
    assert!(!site.exists("deployment/web"));

    site.project.write("Tiltfile", "allow_k8s_contexts('acme-production')\nk8s_yaml('web.yaml')\n");
    start(site.ci()).run().expect_clean_exit(0);
    assert!(site.exists("deployment/web"));
}

#[test]
fn up_waits_for_docker_engine() {
    let site = Site::new("no-engine");
    let yaml = site.idle("plain");
    site.project.write("plain.yaml", &yaml);
    site.project.write("Tiltfile", &format!("{}k8s_yaml('plain.yaml')\n{LOCAL}", site.tiltfile()));
    let away = Project::new(&[]);
    let socket = away.file("docker.sock");
    let lilt = site.up().variable("DOCKER_HOST", format!("unix://{}", socket.display())).start();
    let error = lilt.wait_for_line("web │ ERROR: Build Failed: ");
    assert!(error.contains(&socket.display().to_string()), "the place: {error}");
    lilt.wait_for_line("web │ hint: ");
    lilt.wait_until_ready("plain");
    lilt.wait_until_ready("local");

    let real = Testbed::get().docker_host().trim_start_matches("unix://");
    symlink(real, &socket).expect("a link can be made");
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.quit();
}
