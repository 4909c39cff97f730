//! Commands that run for as long as they are wanted: the same for servers of resources and for `Cmd` objects.

mod support;

use lilt_api::{Object, ObjectKey, ObjectKind};
use lilt_engine::{
    CommandExit, Event, OnExit, Owner, Task, TaskId, plan, project_object, project_resource_objects,
};
use lilt_model::Failure;
use lilt_model::request::Request;
use serde_json::{Value, json};
use support::*;

/// A session with a server and a `Cmd`, both with a probe, that were started.
fn both() -> (Script, [Owner; 2]) {
    let mut script = Script::loaded(vec![restarted(probed(server("web")))]);
    script.succeed("web");
    put_command(&mut script, "serve");
    (script, [Owner::Resource("web".into()), Owner::object(ObjectKind::Cmd, "c")])
}

fn put_command(script: &mut Script, argument: &str) {
    let mut object = Object::named("c");
    let probe = json!({"tcpSocket": {"port": 80}});
    object.content.insert("spec".to_owned(), json!({"args": [argument], "readinessProbe": probe}));
    let (key, uid) = (ObjectKey::new(ObjectKind::Cmd, "c"), "uid-c".to_owned());
    script.event(Event::ObjectPut { key, object: Box::new(object), uid });
}

fn run(script: &Script, owner: &Owner) -> Option<(u64, OnExit)> {
    match plan(&script.state).remove(&TaskId::Command(owner.clone()))? {
        Task::Command { run, on_exit, .. } => Some((run, on_exit)),
        other => panic!("{other:?} takes the slot of a command"),
    }
}

fn number(script: &Script, owner: &Owner) -> u64 {
    run(script, owner).expect("it is planned").0
}

fn is_probed(script: &Script, owner: &Owner) -> bool {
    plan(&script.state).contains_key(&TaskId::Probe(owner.clone()))
}

/// The status of the `Cmd` that stands for a command.
fn status(script: &Script, owner: &Owner) -> Value {
    let object = match owner {
        Owner::Object(key) => project_object(&script.state, key).map(|(_, object)| object),
        Owner::Resource(name) => {
            let key = ObjectKey::new(ObjectKind::Cmd, format!("{name}-serve"));
            let objects = project_resource_objects(&script.state, name);
            objects.into_iter().find(|(other, _)| *other == key).map(|(_, object)| object)
        }
    };
    let mut status = object.expect("there is one").content["status"].clone();
    let fields = status.as_object_mut().expect("an object");
    fields.remove("disableStatus");
    // A resource also says when its server is not ready.
    fields.retain(|_, value| *value != false);
    status
}

#[test]
fn server_and_cmd_report_the_same_statuses() {
    let (mut script, owners) = both();
    let runs = owners.clone().map(|owner| number(&script, &owner));
    let events: [fn(Owner, u64) -> Event; 5] = [
        |owner, run| Event::CommandStarted { owner, run, pid: 7 },
        |owner, run| Event::CommandProbed { owner, run, ready: false, cause: Some("refused".into()) },
        |owner, run| Event::CommandProbed { owner, run, ready: true, cause: None },
        |owner, run| Event::CommandEnded { owner, run, exit: CommandExit::Signal(9) },
        |owner, run| Event::CommandProbed { owner, run, ready: false, cause: None },
    ];
    assert_eq!(status(&script, &owners[0]), json!({"waiting": {}}));
    for event in events {
        for (owner, run) in owners.iter().zip(runs) {
            // Both see the same time.
            script.time = 100;
            script.event(event(owner.clone(), run));
        }
        assert_eq!(status(&script, &owners[0]), status(&script, &owners[1]));
    }
    let shown = status(&script, &owners[0]);
    assert_eq!((&shown["terminated"]["exitCode"], &shown["ready"]), (&json!(137), &json!(true)));
}

#[test]
fn command_is_probed_only_while_it_runs() {
    let (mut script, owners) = both();
    for owner in &owners {
        let run = number(&script, owner);
        assert!(!is_probed(&script, owner));
        script.event(Event::CommandStarted { owner: owner.clone(), run, pid: 7 });
        assert!(is_probed(&script, owner));
        script.event(Event::CommandEnded { owner: owner.clone(), run, exit: CommandExit::Code(0) });
        assert!(!is_probed(&script, owner));
    }
}

#[test]
fn events_of_an_earlier_run_are_ignored() {
    let (mut script, owners) = both();
    let before = owners.clone().map(|owner| number(&script, &owner));
    script.trigger("web").succeed("web");
    put_command(&mut script, "serve again");
    for (owner, run) in owners.iter().zip(before) {
        assert!(number(&script, owner) > run);
        script.event(Event::CommandStarted { owner: owner.clone(), run, pid: 7 });
        assert_eq!(status(&script, owner), json!({"waiting": {}}));
    }
}

#[test]
fn exited_server_is_restarted_and_exited_cmd_keeps_what_it_left() {
    let (mut script, owners) = both();
    let before = owners.clone().map(|owner| number(&script, &owner));
    // The server last: every event takes a second, after which it is restarted.
    for (owner, run) in owners.iter().zip(before).rev() {
        script.event(Event::CommandStarted { owner: owner.clone(), run, pid: 7 });
        script.event(Event::CommandEnded { owner: owner.clone(), run, exit: CommandExit::Code(1) });
    }
    assert_eq!(run(&script, &owners[0]), None);
    assert_eq!(run(&script, &owners[1]), Some((before[1], OnExit::Keep)));
    let at = script.alarm().expect("it will be restarted");
    script.time = at.0 / 1_000_000;
    script.event(Event::Woke);
    assert!(number(&script, &owners[0]) > before[0]);
    assert_eq!(number(&script, &owners[1]), before[1]);
}

#[test]
fn disabled_server_and_deleted_cmd_are_forgotten() {
    let (mut script, owners) = both();
    let runs = owners.clone().map(|owner| number(&script, &owner));
    script
        .event(Event::Requested { request: Request::Switch { enable: vec![], disable: vec!["web".into()] } });
    script.event(Event::ObjectDeleted { key: ObjectKey::new(ObjectKind::Cmd, "c"), keep_owned: false });
    for (owner, number) in owners.iter().zip(runs) {
        assert_eq!(run(&script, owner), None);
        script.event(Event::CommandStarted { owner: owner.clone(), run: number, pid: 7 });
    }
    put_command(&mut script, "serve");
    assert_eq!(status(&script, &owners[0]), json!({"waiting": {}}));
    assert_eq!(status(&script, &owners[1]), json!({"waiting": {}}));
}

#[test]
fn panic_of_a_runner_ends_the_command_and_of_a_probe_makes_it_unready() {
    let (mut script, owners) = both();
    for owner in &owners {
        let run = number(&script, owner);
        script.event(Event::CommandStarted { owner: owner.clone(), run, pid: 7 });
        script.event(Event::CommandProbed { owner: owner.clone(), run, ready: true, cause: None });
        let failure = Failure::internal("it panicked");
        script.event(Event::TaskBroke { task: TaskId::Probe(owner.clone()), failure: failure.clone() });
        assert_eq!(status(&script, owner).get("ready"), None);
        script.event(Event::TaskBroke { task: TaskId::Command(owner.clone()), failure });
        assert_eq!(status(&script, owner)["terminated"]["exitCode"], 1);
    }
}
