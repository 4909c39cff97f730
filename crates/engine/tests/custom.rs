//! Deployments by commands, and images that are not built here.

mod support;

use lilt_api::ObjectKind;
use lilt_engine::{Event, FileChanges, WatchId, project_resource_objects};
use lilt_model::Timestamp;
use lilt_model::kubernetes::DiscoveryStrategy;
use lilt_model::request::Request;
use lilt_model::resource::{Body, Resource};
use support::*;

fn save_deployment(script: &mut Script, name: &str) {
    let watch = WatchId::Deploy(name.into());
    let paths = vec![format!("/p/{name}.yaml").into()];
    script.event(FileChanges::new(watch, paths).into());
}

fn shows(script: &Script, words: &str) -> bool {
    script.show().lines().any(|line| line.contains(words))
}

#[test]
fn what_the_command_depends_on_deploys_again() {
    let mut script = Script::loaded(vec![deployed_by_command("web")]);
    script.connect();
    assert!(shows(&script, "update web: Initial Build (build web, deploy)"), "{}", script.show());
    script.deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
    save_deployment(&mut script, "web");
    assert!(
        shows(&script, "update web: 1 File Changed: [web.yaml] (reuse web:1, deploy)"),
        "{}",
        script.show()
    );
    // Its command may be at work: it is not cut off, and what was saved meanwhile comes next.
    let update = script.update_of("web");
    save_deployment(&mut script, "web");
    assert_eq!(script.update_of("web"), update);
    script.deploy("web", "1");
    assert!(script.update_of("web").is_some_and(|next| Some(next) != update), "{}", script.show());
    script.deploy("web", "1");
    assert_eq!(script.update_of("web"), None);
    // A failure waits for the next save.
    save_deployment(&mut script, "web");
    script.fail("web");
    assert_eq!(script.update_of("web"), None);
    save_deployment(&mut script, "web");
    assert!(script.update_of("web").is_some());
}

#[test]
fn pods_are_found_by_labels_too() {
    let mut resource = objects("op", &["ConfigMap"]);
    let Body::Kubernetes(kubernetes) = &mut resource.body else { unreachable!("it is one") };
    kubernetes.extra_pod_selectors = vec![[("made-by".to_owned(), "op".to_owned())].into()];
    let labelled = |pod: &str, value: &str| {
        let mut pod = running("another", pod, "1", "c1");
        (pod.owners, pod.template_hash) = (Vec::new(), None);
        pod.labels.insert("made-by".to_owned(), value.to_owned());
        pod
    };
    let mut script = Script::loaded(vec![resource.clone()]);
    // One is there before, one comes afterwards, one is of somebody else.
    script.connect().pod(labelled("before", "op")).deploy("op", "1");
    script.pod(labelled("after", "op")).pod(labelled("stranger", "you"));
    assert!(shows(&script, "follow op before") && shows(&script, "follow op after"), "{}", script.show());
    assert!(!shows(&script, "stranger"), "{}", script.show());
    script.pod(labelled("after", "you"));
    assert!(!shows(&script, "follow op after"), "its label is another now: {}", script.show());

    // By labels alone.
    let Body::Kubernetes(kubernetes) = &mut resource.body else { unreachable!("it is one") };
    kubernetes.discovery_strategy = Some(DiscoveryStrategy::SelectorsOnly);
    script.save_tiltfile().load(vec![resource]).deploy("op", "1");
    script.pod(running("op", "owned", "1", "c1"));
    assert!(shows(&script, "follow op before"), "{}", script.show());
    assert!(!shows(&script, "owned"), "{}", script.show());
}

/// The resource with a selector of pods with the label `app`.
fn selecting(mut resource: Resource, app: &str) -> Resource {
    let Body::Kubernetes(kubernetes) = &mut resource.body else { unreachable!("it is one") };
    kubernetes.extra_pod_selectors = vec![[("app".to_owned(), app.to_owned())].into()];
    resource
}

#[test]
fn pod_that_two_resources_select_is_followed_by_both() {
    let both = ["a", "b"].map(|name| selecting(objects(name, &["ConfigMap"]), "op"));
    let mut script = Script::loaded(both.into());
    let mut pod = running("op", "op-1", "1", "c1");
    (pod.owners, pod.template_hash) = (Vec::new(), None);
    script.connect().deploy("a", "1").pod(pod).deploy("b", "1");
    assert!(shows(&script, "follow a op-1") && shows(&script, "follow b op-1"), "{}", script.show());
    script.event(Event::PodGone { pod: pod_ref("op-1") });
    assert!(!shows(&script, "op-1"), "{}", script.show());
}

/// As the registry of ocm-controller, which is a resource of its own.
#[test]
fn pod_of_another_resource_is_followed_and_forwarded_to_where_a_selector_finds_it() {
    for found_first in [false, true] {
        let note = selecting(objects("note", &["ConfigMap"]), "registry");
        let resources = vec![selecting(workload("web"), "registry"), workload("registry"), note];
        let mut script = Script::loaded(resources);
        let mut pod = running("registry", "registry-1", "r", "c2");
        (pod.ready, pod.created) = (false, Timestamp(5_000_000));
        script.connect();
        if found_first {
            script.pod(pod.clone());
        }
        script.deploy("web", "1").deploy("registry", "r");
        let mut outcome = script.deployed_outcome("note", "1");
        outcome.deployed.as_mut().expect("it was").template_hashes.clear();
        let update = script.update_of("note").expect("an update runs");
        script.event(Event::UpdateEnded { resource: "note".into(), update, outcome: Box::new(outcome) });
        script.pod(running("web", "web-1", "1", "c1")).pod(pod.clone());
        for name in ["web", "registry", "note"] {
            assert!(shows(&script, &format!("follow {name} registry-1")), "{}", script.show());
        }
        // It is not of this resource's deployment: only one that deploys no pods is as ready as what it selects.
        assert_eq!(script.status("web"), "Ok/Ok");
        assert_eq!(script.status("registry"), "Ok/Pending");
        assert_eq!(script.status("note"), "Ok/Pending");
        assert!(shows(&script, "forward web 8000: to web-1:80"), "{}", script.show());
        pod.ready = true;
        script.pod(pod);
        assert_eq!(script.status("note"), "Ok/Ok");
        assert!(shows(&script, "forward web 8000: to registry-1:80"), "{}", script.show());
        let reported = project_resource_objects(&script.state, &"web".into());
        let names = |kind: ObjectKind| {
            let objects = reported.iter().filter(|(key, _)| key.kind == kind);
            objects.map(|(key, _)| key.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(ObjectKind::PortForward), ["web-registry-1"]);
        assert_eq!(names(ObjectKind::PodLogStream), ["web-default-registry-1", "web-default-web-1"]);
        // Only the resource that deployed the pod copies files into it.
        assert!(shows(&script, "sync registry c2") && !shows(&script, "sync web c2"), "{}", script.show());
        script.event(Event::PodGone { pod: pod_ref("registry-1") });
        assert!(!shows(&script, "registry-1"), "{}", script.show());
    }
}

#[test]
fn the_other_command_deletes() {
    let mut script = Script::loaded(vec![deployed_by_command("web"), deployed_by_command("never")]);
    let disable = |names: &[&str]| Event::Requested {
        request: Request::Switch {
            enable: Vec::new(),
            disable: names.iter().map(|name| (*name).into()).collect(),
        },
    };
    script.event(disable(&["never"])).connect();
    assert_eq!(script.cleanup(), None, "it was never begun");
    script.deploy("web", "1");
    script.event(disable(&["web"]));
    assert!(shows(&script, "delete web"), "{}", script.show());
    let cleanup = script.cleanup().expect("it is deleted");
    script.event(Event::CleanedUp { cleanup });
    script.event(Event::Requested {
        request: Request::Switch { enable: vec!["web".into()], disable: Vec::new() },
    });
    script.deploy("web", "2").save_tiltfile().load(Vec::new());
    assert!(shows(&script, "delete web"), "{}", script.show());
}

#[test]
fn a_deployment_may_change_hands() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "1");
    script.save_tiltfile().load(vec![deployed_by_command("web")]);
    script.deploy("web", "1");
    assert_eq!(script.cleanup(), None, "the command has deployed the same object");
    script.save_tiltfile().load(vec![workload("web")]);
    assert!(shows(&script, "delete web"), "{}", script.show());
    assert_eq!(script.update_of("web"), None, "not before that is done");
    let cleanup = script.cleanup().expect("it is deleted");
    script.event(Event::CleanedUp { cleanup });
    assert!(script.update_of("web").is_some());
}

#[test]
fn images_from_elsewhere_only_take_live_updates() {
    let mut script = Script::loaded(vec![not_built(workload("web"))]);
    script.connect();
    assert!(shows(&script, "update web: Initial Build (deploy)"), "{}", script.show());
    // The pod's image is web:1: any tag of the name is meant.
    script.deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
    script.save_image("web", "web", "/p/web/src/a");
    assert!(shows(&script, "sync web c1: [\"/p/web/src/a\"]"), "{}", script.show());
    script.synced("web", "c1", Ok(()));
    // Beside the sync: deployed again, once.
    script.save_image("web", "web", "/p/web/other");
    assert!(shows(&script, "1 File Changed: [web/other] (deploy)"), "{}", script.show());
    script.deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
    assert_eq!(script.update_of("web"), None, "{}", script.show());
    // A container that started again gets what was synced.
    script.pod(running("web", "web-1", "1", "c2"));
    assert!(shows(&script, "sync web c2: [\"/p/web/src/a\"]"), "{}", script.show());
}

#[test]
fn save_in_two_watches_runs_the_deploy_command_once() {
    let mut script = Script::loaded(vec![not_built(deployed_by_command("web"))]);
    script.connect().deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
    for image_first in [false, true] {
        // `deps` of k8s_custom_deploy are the files of the image, too.
        if image_first {
            script.save_image("web", "web", "/p/web.yaml");
        }
        save_deployment(&mut script, "web");
        assert!(shows(&script, "1 File Changed: [web.yaml] (deploy)"), "{}", script.show());
        if !image_first {
            script.save_image("web", "web", "/p/web.yaml");
        }
        script.deploy("web", "1");
        assert_eq!(script.update_of("web"), None, "{}", script.show());
    }
}

/// A command may change nothing, such as `kubectl apply` of the same file: the container is still there, without the save.
#[test]
fn container_that_outlives_the_deploy_command_gets_what_it_lacks() {
    let mut script = Script::loaded(vec![not_built(deployed_by_command("web"))]);
    script.connect().deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
    script.save_image("web", "web", "/p/web/src/a");
    script.event(Event::Requested { request: Request::Cancel { resource: "web".into() } });
    script.save_image("web", "web", "/p/web/src/a");
    assert!(shows(&script, "(deploy)"), "{}", script.show());
    script.deploy("web", "1");
    assert!(shows(&script, "sync web c1: [\"/p/web/src/a\"]"), "{}", script.show());
}

#[test]
fn deploy_command_includes_changes_that_were_synced_before() {
    let mut script = Script::loaded(vec![not_built(deployed_by_command("web"))]);
    script.connect().deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
    script.save_image("web", "web", "/p/web/src/a");
    script.synced("web", "c1", Ok(()));
    save_deployment(&mut script, "web");
    // Saved while the command runs: it may have missed this one.
    script.save_image("web", "web", "/p/web/src/b");
    script.deploy("web", "1").pod(running("web", "web-2", "1", "c2")).synced("web", "c1", Ok(()));
    assert!(shows(&script, "sync web c2: [\"/p/web/src/b\"]"), "{}", script.show());
    assert!(!shows(&script, "/p/web/src/a"), "{}", script.show());
    script.synced("web", "c2", Ok(()));
    // A command that waits for its pods, such as `helm --wait`: one runs before it ends.
    save_deployment(&mut script, "web");
    let mut early = running("web", "web-3", "1", "c3");
    early.created = Timestamp(script.time * 1_000_000);
    script.pod(early).save_image("web", "web", "/p/web/src/d");
    script.deploy("web", "1");
    assert!(shows(&script, "sync web c3: [\"/p/web/src/d\"]"), "{}", script.show());
}
