//! Two sessions that deploy the same objects: of one folder, and of two checkouts of one project.

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::site::Site;
use lilt_testbed_env::Project;
use serde_json::Value;

/// A site without port forwards: two sessions cannot have the same port.
fn site(topic: &str) -> Site {
    let site = Site::new(topic);
    site.project.write("Tiltfile", &tiltfile(&site));
    site
}

fn tiltfile(site: &Site) -> String {
    format!(
        "docker_build('{}', 'app', live_update=[sync('app/www', '/www')])\nk8s_yaml('web.yaml')\n",
        site.image()
    )
}

/// Another folder with the same files.
fn checkout(site: &Site) -> Project {
    let files = ["Tiltfile", "web.yaml", "app/Dockerfile", "app/words.txt", "app/www/index.html"];
    let contents: Vec<(&str, String)> = files.iter().map(|file| (*file, site.project.read(file))).collect();
    let contents: Vec<(&str, &str)> = contents.iter().map(|(file, text)| (*file, text.as_str())).collect();
    Project::new(&contents)
}

fn pod_of(resource: &Value) -> &Value {
    &resource["status"]["k8sResourceInfo"]["podName"]
}

/// Returns how many pod templates the deployment has had.
fn rollouts(site: &Site) -> String {
    site.read("deployment/web", r".metadata.annotations.deployment\.kubernetes\.io/revision")
}

/// Waits until a session has made so many updates, and shows this pod as ready.
fn follows(lilt: &Lilt, updates: usize, pod: &str) {
    lilt.has_lines("web │      DONE IN: ", updates);
    lilt.wait_until("web", &format!("is ready with the pod {pod}"), |it| {
        pod_of(it) == pod && it["status"]["runtimeStatus"] == "ok"
    });
}

#[test]
fn two_sessions_of_one_folder_share_one_pod() {
    let site = site("two-sessions");
    let first = site.up().start();
    let second = site.up().start();
    for lilt in [&first, &second] {
        lilt.wait_until_ready("web");
        lilt.has_lines("web │      DONE IN: ", 1);
    }
    let pod = site.only_pod();
    for lilt in [&first, &second] {
        follows(lilt, 1, &pod);
    }
    assert_eq!(rollouts(&site), "1");
    let dockerfile = site.project.read("app/Dockerfile");
    site.project.write("app/Dockerfile", &dockerfile.replace("COPY words.txt /www/\n", ""));
    for lilt in [&first, &second] {
        lilt.has_lines("web │      DONE IN: ", 2);
    }
    let pod = site.only_pod();
    for lilt in [&first, &second] {
        follows(lilt, 2, &pod);
        assert_eq!(lilt.count("lilt's agent, which is added"), 0, "its image has a shell and tar");
    }
    assert_eq!(rollouts(&site), "2", "one save deploys once");
    assert_eq!(site.read("deployment/web", ".spec.template.spec.initContainers"), "");
    first.quit();
    second.quit();
}

#[test]
fn session_of_another_checkout_is_named_once_and_shares_the_pod() {
    let site = site("two-checkouts");
    let other = checkout(&site);
    let first = site.up().start();
    first.wait_until_ready("web");
    let second = Start::up(&other).in_namespace(&site.namespace).with_home_of(&first).start();
    second.wait_until_ready("web");
    let pod = site.only_pod();
    follows(&first, 1, &pod);
    follows(&second, 1, &pod);
    assert_eq!(rollouts(&site), "1");
    let warning = second.wait_for_line("another lilt session deploys here, too: ");
    assert!(
        warning.contains(&format!(":{} {}", first.pid(), site.project.file("Tiltfile").display())),
        "{warning}"
    );
    // From now on both differ, and the first one learns of the second by what it deployed.
    let dockerfile = other.read("app/Dockerfile");
    other.write("app/Dockerfile", &format!("{dockerfile}ENV CHECKOUT=second\n"));
    let warning = first.wait_for_line("another lilt session deploys here, too: ");
    assert!(
        warning.contains(&format!(":{} {}", second.pid(), other.file("Tiltfile").display())),
        "{warning}"
    );
    first.wait_until("web", "says whose pods there are", |it| {
        let words = it["metadata"]["annotations"]["lilt.dev/runtime-message"].as_str().unwrap_or_default();
        words.starts_with("replaced by what ")
            && words.contains(&other.file("Tiltfile").display().to_string())
    });
    site.project.write("app/Dockerfile", &format!("{dockerfile}ENV CHECKOUT=first\n"));
    first.has_lines("web │      DONE IN: ", 2);
    second.has_lines("another lilt session deploys here, too: ", 1);
    first.has_lines("another lilt session deploys here, too: ", 1);
    // Its home is the first one's, which must be empty in the end.
    second.quit();
    first.quit();
}
