//! Objects of the API in random scripts: what people and scripts write, and what becomes of it.

use lilt_api::check::check;
use lilt_api::kinds::kinds;
use lilt_api::{Notes, Object, ObjectKey, ObjectKind};
use lilt_engine::{
    AppliedObjects, BuiltReference, CommandExit, Event, FileChanges, ForwardState, Owner, Plan, State,
    SyncFault, Task, TaskId, WatchId, plan,
};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::{ClusterName, Failure, ResourceName, Uid, Unreachable};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Kinds that act without another machine; with what they are named after.
const KINDS: [ObjectKind; 13] = [
    ObjectKind::Cmd,
    ObjectKind::FileWatch,
    ObjectKind::UIButton,
    ObjectKind::ConfigMap,
    ObjectKind::ToggleButton,
    ObjectKind::KubernetesApply,
    ObjectKind::KubernetesDiscovery,
    ObjectKind::PortForward,
    ObjectKind::ImageMap,
    ObjectKind::PodLogStream,
    ObjectKind::DockerImage,
    ObjectKind::CmdImage,
    ObjectKind::LiveUpdate,
];
/// Names that objects share, so that they find one another; two switch resources.
const NAMES: [&str; 4] = ["o0", "o1", "a-disable", "w-disable"];

/// One thing that happens to an object; numbers choose among what is possible then.
#[derive(Clone, Debug)]
pub(crate) enum ObjectStep {
    Put(usize, usize, u8, bool),
    Delete(usize, usize, bool),
    Click(usize),
    Note(usize),
    /// The task of an object starts, succeeds, fails, or ends because a dependency is unreachable.
    Answer(usize, u8),
    /// A burst of saves, which one or two watches see.
    Save(usize, bool),
    OutageOver(usize),
}

pub(crate) fn object_step() -> impl Strategy<Value = ObjectStep> {
    let (kind, name) = (0..KINDS.len(), 0..NAMES.len());
    prop_oneof![
        6 => (kind.clone(), name.clone(), any::<u8>(), any::<bool>())
            .prop_map(|(kind, name, how, owned)| ObjectStep::Put(kind, name, how, owned)),
        2 => (kind, name.clone(), any::<bool>()).prop_map(|(kind, name, keep)| ObjectStep::Delete(kind, name, keep)),
        3 => name.clone().prop_map(ObjectStep::Click),
        1 => name.prop_map(ObjectStep::Note),
        6 => (0usize..8, 0u8..4).prop_map(|(which, how)| ObjectStep::Answer(which, how)),
        2 => (0usize..4, any::<bool>()).prop_map(|(which, both)| ObjectStep::Save(which, both)),
        1 => (0usize..3).prop_map(ObjectStep::OutageOver),
    ]
}

/// Returns the event of a step, given the state. `time` makes clicks and uids unique.
pub(crate) fn event(state: &State, step: &ObjectStep, time: i64) -> Option<Event> {
    match step {
        ObjectStep::Put(kind, name, how, owned) => {
            let key = ObjectKey::new(KINDS[*kind], NAMES[*name]);
            let mut object = Object::named(&key.name);
            object.content = content(key.kind, *how).as_object().cloned().unwrap_or_default();
            if *owned {
                let owner = format!("uid-{}", KINDS[usize::from(*how) % KINDS.len()]);
                object.metadata.insert("ownerReferences".into(), json!([{"uid": owner}]));
            }
            let uid = format!("uid-{}", key.kind);
            Some(Event::ObjectPut { key, object: Box::new(object), uid })
        }
        ObjectStep::Delete(kind, name, keep_owned) => {
            let key = ObjectKey::new(KINDS[*kind], NAMES[*name]);
            Some(Event::ObjectDeleted { key, keep_owned: *keep_owned })
        }
        ObjectStep::Click(name) => Some(click(["o0", "o1", "toggle-o0", "a-stopbuild"][*name], time)),
        ObjectStep::Note(name) => {
            let notes =
                Notes { labels: [("k".to_owned(), Some(time.to_string()))].into(), ..Notes::default() };
            let key = ObjectKey::new(ObjectKind::UIResource, ["a", "w", "c", "d"][*name]);
            let of = key.name.as_str().into();
            Some(Event::ObjectNoted { key, of, notes: Box::new(notes) })
        }
        ObjectStep::Answer(which, how) => answer(&plan(state), *which, *how),
        ObjectStep::Save(which, both) => save(&plan(state), *which, *both, time),
        ObjectStep::OutageOver(which) => outage_over(&plan(state), *which),
    }
}

fn click(button: &str, time: i64) -> Event {
    let mut object = Object::named(button);
    let location = json!({"componentID": "a", "componentType": "Resource"});
    let inputs = json!([{"name": "action", "hidden": {"value": if time % 2 == 0 { "on" } else { "off" }}}]);
    let at = lilt_model::Timestamp(time * 1_000_000);
    object.content.insert("spec".into(), json!({"text": "b", "location": location}));
    object.content.insert("status".into(), json!({"lastClickedAt": at, "inputs": inputs}));
    let uid = "uid-UIButton".to_owned();
    Event::ObjectPut { key: ObjectKey::new(ObjectKind::UIButton, button), object: Box::new(object), uid }
}

/// Returns the content of objects: bits choose the objects that they name.
fn content(kind: ObjectKind, how: u8) -> Value {
    let is = |bit: u8| how & (1 << bit) != 0;
    let map = json!({"configMap": {"name": if is(4) { "o0" } else { "a-disable" }, "key": "isDisabled"}});
    let source = if is(5) { map } else { Value::Null };
    let restart = json!({"fileWatches": ["o0", "local:a"], "uiButtons": ["o1"]});
    let restart = if is(6) { restart } else { Value::Null };
    let word = ["true", "false", "maybe"][usize::from(how % 3)];
    let command = |word: &str| json!({"args": [word, how % 2]});
    match kind {
        ObjectKind::Cmd => {
            let probe = json!({"tcpSocket": {"port": 1234}, "periodSeconds": 1});
            json!({"spec": {"args": ["run", (how % 2).to_string()], "disableSource": source, "restartOn": restart,
            "readinessProbe": if is(3) { probe } else { Value::Null },
            "startOn": if is(7) { json!({"uiButtons": ["o0"]}) } else { Value::Null }}})
        }
        ObjectKind::FileWatch => {
            json!({"spec": {"watchedPaths": [format!("/o/{}", how % 2)], "disableSource": source}})
        }
        ObjectKind::UIButton => {
            json!({"spec": {"text": "b", "location": {"componentID": "a", "componentType": "Resource"}}})
        }
        ObjectKind::ConfigMap => json!({"data": {"isDisabled": word}}),
        ObjectKind::ToggleButton => {
            json!({"spec": {"location": {}, "on": {"text": "1"}, "off": {"text": "0"}, "defaultOn": false,
            "stateSource": {"configMap": {"name": "o1", "key": "isDisabled", "onValue": "true", "offValue": "false"}}}})
        }
        ObjectKind::KubernetesApply if is(1) => {
            json!({"spec": {"applyCmd": command("apply"), "deleteCmd": command("delete"),
            "disableSource": source, "restartOn": restart}})
        }
        ObjectKind::KubernetesApply => {
            json!({"spec": {"yaml": format!("text {}", how % 4), "disableSource": source,
            "imageMaps": if is(2) { json!(["w"]) } else { json!([]) }, "restartOn": restart,
            "portForwardTemplateSpec": {"forwards": [{"containerPort": 80}]}}})
        }
        ObjectKind::KubernetesDiscovery => {
            json!({"spec": {"watches": [{"namespace": "default", "uid": "uid-w"}],
            "portForwardTemplateSpec": {"forwards": [{"containerPort": 80}]}}})
        }
        ObjectKind::PortForward => {
            json!({"spec": {"podName": format!("pod-{}", how % 3), "namespace": "default",
            "forwards": [{"containerPort": 80, "localPort": u16::from(how % 2)}, {"containerPort": 81}]}})
        }
        ObjectKind::PodLogStream => json!({"spec": {"pod": format!("pod-{}", how % 3)}}),
        ObjectKind::DockerImage => json!({"spec": {"ref": format!("o{}", how % 2), "context": "/o",
            "imageMaps": if is(2) { json!(["o1"]) } else { json!([]) }}}),
        ObjectKind::CmdImage => {
            json!({"spec": {"ref": format!("c{}", how % 2), "args": ["build", (how % 4).to_string()],
            "imageMaps": if is(2) { json!(["o1"]) } else { json!([]) }}})
        }
        ObjectKind::LiveUpdate => {
            json!({"spec": {"basePath": "/o", "syncs": [{"localPath": ".", "containerPath": "/o"}],
            "sources": [{"fileWatch": "o0", "imageMap": "o0"}], "stopPaths": if is(2) { json!(["1"]) } else { json!([]) },
            "selector": {"kubernetes": {"discoveryName": if is(3) { "w" } else { "o0" }, "containerName": "w"}}}})
        }
        _ => json!({"spec": {"selector": "w"}, "status": {"image": format!("w:{}", how % 3)}}),
    }
}

/// Returns an event that the runner of a task may report, for resources and objects alike.
fn answer(plan: &Plan, which: usize, how: u8) -> Option<Event> {
    let failure = |message: &str| match how {
        3 => Failure::environment("no answer").of_kind(Unreachable::Cluster),
        _ => Failure::user(message),
    };
    let answers: Vec<Event> = plan
        .values()
        .filter_map(|task| match task {
            Task::Command { owner, run, .. } => {
                let (owner, run) = (owner.clone(), *run);
                Some(match how {
                    0 => Event::CommandStarted { owner, run, pid: 7 },
                    1 => Event::CommandEnded { owner, run, exit: CommandExit::Code(0) },
                    _ => Event::CommandEnded { owner, run, exit: CommandExit::Signal(9) },
                })
            }
            Task::Probe { owner, run, .. } => {
                let cause = (how == 2).then(|| "connection refused".to_owned());
                Some(Event::CommandProbed { owner: owner.clone(), run: *run, ready: how == 1, cause })
            }
            Task::Apply { name, run, .. } => {
                let outcome = if how >= 2 { Err(failure("refused")) } else { Ok(applied(name)) };
                Some(match how {
                    0 => coming(name.clone(), *run),
                    _ => Event::ObjectsApplied { name: name.clone(), run: *run, outcome },
                })
            }
            Task::Image { object: key, run, .. } => {
                let outcome = if how >= 2 { Err(failure("no such file")) } else { Ok(built(*run)) };
                Some(Event::ObjectImageBuilt { key: key.clone(), run: *run, record: None, outcome })
            }
            Task::Sync { owner: owner @ Owner::Object(_), task, .. } => {
                let outcome = match how {
                    2 => Err(SyncFault::Step(failure("a step failed"))),
                    3 => Err(SyncFault::Transport(failure("no connection"))),
                    _ => Ok(()),
                };
                let (update, container) = (task.job.as_ref()?.update, task.id.clone());
                Some(Event::Synced { owner: owner.clone(), update, container, outcome })
            }
            Task::Forward { owner, slot, .. } => {
                let failed = ForwardState::Failed(Failure::environment("taken"));
                let state = if how == 2 { failed } else { ForwardState::Listening };
                let (owner, slot) = (owner.clone(), slot.clone());
                Some(Event::ForwardChanged { owner, slot, local_port: 4000, state })
            }
            _ => None,
        })
        .collect();
    answers.get(which % answers.len().max(1)).cloned()
}

fn coming(name: String, run: u64) -> Event {
    let objects = applied(&name).objects;
    let (resource, cluster) = (ResourceName::new("w"), ClusterName::default());
    Event::ObjectsComing { name, run, resource, cluster, objects }
}

fn applied(name: &str) -> AppliedObjects {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    let reference = ObjectRef::of(&object).expect("an object");
    AppliedObjects {
        uids: vec![(reference, Uid::new("uid-w"))],
        objects: vec![object],
        result: String::new(),
    }
}

fn built(run: u64) -> BuiltReference {
    BuiltReference { local: format!("o:{run}"), in_cluster: format!("registry/o:{run}") }
}

fn outage_over(plan: &Plan, which: usize) -> Option<Event> {
    let outage = |task: &Task| match task {
        Task::Outage { id, .. } => Some(Event::OutageOver { outage: *id }),
        _ => None,
    };
    let outages: Vec<Event> = plan.values().filter_map(outage).collect();
    outages.get(which % outages.len().max(1)).cloned()
}

fn save(plan: &Plan, which: usize, both: bool, time: i64) -> Option<Event> {
    let own = |id: &TaskId| match id {
        TaskId::Watch(watch @ WatchId::Object(_)) => Some(watch.clone()),
        _ => None,
    };
    let watches: Vec<WatchId> = plan.keys().filter_map(own).collect();
    let first = watches.get(which % watches.len().max(1))?;
    let second = watches.get((which + 1) % watches.len()).filter(|second| both && *second != first);
    let saved = |watch: &WatchId| FileChanges::new(watch.clone(), vec![format!("/o/{time}").into()]);
    Some(Event::FilesChanged { changes: [first].into_iter().chain(second).map(saved).collect() })
}

/// Lets what runs for objects go on: what has not begun begins, what is applied is applied.
pub(crate) fn settling(state: &State) -> Option<Event> {
    let plan = plan(state);
    plan.values().find_map(|task| match task {
        Task::Apply { name, run, .. } => {
            let outcome = Ok(applied(name));
            Some(Event::ObjectsApplied { name: name.clone(), run: *run, outcome })
        }
        Task::Image { object: key, run, .. } => Some(Event::ObjectImageBuilt {
            key: key.clone(),
            run: *run,
            record: None,
            outcome: Ok(built(*run)),
        }),
        Task::Sync { owner: owner @ Owner::Object(_), task, .. } => {
            let update = task.job.as_ref()?.update;
            let (owner, container) = (owner.clone(), task.id.clone());
            Some(Event::Synced { owner, update, container, outcome: Ok(()) })
        }
        Task::Outage { id, .. } => Some(Event::OutageOver { outage: *id }),
        Task::Command { owner: owner @ Owner::Object(key), run, .. } => {
            let (_, object) = lilt_engine::project_object(state, key)?;
            let is_waiting = object.content["status"].get("waiting").is_some();
            is_waiting.then_some(Event::CommandStarted { owner: owner.clone(), run: *run, pid: 7 })
        }
        _ => None,
    })
}

/// Checks every object once nothing runs any more.
pub(crate) fn check_settled(state: &State) {
    for key in state.object_keys() {
        let (_, object) = lilt_engine::project_object(state, key).expect("it is there");
        let content = Value::Object(object.content.clone());
        let get = |pointer: &str| content.pointer(pointer);
        let is_off = get("/status/disableStatus/disabled") == Some(&json!(true));
        let buttons = get("/spec/startOn/uiButtons").and_then(Value::as_array);
        match key.kind {
            ObjectKind::Cmd if !is_off && buttons.is_none_or(Vec::is_empty) => {
                assert!(get("/status/waiting").is_none(), "{key} never began: {object:?}");
            }
            ObjectKind::LiveUpdate => {
                let owner = Owner::Object(key.clone());
                let is_its = |task: &&Task| matches!(task, Task::Sync { owner: it, .. } if *it == owner);
                let syncs = plan(state);
                let jobs = syncs.values().filter(is_its).filter(|task| match task {
                    Task::Sync { task, .. } => task.job.is_some(),
                    _ => false,
                });
                assert_eq!(jobs.count(), 0, "{key} has copied everything: {object:?}");
            }
            ObjectKind::DockerImage | ObjectKind::CmdImage => {
                let reported = ["/status/completed", "/status/waiting"].map(|field| get(field).is_some());
                assert!(reported.contains(&true), "{key} is neither built nor says why not: {object:?}");
            }
            ObjectKind::PortForward => {
                let count = |field| get(field).and_then(Value::as_array).map(Vec::len);
                assert_eq!(count("/status/forwardStatuses"), count("/spec/forwards"), "{key}: {object:?}");
            }
            ObjectKind::KubernetesApply if !is_off => {
                let reported = ["/status/lastApplyTime", "/status/error"].map(|field| get(field).is_some());
                assert!(reported.contains(&true), "{key} is neither applied nor says why not: {object:?}");
            }
            _ => {}
        }
        let mut whole =
            json!({"apiVersion": "tilt.dev/v1alpha1", "kind": key.kind, "metadata": object.metadata});
        whole.as_object_mut().expect("an object").extend(object.content.clone());
        let kind = kinds().of(key.kind);
        // Objects written by the script itself are not checked.
        whole.as_object_mut().expect("an object").remove("spec");
        whole["metadata"].as_object_mut().expect("an object").remove("ownerReferences");
        assert_eq!(check(kind, &whole), vec![], "{key} is served with Tilt's fields alone");
    }
}
