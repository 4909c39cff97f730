//! The whole path in one session: build, push, deploy, forward, live update, rebuild, deleted pod.

use std::net::TcpStream;

use lilt_e2e::lilt::{Lilt, OUTPUT_START};
use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, Testbed, eventually};
use serde_json::json;

#[test]
fn tiltfile_becomes_live_updated_pod() {
    let site = Site::new("path");
    // Outside of the project, so that it triggers nothing.
    let gate = Project::new(&[]);
    let wait = format!("until test -e {}; do sleep 0.02; done; echo open", gate.file("go").display());
    let tiltfile = site.tiltfile().replace("labels=['site']", "labels=['site'], resource_deps=['gate']");
    site.project.write("Tiltfile", &format!("{tiltfile}local_resource('gate', '{wait}')\n"));
    let lilt = site.up().start();

    is_held_until_the_gate_is_open(&site, &lilt);
    gate.write("go", "");
    lilt.wait_for_log_line("gate", "open");
    let image = is_built_pushed_and_deployed(&site, &lilt);
    is_shown_on_the_page(&site, &lilt);
    let pod = site.only_pod();
    takes_synced_files_in_place(&site, &lilt, &pod);
    is_built_again_for_any_other_file(&site, &lilt, &pod, &image);
    keeps_the_port_open_while_the_pod_is_replaced(&site, &lilt);

    lilt.has_lines("gate │ Running cmd:", 1);
    lilt.quit();
    assert!(TcpStream::connect(("127.0.0.1", site.port)).is_err(), "the forward ends with the session");
    assert!(site.exists("deployment/web"), "what was deployed stays until it is taken down");
}

fn is_held_until_the_gate_is_open(site: &Site, lilt: &Lilt) {
    lilt.wait_until("gate", "is running", |it| it["status"]["updateStatus"] == "in_progress");
    lilt.wait_until("web", "waits for the gate", |it| {
        it["status"]["waiting"]["reason"] == "waiting-for-dep"
            && it["status"]["waiting"]["on"][0]["name"] == "gate"
    });
    assert!(!site.exists("deployment/web"));
    lilt.has_lines("STEP", 0);
}

/// Returns the image that the pod runs.
fn is_built_pushed_and_deployed(site: &Site, lilt: &Lilt) -> String {
    let registry = Testbed::get().registry();
    let name = site.image();
    lilt.wait_for_log_line("web", "Initial Build");
    lilt.wait_for_log_line("web", &format!("STEP 1/3 — Building Dockerfile: [{name}]"));
    lilt.wait_for_log_line("web", "  COPY www /www");
    let push = lilt.wait_for_line(&format!("web │ STEP 2/3 — Pushing {registry}/{name}:tilt-"));
    lilt.wait_for_log_line("web", "STEP 3/3 — Deploying");
    lilt.wait_for_log_line("web", "       → web:deployment");
    lilt.wait_for_line("web │      Step 3 - ");
    // The build's progress, and the output of its steps.
    let printed = lilt.output();
    assert!(
        printed.contains(&format!("] RUN echo this is the build of {name} on $(uname -s) [done: ")),
        "{printed}"
    );
    assert!(printed.contains(&format!("web │        this is the build of {name} on Linux\n")), "{printed}");
    assert!(printed.contains("] COPY www /www [done: "), "{printed}");

    let (_, image) = push.split_once("Pushing ").expect("it is in the line");
    let (_, tag) = image.rsplit_once(":tilt-").expect("it has a tag");
    assert!(
        tag.len() == 16 && tag.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it)),
        "{image}"
    );
    assert_eq!(site.read("deployment/web", ".spec.template.spec.containers[0].image"), image);
    let registry_port = registry.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let tags = get(registry_port, &format!("/v2/{name}/tags/list")).expect("the registry knows the image");
    assert!(tags.contains(&format!("\"tilt-{tag}\"")), "{tags}");

    let managed_by = r"labels.app\.kubernetes\.io/managed-by";
    assert_eq!(site.read("deployment/web", &format!(".metadata.{managed_by}")), "tilt");
    assert_eq!(site.read("deployment/web", &format!(".spec.template.metadata.{managed_by}")), "tilt");
    let hash = site.read("deployment/web", r".spec.template.metadata.labels.tilt\.dev/pod-template-hash");
    assert!(!hash.is_empty());

    site.serves("one");
    let pod = site.only_pod();
    assert_eq!(site.read(&format!("pod/{pod}"), ".spec.containers[0].image"), image);
    lilt.wait_for_log_line("web", &format!("Tracking new pod rollout ({pod}):"));
    lilt.wait_for_line("web │      ┊ Ready");
    let namespace = site.namespace.name();
    lilt.wait_for_log_line("web", &format!("[event: pod {namespace}/{pod}] Pulling image \"{image}\""));
    // The log of the server in the container.
    lilt.wait_for_line("response:200");
    image.to_owned()
}

fn is_shown_on_the_page(site: &Site, lilt: &Lilt) {
    let pod = site.only_pod();
    let shown = lilt.wait_until_ready("web");
    let status = &shown["status"];
    assert_eq!(status["endpointLinks"], json!([{"url": format!("http://localhost:{}/", site.port)}]));
    assert_eq!(status["k8sResourceInfo"]["podName"], pod);
    assert_eq!(status["k8sResourceInfo"]["podStatus"], "Running");
    assert_eq!(status["k8sResourceInfo"]["allContainersReady"], true);
    assert_eq!(shown["metadata"]["labels"], json!({"site": "site"}));
}

fn takes_synced_files_in_place(site: &Site, lilt: &Lilt, pod: &str) {
    let output_end = lilt.output_end();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    let file = site.project.file("app/www/index.html");
    for words in [
        "1 File Changed: [app/www/index.html]",
        &format!("Will copy 1 file(s) to container: [{pod}/main]"),
        &format!("- '{}' --> '/www/index.html'", file.display()),
        "[CMD 1/1] sh -c echo ran in $(hostname)",
        &format!("ran in {pod}"),
        &format!("  → Container {pod}/main updated!"),
    ] {
        lilt.wait_for_log_line_after(output_end, "web", words);
    }
    // New files and folders are copied, removed ones deleted.
    let fetch = |path: &str| get(site.port, path);
    site.project.write("app/www/deep/new.html", "new\n");
    eventually("a new file is served", || fetch("/deep/new.html").filter(|page| page == "new\n"));
    site.project.remove("app/www/deep/new.html");
    eventually("a removed file is gone", || fetch("/deep/new.html").is_none().then_some(()));
    assert_eq!(site.pods(), [pod], "the same pod, and no other");
    lilt.has_lines("STEP 1/3", 1);
}

fn is_built_again_for_any_other_file(site: &Site, lilt: &Lilt, pod: &str, image: &str) {
    assert_eq!(get(site.port, "/words.txt").as_deref(), Some("first\n"));
    let output_end = lilt.output_end();
    site.project.write("app/words.txt", "second\n");
    lilt.wait_for_log_line_after(output_end, "web", "1 File Changed: [app/words.txt]");
    lilt.wait_for_log_line_after(
        output_end,
        "web",
        &format!("STEP 1/3 — Building Dockerfile: [{}]", site.image()),
    );
    lilt.wait_for_log_line_after(output_end, "web", "STEP 3/3 — Deploying");
    eventually("the new content is served", || {
        get(site.port, "/words.txt").filter(|page| page == "second\n")
    });
    site.serves("two");
    let next = eventually("the pod before is gone", || Some(site.only_pod()).filter(|next| next != pod));
    lilt.wait_for_log_line_after(output_end, "web", &format!("Tracking new pod rollout ({next}):"));
    assert_ne!(site.read("deployment/web", ".spec.template.spec.containers[0].image"), image);
    lilt.wait_until_ready("web");
}

fn keeps_the_port_open_while_the_pod_is_replaced(site: &Site, lilt: &Lilt) {
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "three\n");
    site.serves("three");
    site.namespace.kubectl(&["delete", "pod", &pod, "--wait=false"]);
    let next = eventually("another pod has taken its place", || {
        assert!(TcpStream::connect(("127.0.0.1", site.port)).is_ok(), "the port stays open");
        site.pods().into_iter().find(|next| *next != pod)
    });
    // The image has older content: later changes are copied again.
    eventually("the new pod has what was copied into the one before", || {
        let page = site.namespace.try_kubectl(&["exec", &next, "--", "cat", "/www/index.html"]);
        page.ok().filter(|page| page == "three\n")
    });
    site.serves("three");
    lilt.wait_for_line_after(OUTPUT_START, "web │ Container Replaced");
    lilt.wait_for_log_line("web", &format!("  → Container {next}/main updated!"));
    lilt.has_lines("STEP 1/3", 2);
    assert_eq!(site.only_pod(), next);
}
