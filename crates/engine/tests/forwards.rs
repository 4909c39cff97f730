//! Port forwards and log streams: the same for resources and for API objects.

mod support;

use lilt_api::{Object, ObjectKey, ObjectKind};
use lilt_engine::{Event, ForwardSlot, ForwardState, Owner, Task, plan, project_object};
use lilt_model::request::Request;
use lilt_model::{Failure, ResourceName};
use serde_json::{Value, json};
use support::*;

/// Writes an object as a client does; what it does is logged for the resource `log`.
fn put(script: &mut Script, kind: ObjectKind, name: &str, log: &str, spec: Value) {
    let mut object = Object::named(name);
    object.metadata.insert("annotations".to_owned(), json!({"tilt.dev/resource": log}));
    object.content.insert("spec".to_owned(), spec);
    let key = ObjectKey::new(kind, name);
    script.event(Event::ObjectPut { key, object: Box::new(object), uid: format!("uid-{name}") });
}

fn forwards(script: &mut Script, forwards: Value) {
    put(
        script,
        ObjectKind::PortForward,
        "f",
        "web",
        json!({"podName": "web-1", "namespace": "default", "forwards": forwards}),
    );
}

fn tasks(script: &Script, owner: &Owner) -> Vec<Task> {
    let is_own = |task: &Task| match task {
        Task::Forward { owner: other, .. } | Task::LogStream { owner: other, .. } => other == owner,
        _ => false,
    };
    plan(&script.state).into_values().filter(is_own).collect()
}

fn slots(script: &Script, owner: &Owner) -> Vec<(ForwardSlot, u16)> {
    let slot = |task| match task {
        Task::Forward { slot, forward, .. } => Some((slot, forward.container_port)),
        _ => None,
    };
    tasks(script, owner).into_iter().filter_map(slot).collect()
}

fn report(script: &mut Script, owner: &Owner, slot: &ForwardSlot, local_port: u16, state: ForwardState) {
    script.event(Event::ForwardChanged { owner: owner.clone(), slot: slot.clone(), local_port, state });
}

fn statuses(script: &Script) -> Value {
    let (_, object) =
        project_object(&script.state, &ObjectKey::new(ObjectKind::PortForward, "f")).expect("it is there");
    object.content["status"]["forwardStatuses"].clone()
}

fn with_pod() -> Script {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "1");
    script.pod(running("web", "web-1", "1", "c1"));
    script
}

#[test]
fn forwards_of_an_object_keep_running_when_they_are_reordered() {
    let mut script = with_pod();
    let owner = Owner::object(ObjectKind::PortForward, "f");
    let (one, two) =
        (json!({"localPort": 1, "containerPort": 80}), json!({"localPort": 2, "containerPort": 81}));
    forwards(&mut script, json!([one, two]));
    let before = tasks(&script, &owner);
    let listening = slots(&script, &owner)[1].0.clone();
    report(&mut script, &owner, &listening, 2, ForwardState::Listening);
    forwards(&mut script, json!([two, one]));
    assert_eq!(tasks(&script, &owner), before);
    assert_eq!(statuses(&script)[0]["addresses"], json!(["localhost"]));
    assert_eq!(statuses(&script)[1]["addresses"], json!([]));
}

#[test]
fn free_ports_of_an_object_get_distinct_slots() {
    let mut script = with_pod();
    let owner = Owner::object(ObjectKind::PortForward, "f");
    forwards(&mut script, json!([{"containerPort": 80}, {"containerPort": 81}]));
    let slots = slots(&script, &owner);
    assert_eq!(slots.iter().map(|(_, port)| *port).collect::<Vec<_>>(), [80, 81]);
    for (local_port, (slot, _)) in (4000..).zip(&slots) {
        report(&mut script, &owner, slot, local_port, ForwardState::Listening);
    }
    assert_eq!(statuses(&script)[0]["localPort"], 4000);
    assert_eq!(statuses(&script)[1]["localPort"], 4001);
}

#[test]
fn changed_forward_of_an_object_loses_its_status() {
    let mut script = with_pod();
    let owner = Owner::object(ObjectKind::PortForward, "f");
    forwards(&mut script, json!([{"localPort": 1, "containerPort": 80}]));
    let slot = slots(&script, &owner)[0].0.clone();
    report(&mut script, &owner, &slot, 1, ForwardState::Failed(Failure::environment("taken")));
    assert_eq!(statuses(&script)[0]["error"], "taken");
    forwards(&mut script, json!([{"localPort": 1, "containerPort": 81}]));
    assert_eq!(statuses(&script)[0].get("error"), None);
}

#[test]
fn forward_of_a_disabled_resource_loses_its_status() {
    let mut script = with_pod();
    let owner = Owner::Resource("web".into());
    let slot = slots(&script, &owner)[0].0.clone();
    report(&mut script, &owner, &slot, 8000, ForwardState::Failed(Failure::environment("taken")));
    let broken = |script: &Script| {
        let resource = lilt_engine::project_resource(&script.state, &"web".into()).expect("it is there");
        resource.metadata.annotations.get("lilt.dev/forwards").cloned()
    };
    assert_eq!(broken(&script).as_deref(), Some("taken"));
    let names = || vec![ResourceName::new("web")];
    script.event(Event::Requested { request: Request::Switch { enable: vec![], disable: names() } });
    assert_eq!(tasks(&script, &owner), []);
    script.event(Event::Requested { request: Request::Switch { enable: names(), disable: vec![] } });
    assert_eq!(broken(&script), None);
}

#[test]
fn forwards_and_log_streams_restart_to_write_to_another_log() {
    let mut script = with_pod();
    for kind in [ObjectKind::PortForward, ObjectKind::PodLogStream] {
        let spec = json!({"podName": "web-1", "pod": "web-1", "namespace": "default", "forwards": [{"containerPort": 80}]});
        put(&mut script, kind, "f", "web", spec.clone());
        let owner = Owner::object(kind, "f");
        let before = tasks(&script, &owner);
        put(&mut script, kind, "f", "other", spec);
        let after = tasks(&script, &owner);
        assert_eq!((before.len(), after.len()), (1, 1));
        assert_eq!(before[0].id(), after[0].id());
        assert!(before[0].continues(&before[0]) && !before[0].continues(&after[0]));
    }
}

#[test]
fn log_stream_goes_on_with_another_filter_and_restarts_for_another_pod() {
    let mut script = with_pod();
    script.pod(running("web", "web-2", "1", "c2"));
    let owner = Owner::object(ObjectKind::PodLogStream, "s");
    let spec =
        |pod: &str, ignored: Value| json!({"pod": pod, "namespace": "default", "ignoreContainers": ignored});
    put(&mut script, ObjectKind::PodLogStream, "s", "web", spec("web-1", json!([])));
    let before = tasks(&script, &owner);
    put(&mut script, ObjectKind::PodLogStream, "s", "web", spec("web-1", json!(["main"])));
    let filtered = tasks(&script, &owner);
    assert!(before[0] != filtered[0] && before[0].continues(&filtered[0]));
    put(&mut script, ObjectKind::PodLogStream, "s", "web", spec("web-2", json!([])));
    assert_ne!(tasks(&script, &owner)[0].id(), before[0].id());
}
