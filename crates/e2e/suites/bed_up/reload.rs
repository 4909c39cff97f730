//! Effects of Tiltfile and YAML changes on deployed resources, and of a second session.

use std::net::TcpStream;

use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_testbed_env::{eventually, free_port};

const BUILDING: &str = "Building Dockerfile: [";

#[test]
fn reload_redeploys_only_changed_resources() {
    let site = Site::new("reload");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let generation = site.read("deployment/web", ".metadata.generation");
    lilt.quit();

    // A second session finds everything unchanged.
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    assert_eq!(site.pods(), std::slice::from_ref(&pod), "nothing changed, so the pod stays");
    assert_eq!(site.read("deployment/web", ".metadata.generation"), generation);
    let page = lilt.wait_until_ready("web");
    assert_eq!(page["status"]["k8sResourceInfo"]["podName"], pod);

    // A new resource does not affect the other one.
    site.project.write("other.yaml", &site.idle("other"));
    site.project.write("Tiltfile", &format!("{}k8s_yaml('other.yaml')\n", site.tiltfile()));
    lilt.wait_until_ready("other");
    assert!(site.pods().contains(&pod), "{:?}", site.pods());
    lilt.has_lines("web │ STEP", 3);

    // Changed YAML is deployed, with the existing image.
    let builds = lilt.count(BUILDING);
    let output_end = lilt.output_end();
    let yaml = site.yaml("web", site.image()).replace("image:", "env: [{name: MORE, value: 'yes'}], image:");
    site.project.write("web.yaml", &yaml);
    lilt.wait_for_log_line_after(output_end, "web", "1 File Changed: [web.yaml]");
    lilt.wait_for_log_line_after(output_end, "web", "STEP 1/1 — Deploying");
    let next = eventually("another pod of the site is ready", || {
        let page = lilt.wait_until_ready("web");
        let name = page["status"]["k8sResourceInfo"]["podName"].as_str()?.to_owned();
        (name != pod).then_some(name)
    });
    assert_eq!(site.read(&format!("pod/{next}"), ".spec.containers[0].env[0].value"), "yes");
    site.serves("one");
    lilt.has_lines(BUILDING, builds);

    // Another port leads to the same pod, and the one before is closed.
    let other_port = free_port();
    let moved = site.tiltfile().replace(&site.port.to_string(), &other_port.to_string());
    site.project.write("Tiltfile", &format!("{moved}k8s_yaml('other.yaml')\n"));
    eventually("the new port serves", || get(other_port, "/").filter(|page| page == "one\n"));
    eventually("the old port is closed", || {
        TcpStream::connect(("127.0.0.1", site.port)).is_err().then_some(())
    });
    assert!(site.pods().contains(&next), "{:?}", site.pods());

    // A removed resource is deleted, with its port forward; the other one is kept.
    site.project.write("Tiltfile", "k8s_yaml('other.yaml')\n");
    eventually("the deployment is deleted", || (!site.exists("deployment/web")).then_some(()));
    eventually("the port is closed", || TcpStream::connect(("127.0.0.1", other_port)).is_err().then_some(()));
    lilt.wait_for_line("Deleting what the Tiltfile no longer names: web:deployment");
    assert!(site.exists("deployment/other"));
    lilt.has_lines("other │ STEP", 1);
    lilt.quit();
}

#[test]
fn manual_resource_waits_for_trigger() {
    let site = Site::new("manual");
    let tiltfile =
        "k8s_yaml('web.yaml')\nk8s_resource('web', trigger_mode=TRIGGER_MODE_MANUAL, auto_init=False)\n";
    site.project.write("Tiltfile", tiltfile);
    site.project.write("web.yaml", &site.idle("web"));
    let lilt = site.up().start();
    lilt.wait_until("web", "waits", |it| {
        it["metadata"]["annotations"]["lilt.dev/hold"] == "waiting for a trigger"
    });
    assert!(!site.exists("deployment/web"));
    lilt.click("web");
    lilt.wait_until_ready("web");
    assert!(site.exists("deployment/web"));
    lilt.quit();
}

/// A trigger with pending changes updates; one without recreates the objects.
#[test]
fn trigger_with_pending_changes_deletes_nothing() {
    let site = Site::new("saved");
    let image = site.image();
    let tiltfile = format!(
        "docker_build('{image}', 'image')\nk8s_yaml('web.yaml')\n\
         k8s_resource('web', trigger_mode=TRIGGER_MODE_MANUAL)\n"
    );
    site.project.write("Tiltfile", &tiltfile);
    site.project.write("image/Dockerfile", "FROM busybox\nCOPY text /\n");
    site.project.write("image/text", &format!("one {image}\n"));
    site.project.write("web.yaml", &site.idle("web").replace("image: busybox", &format!("image: {image}")));
    let uid = || Some(site.namespace.get("deployment/web").ok()?["metadata"]["uid"].clone());
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let first = uid();
    site.project.write("image/text", &format!("two {image}\n"));
    lilt.wait_until("web", "waits for a trigger", |it| {
        it["metadata"]["annotations"]["lilt.dev/hold"] == "1 file changed; waiting for a trigger"
    });
    let output_end = lilt.output_end();
    lilt.click("web");
    lilt.wait_for_line_after(output_end, "1 File Changed: [image/text]");
    lilt.wait_for_line_after(output_end, "web:deployment");
    lilt.wait_until_ready("web");
    assert_eq!(uid(), first, "it is the same object");
    assert!(!lilt.output_after(output_end).contains("starts anew"), "{}", lilt.output_after(output_end));
    let output_end = lilt.output_end();
    lilt.click("web");
    lilt.wait_for_line_after(output_end, "Deleting what runs, so that it starts anew");
    eventually("it is another object", || uid().filter(|uid| Some(uid) != first.as_ref()));
    lilt.quit();
}

/// Saves during a build are not lost.
#[test]
fn changes_during_build_reach_the_pod() {
    let site = Site::new("during");
    let dockerfile = site.project.read("app/Dockerfile").replace("RUN echo", "RUN sleep 3; echo");
    site.project.write("app/Dockerfile", &dockerfile);
    let lilt = site.up().start();
    lilt.wait_for_line("RUN sleep 3; echo");
    lilt.wait_until("web", "is being built", |it| it["status"]["updateStatus"] == "in_progress");
    site.project.write("app/www/index.html", "during\n");
    site.serves("during");
    lilt.wait_until_ready("web");
    lilt.quit();
}
