//! Live updates of several containers, and their timeline.

use lilt_e2e::lilt::Lilt;
use lilt_e2e::page::{get, post};
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};
use serde_json::{Value, json};

use crate::small::{restarts, site};

/// Returns the newest update of a resource.
pub(crate) fn last_stages(lilt: &Lilt, resource: &str) -> Vec<String> {
    let answer = get(lilt.port(), &format!("/api/timeline?resource={resource}")).expect("it answers");
    let timeline: Value = serde_json::from_str(&answer).expect("it is JSON");
    let update = timeline["resources"][0]["updates"].as_array().and_then(|all| all.last().cloned());
    let stages = update.expect("there is one")["stages"].as_array().cloned().unwrap_or_default();
    stages.iter().map(|stage| stage["stage"].as_str().expect("it has a name").to_owned()).collect()
}

fn pods(site: &Site, app: &str) -> Vec<String> {
    let names = site.namespace.kubectl(&["get", "pods", "-l", &format!("app={app}"), "-o", "name"]);
    names.lines().map(|name| name.trim_start_matches("pod/").to_owned()).collect()
}

fn has(site: &Site, pod: &str, container: &str, path: &str, text: &str) {
    let cat = ["exec", pod, "-c", container, "--", "/busybox", "cat", path];
    eventually(&format!("{container} of {pod} has {text:?} in {path}"), || {
        site.namespace.try_kubectl(&cat).ok().filter(|found| found == text)
    });
}

/// Three replicas with two synced images in each pod, and one of the images in another workload, too.
#[test]
fn each_container_gets_its_own_files() {
    let site = site("live-many", "scratch", "1234");
    let (web, side) = (site.image().to_owned(), format!("{}-side", site.image()));
    site.project.write("side/words.txt", "one\n");
    let program = site.project.file("app/busybox");
    std::fs::copy(program, site.project.file("side/busybox")).expect("it can be copied");
    let dockerfile = "FROM scratch\nCOPY busybox /busybox\nCOPY words.txt /words/words.txt\nUSER 1234\n\
        ENTRYPOINT [\"/busybox\", \"sleep\", \"987\"]\n";
    site.project.write("side/Dockerfile", dockerfile);
    let one = format!("- {{name: main, image: {web}}}");
    let both = format!("{one}\n      - {{name: side, image: {side}}}");
    let replicas = site.yaml("web", &web).replace("spec:\n  selector", "spec:\n  replicas: 3\n  selector");
    let yaml = format!("{}---\n{}", replicas.replace(&one, &both), site.yaml("other", &web));
    site.project.write("web.yaml", &yaml);
    let build = |image: &str, folder: &str, steps: &str| {
        format!("docker_build('{image}', '{folder}', live_update=[{steps}])\n")
    };
    let tiltfile = [
        build(&web, "app", "sync('app/www', '/www'), run(['/busybox', 'true'])"),
        build(&side, "side", "sync('side/words.txt', '/words/words.txt'), restart_process()"),
        "k8s_yaml('web.yaml')\n".to_owned(),
    ];
    site.project.write("Tiltfile", &tiltfile.concat());
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("other");
    let (three, other) = (pods(&site, "web"), pods(&site, "other"));
    assert_eq!((three.len(), other.len()), (3, 1));

    site.project.write("app/www/index.html", "two\n");
    for pod in three.iter().chain(&other) {
        has(&site, pod, "main", "/www/index.html", "two\n");
    }
    lilt.wait_until_ready("web");
    assert_eq!(last_stages(&lilt, "web"), ["detect", "send", "write", "run"]);
    site.project.write("side/words.txt", "three\n");
    for pod in &three {
        has(&site, pod, "side", "/words/words.txt", "three\n");
    }
    lilt.wait_until_ready("web");
    assert_eq!(last_stages(&lilt, "web"), ["detect", "send", "write", "restart"]);
    assert_eq!((pods(&site, "web"), pods(&site, "other")), (three.clone(), other));
    three.iter().for_each(|pod| assert_eq!(restarts(&site, pod), "0"));
    assert_eq!(lilt.count("Full Build"), 0);
    lilt.quit();
}

/// Synced files are in the container from its start, though not in the image.
#[test]
fn initial_sync_copies_all_files_first() {
    let site = Site::new("live-initial");
    let dockerfile = format!(
        "FROM busybox\nLABEL test={}\nCMD [\"httpd\", \"-f\", \"-p\", \"8080\", \"-h\", \"/www\"]\nRUN mkdir /www\n",
        site.image()
    );
    site.project.write("app/Dockerfile", &dockerfile);
    site.project.write("app/www/deep/more.html", "more\n");
    site.project.write("app/www/ignored.html", "ignored\n");
    let tiltfile = site
        .tiltfile()
        .replace("[sync(", "[initial_sync(), sync(")
        .replace("'app', ", "'app', ignore=['**/ignored.html'], ");
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    site.serves("one");
    lilt.wait_for_log_line("web", "Initial Sync: copying all synced files");
    lilt.wait_for_line("ran in web-");
    lilt.wait_until_ready("web");
    assert_eq!(get(site.port, "/deep/more.html").as_deref(), Some("more\n"));
    assert_eq!(get(site.port, "/ignored.html"), None);
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!((site.only_pod(), lilt.count("Initial Sync")), (pod, 1));
    lilt.quit();
}

/// A command builds the image into the registry, and leaves nothing on this machine.
#[test]
fn image_in_registry_only_takes_live_update() {
    let site = site("live-remote", "scratch", "1234");
    let tiltfile = format!(
        "custom_build('{}', 'docker build -t $EXPECTED_REF app && docker push $EXPECTED_REF && \
         docker image rm -f $EXPECTED_REF', deps=['app'], skips_local_docker=True, \
         live_update=[sync('app/www', '/www'), restart_process()])\nk8s_yaml('web.yaml')\n\
         k8s_resource('web', port_forwards='{}:8080')\n",
        site.image(),
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_for_log_line("web", "  → Process started anew");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}

/// A web server from an image that is not built, in a pod that a command deploys.
fn made_by_a_command(topic: &str) -> (Site, impl Fn(&Site, &str)) {
    let site = Site::new(topic);
    let image = format!("{}/library/busybox", Testbed::get().registry());
    let line = "mkdir -p /tmp/www; echo one > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";
    site.project
        .write("web.yaml", &site.shell("web", line).replace("image: busybox", &format!("image: '{image}'")));
    let write_tiltfile = move |site: &Site, steps: &str| {
        let tiltfile = format!(
            "k8s_custom_deploy('web', 'kubectl apply -f web.yaml -o yaml', 'kubectl delete -f web.yaml', \
             deps=['app/www'], image_selector='{image}', live_update=[{steps}])\n\
             k8s_resource('web', port_forwards='{}:8080')\n",
            site.port
        );
        site.project.write("Tiltfile", &tiltfile);
    };
    (site, write_tiltfile)
}

/// With custom deploys the agent is sent through the image's shell, or the reason why it cannot be is logged.
#[test]
fn custom_deploy_pod_takes_live_update_without_injection() {
    let (site, with_steps) = made_by_a_command("live-command");
    with_steps(&site, "sync('app/www', '/tmp/www')");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(site.only_pod(), pod);
    // It leaves no file.
    let look = "ls -A /tmp; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[0-9a-f] serve --guest'";
    let line = ["exec", &pod, "-c", "main", "--", "sh", "-c", look];
    assert_eq!(site.namespace.kubectl(&line), "www\n1\n");
    with_steps(&site, "sync('app/www', '/tmp/www'), restart_process()");
    lilt.wait_for_line(
        "a command deploys it, and lilt adds what it needs only to pods that it applies itself",
    );
    lilt.wait_until_ready("web");
    // Files are synced, and the missing restart is reported.
    site.project.write("app/www/index.html", "three\n");
    site.serves("three");
    lilt.wait_until("web", "has failed", |web| web["status"]["updateStatus"] == "error");
    lilt.wait_for_line("its process cannot be started anew: lilt's agent is not in its pod");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
}

/// The next save is synced to the same container, over a connection that does not wait for the step.
#[test]
fn hanging_run_step_can_be_cancelled() {
    let (site, with_steps) = made_by_a_command("live-hangs");
    let step = "run('grep -q hangs /tmp/www/index.html && echo it hangs && exec sleep 987; echo it went on')";
    with_steps(&site, &format!("sync('app/www', '/tmp/www'), {step}"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "this hangs\n");
    lilt.wait_for_log_line("web", "it hangs");
    let (status, words) = post(lilt.port(), "/api/request", &json!({"type": "cancel", "resource": "web"}));
    assert_eq!(status, 200, "{words}");
    lilt.wait_for_log_line("web", "ERROR: Build Failed: build canceled");
    site.project.write("app/www/index.html", "two\n");
    lilt.wait_for_log_line("web", "it went on");
    site.serves("two");
    lilt.wait_until_ready("web");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
}
