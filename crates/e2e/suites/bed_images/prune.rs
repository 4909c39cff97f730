//! Pruning of old images. Each site has its own image name, and only images of the project are removed.

use lilt_e2e::lilt::Start;
use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

use crate::engine_front::EngineFront;

/// Returns the tags of the site's image in the engine.
fn tags(site: &Site) -> Vec<String> {
    let name = format!("{}/{}", Testbed::get().registry(), site.image());
    let listed = Testbed::get().docker(&["image", "ls", "--format", "{{.Tag}}", &name]);
    listed.split_whitespace().map(str::to_owned).collect()
}

/// Builds three images, with sessions that prune none.
fn build_three(site: &Site) {
    let tiltfile = site.tiltfile();
    site.project.write("Tiltfile", &format!("docker_prune_settings(disable=True)\n{tiltfile}"));
    for generation in ["one", "two", "three"] {
        site.project.write("app/words.txt", generation);
        let printed = site.ci().run().expect_clean_exit(0).output();
        assert!(!printed.contains("[Docker Prune]"), "{printed}");
    }
    site.project.write("Tiltfile", &format!("docker_prune_settings(keep_recent=1)\n{tiltfile}"));
    assert_eq!(tags(site).len(), 3);
}

fn deployed_tag(site: &Site) -> String {
    let image = site.read("deployment/web", ".spec.template.spec.containers[0].image");
    image.rsplit_once(':').expect("it has a tag").1.to_owned()
}

#[test]
fn built_images_have_prune_labels() {
    let site = Site::new("labels");
    site.ci().run().expect_clean_exit(0);
    let image = format!("{}/{}:{}", Testbed::get().registry(), site.image(), deployed_tag(&site));
    let labels = Testbed::get().docker(&["image", "inspect", &image, "--format", "{{json .Config.Labels}}"]);
    assert_eq!(labels.trim(), r#"{"dev.tilt.built":"true","dev.tilt.gc":"true"}"#);
}

/// The running image is kept, and the newest of the others.
#[test]
fn session_prunes_old_images_after_first_updates() {
    let site = Site::new("prune-session");
    build_three(&site);
    let engine = EngineFront::new(true);
    let lilt = site.up().variable("DOCKER_HOST", engine.host()).start();
    lilt.wait_until_ready("web");
    lilt.wait_for_line("[Docker Prune] removed ");
    let summary = lilt.wait_for_line(" images, reclaimed ");
    assert!(summary.ends_with('B') && !summary.contains("reclaimed 0B"), "{summary}");
    lilt.wait_for_line(&format!("\t- untagged: {}/{}:tilt-", Testbed::get().registry(), site.image()));
    lilt.wait_for_line("[Docker Prune] removed 1 caches, reclaimed 2MB");
    let left = tags(&site);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&deployed_tag(&site)), "{left:?}");
    lilt.quit();
}

#[test]
fn docker_prune_removes_at_once_and_lists_images() {
    let site = Site::new("prune-command");
    build_three(&site);
    let prune = |engine: &EngineFront| {
        let start = Start::new(&site.project, &["docker-prune"]).in_namespace(&site.namespace);
        start.variable("DOCKER_HOST", engine.host()).run().expect_clean_exit(0).stdout()
    };
    // No image is old enough.
    let printed = prune(&EngineFront::new(false));
    assert!(printed.contains("[Docker Prune] removed 0 images, reclaimed 0B\n"), "{printed}");
    assert_eq!(tags(&site).len(), 3);

    let printed = prune(&EngineFront::new(true));
    assert!(printed.contains("[Docker Prune] removed 0 containers, reclaimed 0B\n"), "{printed}");
    assert!(printed.contains("\t- untagged: ") && printed.contains("\t- deleted: sha256:"), "{printed}");
    assert_eq!(tags(&site).len(), 1, "{printed}");
}

/// An unreachable cluster does not prevent pruning; one without built images is not contacted.
#[test]
fn docker_prune_works_without_cluster() {
    let site = Site::new("prune-away");
    let kubectl = |arguments: &[&str]| site.namespace.kubectl(arguments);
    kubectl(&["config", "set-cluster", "kind-away", "--server=https://127.0.0.1:9"]);
    kubectl(&["config", "set-context", "away", "--cluster=kind-away"]);
    let more = "k8s_yaml('lost.yaml')\nk8s_resource('lost', context='away')\n";
    site.project.write("Tiltfile", &format!("{}{more}", site.tiltfile()));
    let engine = EngineFront::new(false);
    let prune = || {
        let start = Start::new(&site.project, &["docker-prune"]).in_namespace(&site.namespace);
        start.variable("DOCKER_HOST", engine.host()).run()
    };
    site.project.write("lost.yaml", &site.yaml("lost", site.image()));
    let ended = prune().expect_clean_exit(1);
    assert!(ended.stdout().contains("[Docker Prune] removed 0 images, reclaimed 0B\n"), "{}", ended.output());
    assert!(ended.output().contains("the cluster away: "), "{}", ended.output());

    site.project.write("lost.yaml", &site.idle("lost"));
    let printed = prune().expect_clean_exit(0).stdout();
    assert!(printed.contains("[Docker Prune] removed 0 images, reclaimed 0B\n"), "{printed}");
}
