//! One image in many resources.

mod support;

use lilt_api::{ObjectKey, ObjectKind};
use lilt_engine::{Event, FileChanges, Hold, Owner, Task, TaskId, UpdateJob, plan, project_resource_objects};
use lilt_model::ContainerId;
use lilt_model::files::IgnoreRule;
use lilt_model::project::{Project, Settings};
use lilt_model::resource::{Body, Resource};
use serde_json::json;
use support::*;

/// A deployment of its own that runs the images of others, each built on the one before.
fn running_images_of(name: &str, others: &[&str]) -> Resource {
    let mut resource = workload(name);
    if let Body::Kubernetes(kubernetes) = &mut resource.body {
        kubernetes.images = others
            .iter()
            .flat_map(|other| match workload(other).body {
                Body::Kubernetes(other) => other.images,
                _ => Vec::new(),
            })
            .collect();
        for index in 1..kubernetes.images.len() {
            kubernetes.images[index].depends_on = vec![kubernetes.images[index - 1].name.clone()];
        }
        kubernetes.images.iter_mut().for_each(|image| image.live_update = None);
    }
    resource
}

fn loaded(resources: Vec<Resource>) -> Script {
    let settings = Settings { max_parallel_updates: 4, ..Settings::default() };
    let mut script = Script::new();
    script.load_with(Project { resources, settings, ..Project::default() }).connect();
    script
}

fn build(script: &mut Script, resource: &str, image: &str, tag: &str) {
    let update = script.update_of(resource).expect("it runs");
    let reference = format!("{image}:{tag}");
    script.event(Event::ImageBuilt { resource: resource.into(), update, image: image.into(), reference });
}

fn shows(script: &Script, words: &str) {
    let shown = script.show();
    assert!(shown.lines().any(|line| line.contains(words)), "{words} is not in\n{shown}");
}

#[test]
fn an_image_of_two_resources_is_built_once() {
    let mut script = loaded(vec![running_images_of("a", &["app"]), running_images_of("b", &["app"])]);
    shows(&script, "update a: Initial Build (build app, deploy)");
    shows(&script, "b holds: waiting for the image app, which is being built for a");
    let hold = script.state.hold(&"b".into()).and_then(Hold::reason);
    assert_eq!(hold, Some("building-component"));
    // As soon as it is there, though the other is not deployed yet.
    build(&mut script, "a", "app", "1");
    shows(&script, "update b: Initial Build (reuse app:1, deploy)");
    script.deploy("a", "1").deploy("b", "1");
    assert!(script.update_of("a").is_none() && script.update_of("b").is_none(), "{}", script.show());

    // Both hear of a change, one after the other.
    script.save_image("b", "app", "/p/app/x").save_image("a", "app", "/p/app/x");
    shows(&script, "update b: 1 File Changed: [app/x] (build app, deploy)");
    shows(&script, "a holds: waiting for the image app");
    // Its own change came later than the build began, so that it may not be in the image.
    build(&mut script, "b", "app", "2");
    shows(&script, "update a: 1 File Changed: [app/x] (build app, deploy)");
}

/// With modification times, it is known to be one save, even where it is reported late.
#[test]
fn one_save_is_one_build_whoever_hears_of_it_first() {
    let mut script = loaded(vec![running_images_of("a", &["app"]), running_images_of("b", &["app"])]);
    build(&mut script, "a", "app", "1");
    script.deploy("a", "1").deploy("b", "1");
    let save = |script: &mut Script, resource: &str, written: i64| {
        let watch = lilt_engine::WatchId::Image(resource.into(), "app".into());
        let written = Some(lilt_model::Timestamp(written));
        script.event(
            FileChanges { watch, paths: vec!["/p/app/x".into()], existence: Default::default(), written }
                .into(),
        );
    };
    save(&mut script, "b", 1);
    shows(&script, "update b: 1 File Changed: [app/x] (build app, deploy)");
    save(&mut script, "a", 1);
    shows(&script, "a holds: waiting for the image app");
    build(&mut script, "b", "app", "2");
    shows(&script, "update a: 1 File Changed: [app/x] (reuse app:2, deploy)");
    script.deploy("a", "2").deploy("b", "2");
    // One that follows so soon that the time is the same is another one, for both.
    save(&mut script, "b", 1);
    build(&mut script, "a", "app", "3");
    shows(&script, "update b: 1 File Changed: [app/x] (reuse app:3, deploy)");
    script.deploy("a", "3").deploy("b", "3");
    save(&mut script, "a", 2);
    shows(&script, "update a: 1 File Changed: [app/x] (build app, deploy)");
}

#[test]
fn one_that_fails_or_goes_lets_the_others_go_on() {
    let all = || vec![running_images_of("a", &["app"]), running_images_of("b", &["app"])];
    let mut script = loaded(all());
    script.fail("a");
    shows(&script, "update b: Initial Build (build app, deploy)");

    let mut script = loaded(all());
    script.save_tiltfile().load(all().split_off(1));
    shows(&script, "update b: Initial Build (build app, deploy)");

    let mut script = loaded(all());
    let request = lilt_model::request::Request::Switch { enable: vec![], disable: vec!["a".into()] };
    script.event(Event::Requested { request });
    shows(&script, "update b: Initial Build (build app, deploy)");
}

/// An image is not reused on a different base image.
#[test]
fn chains_are_taken_over_as_a_whole() {
    let resources =
        || vec![running_images_of("a", &["base", "app"]), running_images_of("b", &["base", "app"])];
    let mut script = loaded(resources());
    build(&mut script, "a", "base", "1");
    shows(&script, "b holds: waiting for the image app");
    build(&mut script, "a", "app", "1");
    shows(&script, "update b: Initial Build (reuse base:1, reuse app:1, deploy)");
    script.deploy("a", "1").deploy("b", "1");

    // Another base of its own: b builds its image on it.
    let mut script =
        loaded(vec![running_images_of("a", &["base"]), running_images_of("b", &["base", "app"])]);
    build(&mut script, "a", "base", "1");
    shows(&script, "update b: Initial Build (reuse base:1, build app, deploy)");
    script.deploy("a", "1").deploy("b", "1");
    script.save_image("a", "base", "/p/base/x");
    build(&mut script, "a", "base", "2");
    script.deploy("a", "2");
    script.save_image("b", "app", "/p/app/x");
    shows(&script, "update b: 1 File Changed: [app/x] (reuse base:2, build app, deploy)");
}

/// An update that was given up for a newer save has not built in vain.
#[test]
fn what_was_built_before_an_update_was_given_up_is_used() {
    let mut script = loaded(vec![running_images_of("a", &["base", "app"])]);
    build(&mut script, "a", "base", "1");
    script.save_image("a", "app", "/p/app/x");
    shows(&script, "update a: Initial Build (reuse base:1, build app, deploy)");
    script.deploy("a", "1");
    script.save_image("a", "app", "/p/app/y");
    shows(&script, "update a: 1 File Changed: [app/y] (reuse base:1, build app, deploy)");
}

/// The web site is built on a base, of whose files it copies some into its containers.
fn on_a_base(own_live_update: bool) -> Script {
    let mut script = Script::loaded(vec![built_on_a_base(own_live_update)]);
    script.connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    script
}

fn built_on_a_base(own_live_update: bool) -> Resource {
    let mut resource = with_image_of(workload("web"), "base");
    if let Body::Kubernetes(spec) = &mut resource.body {
        spec.images[0].depends_on = vec!["base".into()];
        let sync = lilt_model::image::Sync { local: "/p/base/lib".into(), container: "/lib".into() };
        match &mut spec.images[0].live_update {
            Some(update) if own_live_update => update.syncs.push(sync),
            update => *update = None,
        }
        spec.images.reverse();
    }
    resource
}

/// The same, and a second container runs the base itself, which copies `/p/base/src` and `/p/base/lib`.
fn beside_its_base(own_live_update: bool) -> Script {
    let mut resource = built_on_a_base(own_live_update);
    if let Body::Kubernetes(spec) = &mut resource.body {
        spec.image_deps = vec!["base".into(), "web".into()];
        let sync = lilt_model::image::Sync { local: "/p/base/lib".into(), container: "/lib".into() };
        spec.images[0].live_update.as_mut().expect("it has one").syncs.push(sync);
    }
    let mut script = Script::loaded(vec![resource]);
    let mut pod = running("web", "web-1", "one", "c1");
    let mut base = running("base", "web-1", "one", "c2").containers.remove(0);
    base.name = "base".into();
    pod.containers.push(base);
    script.connect().deploy("web", "one").pod(pod);
    script
}

/// Its image has all that its base has: copying into the base's container alone would leave it stale.
#[test]
fn what_is_built_on_an_image_that_runs_gets_its_files_too() {
    let mut script = beside_its_base(true);
    script.save_image("web", "base", "/p/base/lib/x");
    shows(&script, r#"sync web c1: ["/p/base/lib/x"]"#);
    shows(&script, r#"sync web c2: ["/p/base/lib/x"]"#);
    script.synced("web", "c1", Ok(())).synced("web", "c2", Ok(()));
    assert_eq!(script.status("web"), "Ok/Ok");
    // Into the one it can be copied, into the other not.
    script.save_image("web", "base", "/p/base/src/y");
    shows(&script, "(build base, build web, deploy)");

    let mut script = beside_its_base(false);
    script.save_image("web", "base", "/p/base/lib/x");
    shows(&script, "(build base, build web, deploy)");
}

#[test]
fn files_of_a_base_image_go_into_the_containers_of_what_is_built_on_it() {
    let mut script = on_a_base(true);
    script.save_image("web", "base", "/p/base/lib/x");
    assert!(script.show().contains(r#"sync web c1: ["/p/base/lib/x"]"#), "{}", script.show());
    script.synced("web", "c1", Ok(()));
    assert_eq!(script.status("web"), "Ok/Ok");
    // Others are built, with what was copied before.
    script.save_image("web", "base", "/p/base/src/y");
    assert!(script.show().contains("(build base, build web, deploy)"), "{}", script.show());
}

/// A sync may begin in the context of a base, which has a list of its own of what is not worth copying.
#[test]
fn the_first_files_of_a_container_are_none_that_a_base_ignores() {
    let rule = |base: &str| IgnoreRule { base: base.into(), patterns: vec!["*.tmp".into()] };
    let mut resource = built_on_a_base(true);
    if let Body::Kubernetes(spec) = &mut resource.body {
        let everywhere = IgnoreRule::path("/p/.git");
        spec.images[0].files.ignores = vec![rule("/p/base"), everywhere.clone()];
        spec.images[1].files.ignores = vec![rule("/p/web"), everywhere];
        spec.images[1].live_update.as_mut().expect("it has one").initial_sync = true;
    }
    let mut script = Script::loaded(vec![resource]);
    script.connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    let task =
        plan(&script.state).remove(&TaskId::Sync(Owner::Resource("web".into()), ContainerId::new("c1")));
    let Some(Task::Sync { task, .. }) = task else { panic!("{}", script.show()) };
    let ignores = task.job.and_then(|job| job.everything).expect("all files are brought in").ignores;
    assert_eq!(ignores, [rule("/p/web"), IgnoreRule::path("/p/.git"), rule("/p/base")]);
    // Its object names the same sources.
    let key = ObjectKey::new(ObjectKind::LiveUpdate, "web:web");
    let object =
        project_resource_objects(&script.state, &"web".into()).into_iter().find(|(known, _)| *known == key);
    let sources = object.expect("it is told").1.content["spec"]["sources"].clone();
    let source = |name: &str| json!({"fileWatch": format!("image:{name}"), "imageMap": name});
    assert_eq!(sources, json!([source("web"), source("base")]));
}

#[test]
fn a_live_update_of_an_image_that_no_container_runs_is_a_build() {
    let mut script = on_a_base(false);
    script.save_image("web", "base", "/p/base/src/x");
    assert!(script.show().contains("(build base, build web, deploy)"), "{}", script.show());
}

/// A trigger in manual mode is how what was saved is asked for: only that is built, and what runs is not deleted.
#[test]
fn a_trigger_for_saved_files_updates_what_runs() {
    let mut script = loaded(vec![manual(running_images_of("a", &["lib", "app"]))]);
    script.deploy("a", "1").save_image("a", "app", "/p/app/Dockerfile");
    assert_eq!(script.update_of("a"), None, "{}", script.show());
    script.trigger("a");
    shows(&script, "update a: 1 File Changed: [app/Dockerfile] (reuse lib:1, build app, deploy)");
    assert!(!reruns(&script, "a"));
    // Without any, there is nothing else that it could mean.
    script.deploy("a", "2").trigger("a");
    shows(&script, "update a: Triggered by Hand (build lib, build app, deploy)");
    assert!(reruns(&script, "a"));
}

/// In this mode, saves are built at once, so a trigger requests a full update.
#[test]
fn trigger_in_automatic_mode_forces_full_update() {
    let mut script = loaded(vec![running_images_of("a", &["app"])]);
    script.save_image("a", "app", "/p/app/x").trigger("a").deploy("a", "1");
    assert!(reruns(&script, "a"), "{}", script.show());
}

fn reruns(script: &Script, resource: &str) -> bool {
    let task = plan(&script.state).remove(&TaskId::Update(resource.into()));
    let Some(Task::Update { job, .. }) = task else { panic!("no update of {resource} runs") };
    matches!(&*job, UpdateJob::Deploy(job) if job.rerun)
}
