//! Images of objects that were made: when they are built, and what becomes of what builds on them.

mod support;

use lilt_api::{Object, ObjectKey, ObjectKind};
use lilt_engine::{BuiltReference, Event, FileChanges, Task, TaskId, plan_object, project_object};
use serde_json::{Value, json};
use support::*;

fn put(script: &mut Script, kind: ObjectKind, name: &str, spec: Value) {
    let mut object = Object::named(name);
    object.content.insert("spec".into(), spec);
    let key = ObjectKey::new(kind, name);
    script.event(Event::ObjectPut { key, object: Box::new(object), uid: format!("uid-{kind}-{name}") });
}

fn status(script: &Script, kind: ObjectKind, name: &str) -> Value {
    let found = project_object(&script.state, &ObjectKey::new(kind, name));
    found.map_or(Value::Null, |(_, object)| object.content["status"].clone())
}

fn build(script: &Script, name: &str) -> Option<u64> {
    let key = ObjectKey::new(ObjectKind::DockerImage, name);
    match plan_object(&script.state, &key).remove(&TaskId::Image(key.clone()))? {
        Task::Image { run, .. } => Some(run),
        _ => None,
    }
}

fn built(script: &mut Script, name: &str, tag: &str) {
    let run = build(script, name).expect("it is built");
    let in_cluster = format!("{name}:{tag}");
    let outcome = Ok(BuiltReference { local: in_cluster.clone(), in_cluster });
    script.event(Event::ObjectImageBuilt {
        key: ObjectKey::new(ObjectKind::DockerImage, name),
        run,
        record: None,
        outcome,
    });
}

#[test]
fn an_image_is_built_after_those_it_builds_on_and_again_with_them() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    put(script, ObjectKind::DockerImage, "web", json!({"ref": "web", "imageMaps": ["base"]}));
    assert_eq!(
        status(script, ObjectKind::DockerImage, "web")["waiting"]["reason"],
        "waiting for the ImageMap \"base\": there is none"
    );
    put(script, ObjectKind::ImageMap, "base", json!({"selector": "base"}));
    put(script, ObjectKind::ImageMap, "web", json!({"selector": "web"}));
    assert_eq!(build(script, "web"), None);
    put(script, ObjectKind::DockerImage, "base", json!({"ref": "base", "context": "/p/base"}));
    assert!(status(script, ObjectKind::DockerImage, "base")["building"].is_object());
    built(script, "base", "1");
    assert_eq!(status(script, ObjectKind::ImageMap, "base")["imageFromCluster"], "base:1");
    built(script, "web", "1");
    assert_eq!(status(script, ObjectKind::DockerImage, "web")["ref"], "web:1");
    assert_eq!(build(script, "web"), None, "it is done");
    let watch = lilt_engine::WatchId::Object("image:base".into());
    script.event(
        FileChanges { watch, paths: vec!["/p/base/a".into()], existence: Default::default(), written: None }
            .into(),
    );
    built(script, "base", "2");
    built(script, "web", "2");
    assert_eq!(status(script, ObjectKind::ImageMap, "web")["image"], "web:2");
}

#[test]
fn what_builds_on_itself_is_refused_and_the_newest_of_two_counts() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    put(script, ObjectKind::ImageMap, "a", json!({"selector": "a"}));
    put(script, ObjectKind::DockerImage, "a", json!({"ref": "a", "imageMaps": ["b"]}));
    put(script, ObjectKind::DockerImage, "b", json!({"ref": "b", "imageMaps": ["a"]}));
    assert_eq!(
        status(script, ObjectKind::DockerImage, "b")["waiting"]["reason"],
        "the image b builds on itself"
    );
    put(script, ObjectKind::DockerImage, "a", json!({"ref": "a"}));
    put(script, ObjectKind::DockerImage, "b", json!({"ref": "a"}));
    built(script, "b", "new");
    built(script, "a", "old");
    assert_eq!(status(script, ObjectKind::ImageMap, "a")["image"], "b:new");
}
