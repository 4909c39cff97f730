//! What changes of the Tiltfile and of YAML do to what runs in the cluster, and what a second session does.

use std::net::TcpStream;

use lilt_e2e::bed::Site;
use lilt_e2e::page::get;
use lilt_testbed_env::{eventually, free_port};

const BUILDING: &str = "Building Dockerfile: [";

#[test]
fn only_what_is_said_otherwise_is_deployed_otherwise() {
    let site = Site::new("reload");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let generation = site.read("deployment/web", ".metadata.generation");
    lilt.quit();

    // A second session finds everything as it should be.
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    assert_eq!(site.pods(), std::slice::from_ref(&pod), "nothing changed, so the pod stays");
    assert_eq!(site.read("deployment/web", ".metadata.generation"), generation);
    let page = lilt.wait_until_ready("web");
    assert_eq!(page["status"]["k8sResourceInfo"]["podName"], pod);

    // A resource comes, and leaves the other one alone.
    site.project.write("other.yaml", &site.idle("other"));
    site.project.write("Tiltfile", &format!("{}k8s_yaml('other.yaml')\n", site.tiltfile()));
    lilt.wait_until_ready("other");
    assert!(site.pods().contains(&pod), "{:?}", site.pods());
    lilt.has_lines("web │ STEP", 3);

    // Other YAML: deployed anew, with the image that is there.
    let builds = lilt.count(BUILDING);
    let place = lilt.place();
    let yaml = site.yaml("web", site.image()).replace("image:", "env: [{name: MORE, value: 'yes'}], image:");
    site.project.write("web.yaml", &yaml);
    lilt.wait_for_words_after(place, "web", "1 File Changed: [web.yaml]");
    lilt.wait_for_words_after(place, "web", "STEP 1/1 — Deploying");
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

    // What the Tiltfile no longer names goes, with its port; the other one stays.
    site.project.write("Tiltfile", "k8s_yaml('other.yaml')\n");
    eventually("the deployment is deleted", || (!site.exists("deployment/web")).then_some(()));
    eventually("the port is closed", || TcpStream::connect(("127.0.0.1", other_port)).is_err().then_some(()));
    lilt.wait_for_line("Deleting what the Tiltfile no longer names: web:deployment");
    assert!(site.exists("deployment/other"));
    lilt.has_lines("other │ STEP", 1);
    lilt.quit();
}

#[test]
fn a_trigger_deploys_and_a_manual_resource_waits_for_it() {
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

/// A trigger after a save asks for what was saved; one without starts anew what runs.
#[test]
fn a_trigger_for_what_was_saved_deletes_nothing() {
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
    let place = lilt.place();
    lilt.click("web");
    lilt.wait_for_line_after(place, "1 File Changed: [image/text]");
    lilt.wait_for_line_after(place, "web:deployment");
    lilt.wait_until_ready("web");
    assert_eq!(uid(), first, "it is the same object");
    assert!(!lilt.output_after(place).contains("starts anew"), "{}", lilt.output_after(place));
    let place = lilt.place();
    lilt.click("web");
    lilt.wait_for_line_after(place, "Deleting what runs, so that it starts anew");
    eventually("it is another object", || uid().filter(|uid| Some(uid) != first.as_ref()));
    lilt.quit();
}

/// What is saved while an image is built is not forgotten.
#[test]
fn changes_during_a_build_reach_the_pod() {
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
