//! Invalid input: each error has location, cause and hint, other resources continue, and the next save recovers.

use std::net::TcpListener;

use lilt_e2e::lilt::Lilt;
use lilt_e2e::site::Site;

const OTHER: &str = "local_resource('other', 'cat text', deps=['text'])\n";

/// The rest of the project still takes changes.
fn others_go_on(site: &Site, lilt: &Lilt) {
    let output_end = lilt.output_end();
    site.project.write("text", "others go on\n");
    lilt.wait_for_log_line_after(output_end, "other", "others go on");
}

fn has_failed(resource: &serde_json::Value) -> bool {
    resource["status"]["updateStatus"] == "error"
}

#[test]
fn failing_dockerfile_shows_step_and_recovers() {
    let site = Site::new("bad-docker");
    let good = site.project.read("app/Dockerfile");
    site.project
        .write("app/Dockerfile", &good.replace("RUN echo", "RUN echo about to fail >&2; exit 5; echo"));
    site.project.write("Tiltfile", &format!("{}{OTHER}", site.tiltfile()));
    let lilt = site.up().start();
    lilt.wait_for_log_line("web", "       about to fail");
    let failure = lilt.wait_for_line("web │ ERROR: Build Failed: ");
    assert!(failure.contains("app/Dockerfile:2"), "the place: {failure}");
    assert!(failure.contains('5'), "the cause: {failure}");
    lilt.wait_until("web", "has failed", has_failed);
    others_go_on(&site, &lilt);

    site.project.write("app/Dockerfile", "FROM busybox\nFROMAGE\n");
    let unknown = lilt.wait_for_line("FROMAGE");
    lilt.wait_for_line("app/Dockerfile:2");
    assert!(unknown.contains("web │"), "{unknown}");

    site.project.write("app/Dockerfile", &good);
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.quit();
}

#[test]
fn yaml_refused_by_cluster_is_reported() {
    let site = Site::new("bad-yaml");
    let good = site.idle("web");
    site.project.write("web.yaml", &good.replace("spec:\n  selector", "spec:\n  replicas: many\n  selector"));
    site.project.write("frob.yaml", "apiVersion: example.com/v1\nkind: Frob\nmetadata: {name: frob}\n");
    site.project.write("fine.yaml", &good.replace("web", "fine"));
    site.project.write("Tiltfile", &format!("k8s_yaml(['web.yaml', 'frob.yaml', 'fine.yaml'])\n{OTHER}"));
    let lilt = site.up().start();
    let refused = lilt.wait_for_line("web │ ERROR: Build Failed: ");
    assert!(refused.contains("web:deployment"), "which object: {refused}");
    assert!(refused.contains("replicas"), "which field: {refused}");
    let unknown = lilt.wait_for_line("the cluster knows no kind Frob of example.com/v1");
    assert!(unknown.contains("uncategorized │ ERROR: Build Failed: "), "{unknown}");
    lilt.wait_for_line("uncategorized │ hint: check apiVersion and kind");
    lilt.wait_until("web", "has failed", has_failed);
    lilt.wait_until_ready("fine");
    others_go_on(&site, &lilt);

    site.project.write("web.yaml", &good);
    lilt.wait_until_ready("web");
    site.project.write("frob.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: frob}\n");
    lilt.wait_until_ready("uncategorized");
    assert!(site.exists("configmap/frob"));
    lilt.has_lines("fine │ STEP", 1);
    lilt.quit();
}

#[test]
fn invalid_yaml_is_reported() {
    let site = Site::new("no-yaml");
    let good = site.idle("web");
    site.project.write("web.yaml", &good.replace("      containers:", "     containers:"));
    site.project.write("Tiltfile", &format!("k8s_yaml('web.yaml')\n{OTHER}"));
    let lilt = site.up().start();
    let error = lilt.wait_for_line("ERROR: ");
    assert!(error.contains("Tiltfile:1:1") || error.contains("web.yaml:"), "the place: {error}");
    lilt.wait_for_line("web.yaml");
    site.project.write("web.yaml", &good);
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("other");
    lilt.quit();
}

#[test]
fn forward_with_port_in_use_is_reported() {
    let site = Site::new("bad-port");
    site.project.write("Tiltfile", &format!("{}{OTHER}", site.tiltfile()));
    let taken = TcpListener::bind(("127.0.0.1", site.port)).expect("the port was free");
    let lilt = site.up().start();
    let error = lilt.wait_for_line("web │ ERROR: ");
    assert!(error.contains(&format!("port {}", site.port)), "which port: {error}");
    lilt.wait_for_line("web │ hint: end the program that has the port");
    lilt.wait_until("web", "shows the trouble", |it| {
        let forwards = it["metadata"]["annotations"]["lilt.dev/forwards"].as_str().unwrap_or_default();
        forwards.contains(&site.port.to_string())
    });
    lilt.wait_until_ready("web");
    others_go_on(&site, &lilt);

    drop(taken);
    site.serves("one");
    lilt.wait_until("web", "is content", |it| it["metadata"]["annotations"]["lilt.dev/forwards"].is_null());
    lilt.quit();
}

/// A failing run step is reported, and the next save retries.
#[test]
fn failing_run_step_is_reported() {
    let site = Site::new("bad-run");
    let tiltfile = site.tiltfile().replace("echo ran in $(hostname)", "grep good /www/index.html");
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "bad\n");
    let failure = lilt.wait_for_line("web │ ERROR: Build Failed: ");
    assert!(failure.contains("grep good /www/index.html") && failure.contains("exit status 1"), "{failure}");
    lilt.wait_until("web", "has failed", has_failed);
    site.project.write("app/www/index.html", "good\n");
    lilt.wait_until_ready("web");
    site.serves("good");
    assert_eq!(site.pods(), [pod]);
    lilt.quit();
}
