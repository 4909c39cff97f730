//! Old images go. Each site has an image name of its own, and only images of a project's names are removed.

use lilt_e2e::bed::Site;
use lilt_e2e::lilt::Start;
use lilt_testbed_env::Bed;

use crate::engine_front::EngineFront;

/// The tags of the site's image in the engine.
fn tags(site: &Site) -> Vec<String> {
    let name = format!("{}/{}", Bed::get().registry(), site.image());
    let listed = Bed::get().docker(&["image", "ls", "--format", "{{.Tag}}", &name]);
    listed.split_whitespace().map(str::to_owned).collect()
}

/// Three images, with sessions that remove none.
fn build_three(site: &Site) {
    let tiltfile = site.tiltfile();
    site.project.write("Tiltfile", &format!("docker_prune_settings(disable=True)\n{tiltfile}"));
    for generation in ["one", "two", "three"] {
        site.project.write("app/words.txt", generation);
        let printed = site.ci().run().clean(0).output();
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
fn images_carry_the_labels_by_which_they_are_found() {
    let site = Site::new("labels");
    site.ci().run().clean(0);
    let image = format!("{}/{}:{}", Bed::get().registry(), site.image(), deployed_tag(&site));
    let labels = Bed::get().docker(&["image", "inspect", &image, "--format", "{{json .Config.Labels}}"]);
    assert_eq!(labels.trim(), r#"{"dev.tilt.built":"true","dev.tilt.gc":"true"}"#);
}

/// What runs stays, and so does the newest beside it.
#[test]
fn a_session_removes_old_images_when_its_first_updates_are_through() {
    let site = Site::new("prune-session");
    build_three(&site);
    let engine = EngineFront::new(true);
    let lilt = site.up().variable("DOCKER_HOST", engine.host()).start();
    lilt.wait_until_ready("web");
    lilt.wait_for_line("[Docker Prune] removed ");
    let summary = lilt.wait_for_line(" images, reclaimed ");
    assert!(summary.ends_with('B') && !summary.contains("reclaimed 0B"), "{summary}");
    lilt.wait_for_line(&format!("\t- untagged: {}/{}:tilt-", Bed::get().registry(), site.image()));
    lilt.wait_for_line("[Docker Prune] removed 1 caches, reclaimed 2MB");
    let left = tags(&site);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&deployed_tag(&site)), "{left:?}");
    lilt.quit();
}

#[test]
fn the_command_removes_at_once_and_always_says_what() {
    let site = Site::new("prune-command");
    build_three(&site);
    let prune = |engine: &EngineFront| {
        let start = Start::new(&site.project, &["docker-prune"]).on(&site.namespace);
        start.variable("DOCKER_HOST", engine.host()).run().clean(0).stdout()
    };
    // Nothing is old enough.
    let printed = prune(&EngineFront::new(false));
    assert!(printed.contains("[Docker Prune] removed 0 images, reclaimed 0B\n"), "{printed}");
    assert_eq!(tags(&site).len(), 3);

    let printed = prune(&EngineFront::new(true));
    assert!(printed.contains("[Docker Prune] removed 0 containers, reclaimed 0B\n"), "{printed}");
    assert!(printed.contains("\t- untagged: ") && printed.contains("\t- deleted: sha256:"), "{printed}");
    assert_eq!(tags(&site).len(), 1, "{printed}");
}

/// One that is away keeps nothing else from being removed; one for which nothing is built is not asked.
#[test]
fn the_command_goes_on_where_a_cluster_is_away() {
    let site = Site::new("prune-away");
    let kubectl = |arguments: &[&str]| site.namespace.kubectl(arguments);
    kubectl(&["config", "set-cluster", "kind-away", "--server=https://127.0.0.1:9"]);
    kubectl(&["config", "set-context", "away", "--cluster=kind-away"]);
    let more = "k8s_yaml('lost.yaml')\nk8s_resource('lost', context='away')\n";
    site.project.write("Tiltfile", &format!("{}{more}", site.tiltfile()));
    let engine = EngineFront::new(false);
    let prune = || {
        let start = Start::new(&site.project, &["docker-prune"]).on(&site.namespace);
        start.variable("DOCKER_HOST", engine.host()).run()
    };
    site.project.write("lost.yaml", &site.yaml("lost", site.image()));
    let ended = prune().clean(1);
    assert!(ended.stdout().contains("[Docker Prune] removed 0 images, reclaimed 0B\n"), "{}", ended.output());
    assert!(ended.output().contains("the cluster away: "), "{}", ended.output());

    site.project.write("lost.yaml", &site.idle("lost"));
    let printed = prune().clean(0).stdout();
    assert!(printed.contains("[Docker Prune] removed 0 images, reclaimed 0B\n"), "{printed}");
}
