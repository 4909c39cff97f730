//! `LiveUpdate` objects: the files copied into each container, and the status.

mod support;

use lilt_api::{Object, ObjectKey, ObjectKind};
use lilt_engine::{
    Event, FileChanges, Outage, Owner, SyncFault, SyncTask, Task, TaskId, WatchId, plan, plan_object,
    project_object,
};
use lilt_model::files::WatchOptions;
use lilt_model::project::{Project, Settings};
use lilt_model::resource::Body;
use lilt_model::timeline::{Outcome, StageKind};
use lilt_model::{ClusterName, ContainerId, Failure, Unreachable};
use serde_json::{Value, json};
use support::*;

fn put(script: &mut Script, kind: ObjectKind, name: &str, content: Value) {
    let mut object = Object::named(name);
    object.content = content.as_object().cloned().expect("an object");
    let key = ObjectKey::new(kind, name);
    script.event(Event::ObjectPut { key, object: Box::new(object), uid: format!("uid-{kind}-{name}") });
}

fn status(script: &Script, kind: ObjectKind, name: &str) -> Value {
    let object = project_object(&script.state, &ObjectKey::new(kind, name)).map(|(_, object)| object);
    object.map_or(Value::Null, |object| object.content["status"].clone())
}

/// A workload `w` with one pod, and a `LiveUpdate` called `own` that copies `/p/w/src` into its container, with these steps.
fn copying(steps: Value) -> Script {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one").pod(running("w", "w-1", "one", "c1"));
    put(&mut script, ObjectKind::FileWatch, "files", json!({"spec": {"watchedPaths": ["w/src"]}}));
    put_update(&mut script, steps);
    script
}

fn put_update(script: &mut Script, steps: Value) {
    let update = json!({
        "basePath": "/p", "selector": {"kubernetes": {"discoveryName": "w", "containerName": "main"}},
        "syncs": [{"localPath": "w/src", "containerPath": "/src"}], "sources": [{"fileWatch": "files"}],
        "execs": steps,
    });
    put(script, ObjectKind::LiveUpdate, "own", json!({"spec": update}));
}

fn save(script: &mut Script, path: &str) {
    let (watch, paths) = (WatchId::Object("files".into()), vec![path.into()]);
    script.event(FileChanges::new(watch, paths).into());
}

fn own() -> Owner {
    Owner::object(ObjectKind::LiveUpdate, "own")
}

/// Returns the task that copies into its container.
fn task(script: &Script) -> Option<Task> {
    plan_object(&script.state, &ObjectKey::new(ObjectKind::LiveUpdate, "own")).into_values().next()
}

fn sync(script: &Script) -> SyncTask {
    match task(script) {
        Some(Task::Sync { task, .. }) => *task,
        other => panic!("{other:?}"),
    }
}

fn synced(script: &mut Script, outcome: Result<(), SyncFault>) {
    let run = sync(script).job.expect("something is copied").update;
    script.event(Event::Synced { owner: own(), update: run, container: ContainerId::new("c1"), outcome });
}

/// A step may hang for ever, and nobody would take up what the new specification says.
#[test]
fn what_is_copied_for_another_specification_is_given_up() {
    let mut script = copying(json!([{"args": ["hang"]}]));
    let idle = task(&script).expect("it is connected");
    save(&mut script, "/p/w/src/a");
    let copies = task(&script).expect("it copies");
    assert!(idle.continues(&copies), "a save takes no new connection");
    put_update(&mut script, json!([{"args": ["make"]}]));
    let anew = task(&script).expect("it copies");
    assert!(!copies.continues(&anew));
    synced(&mut script, Ok(()));
    let done = task(&script).expect("it is connected");
    assert!(anew.continues(&done));
    put_update(&mut script, json!([]));
    assert!(done.continues(&task(&script).expect("it is connected")), "nothing was given up");
}

#[test]
fn live_update_that_waits_for_its_cluster_says_so_until_it_is_done() {
    let mut script = copying(json!([]));
    save(&mut script, "/p/w/src/a");
    let run = sync(&script).job.expect("something is copied").update;
    let message = "the cluster gave no answer".to_owned();
    let expected = json!({"reason": "WaitingForCluster", "message": message});
    let waits = |run: u64| Event::StageBegan {
        owner: own(),
        update: run,
        stage: StageKind::Wait,
        detail: message.clone(),
    };
    let waiting =
        |script: &Script| status(script, ObjectKind::LiveUpdate, "own")["containers"][0]["waiting"].clone();
    script.event(waits(run + 1));
    assert_eq!(waiting(&script), Value::Null, "it is no run of it");
    script.event(waits(run));
    assert_eq!(waiting(&script), expected);
    synced(&mut script, Ok(()));
    assert_eq!(waiting(&script), Value::Null);
}

#[test]
fn live_update_status_shows_wait_and_copy_failure() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one").pod(starting("w", "w-1", "one"));
    put(&mut script, ObjectKind::FileWatch, "files", json!({"spec": {"watchedPaths": ["w/src"]}}));
    put_update(&mut script, json!([]));
    let waiting = json!({"reason": "ContainerWaiting", "message": "Waiting for container to start"});
    let place = json!({"containerName": "main", "podName": "w-1", "namespace": "default"});
    let mut reported = place.clone();
    reported["waiting"] = waiting;
    assert_eq!(status(&script, ObjectKind::LiveUpdate, "own")["containers"], json!([reported]));
    script.pod(running("w", "w-1", "one", "c1"));
    let mut reported = place;
    reported["containerID"] = json!("c1");
    assert_eq!(status(&script, ObjectKind::LiveUpdate, "own")["containers"], json!([reported]));

    let lost = || Err(SyncFault::Transport(Failure::environment("the connection was lost")));
    save(&mut script, "/p/w/src/a");
    synced(&mut script, lost());
    let failed = status(&script, ObjectKind::LiveUpdate, "own");
    assert_eq!(failed["containers"], Value::Null);
    let failed = failed["failed"].clone();
    assert_eq!(
        (&failed["reason"], &failed["message"]),
        (&json!("UpdateFailed"), &json!("pod w-1: the connection was lost"))
    );
    save(&mut script, "/p/w/src/b");
    synced(&mut script, lost());
    assert_eq!(status(&script, ObjectKind::LiveUpdate, "own")["failed"], failed, "it is no other failure");
    // A step that fails is no failure of the way to it.
    save(&mut script, "/p/w/src/c");
    synced(&mut script, Err(SyncFault::Step(Failure::user("make failed"))));
    let reported = status(&script, ObjectKind::LiveUpdate, "own");
    assert_eq!(
        (&reported["failed"], &reported["containers"][0]["lastExecError"]),
        (&Value::Null, &json!("make failed"))
    );
    save(&mut script, "/p/w/src/d");
    synced(&mut script, Ok(()));
    assert_eq!(status(&script, ObjectKind::LiveUpdate, "own")["containers"][0]["lastExecError"], Value::Null);
}

/// Forbidding the agent applies to all live updates, including those created by a script.
#[test]
fn the_agent_stays_out_where_the_tiltfile_says_so() {
    let mut script = copying(json!([]));
    assert!(!sync(&script).without_agent);
    let connected = task(&script).expect("it is connected");
    let forbidding = |mut resource: lilt_model::resource::Resource, forbidden: bool| {
        if let Body::Kubernetes(spec) = &mut resource.body {
            spec.without_agent = forbidden;
        }
        resource
    };
    script.state.take_touched();
    script.save_tiltfile().load(vec![forbidding(workload("w"), true)]);
    assert!(script.state.take_touched().objects.contains(&ObjectKey::new(ObjectKind::LiveUpdate, "own")));
    assert!(sync(&script).without_agent);
    assert!(!connected.continues(&task(&script).expect("it is connected")), "it is there no longer");

    // Pods that belong to no resource according to their names.
    let mut script = copying(json!([]));
    let discovery = json!({"spec": {"watches": [{"namespace": "default", "uid": "uid-w"}]}});
    put(&mut script, ObjectKind::KubernetesDiscovery, "pods", discovery);
    let update = json!({"selector": {"kubernetes": {"discoveryName": "pods", "containerName": "main"}}});
    put(&mut script, ObjectKind::LiveUpdate, "own", json!({"spec": update}));
    assert!(!sync(&script).without_agent);
    let settings = Settings { live_update_agent: false, ..Settings::default() };
    let resources = vec![forbidding(workload("w"), true)];
    script.save_tiltfile().load_with(Project { resources, settings, ..Project::default() });
    assert!(sync(&script).without_agent);
}

#[test]
fn a_live_update_brings_all_files_into_a_new_container_if_asked_for() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one").pod(running("w", "w-1", "one", "c1"));
    let selector = json!({"kubernetes": {"discoveryName": "w", "containerName": "main"}});
    let syncs = json!([{"localPath": "w/src", "containerPath": "/src"}]);
    let update = json!({"basePath": "/p", "selector": selector, "syncs": syncs, "initialSync": {}});
    put(&mut script, ObjectKind::LiveUpdate, "own", json!({"spec": update}));
    let job = |script: &Script| {
        let plan = plan_object(&script.state, &ObjectKey::new(ObjectKind::LiveUpdate, "own"));
        plan.into_values().find_map(|spec| match spec {
            Task::Sync { task, .. } => task.job,
            _ => None,
        })
    };
    let first = job(&script).expect("it begins");
    assert!(first.everything.is_some() && first.paths.is_empty(), "{first:?}");
    let (update, container) = (first.update, ContainerId::new("c1"));
    script.event(Event::Synced { owner: own(), update, container, outcome: Ok(()) });
    assert_eq!(job(&script), None, "once");
}

/// Its step must find all files of a batch, whichever of its sources reports them.
#[test]
fn live_update_with_steps_batches_changes_of_its_sources() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one").pod(running("w", "w-1", "one", "c1"));
    let watch = |script: &mut Script, name: &str| {
        put(script, ObjectKind::FileWatch, name, json!({"spec": {"watchedPaths": [format!("w/{name}")]}}));
    };
    watch(&mut script, "src");
    watch(&mut script, "more");
    let options = |script: &Script, name: &str| {
        let plan = plan_object(&script.state, &ObjectKey::new(ObjectKind::FileWatch, name));
        match plan.into_values().next() {
            Some(Task::Watch { options, .. }) => options,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(options(&script, "src"), WatchOptions::default());
    let update = |execs: serde_json::Value, sources: &[&str]| {
        let sources: Vec<_> = sources.iter().map(|name| json!({"fileWatch": name})).collect();
        json!({"spec": {
            "basePath": "/p", "selector": {"kubernetes": {"discoveryName": "w", "containerName": "main"}},
            "syncs": [{"localPath": "w", "containerPath": "/w"}], "sources": sources, "execs": execs,
        }})
    };
    let folder = vec![std::path::PathBuf::from("/p/w")];
    let copying = WatchOptions { modes: folder.clone(), ..WatchOptions::default() };
    put(&mut script, ObjectKind::LiveUpdate, "own", update(json!([]), &["src"]));
    assert!(script.state.take_touched().objects.contains(&ObjectKey::new(ObjectKind::FileWatch, "src")));
    assert_eq!((options(&script, "src"), options(&script, "more")), (copying, WatchOptions::default()));
    put(&mut script, ObjectKind::LiveUpdate, "own", update(json!([{"args": ["make"]}]), &["src", "more"]));
    let touched = script.state.take_touched().objects;
    assert!(
        ["src", "more"]
            .into_iter()
            .all(|name| touched.contains(&ObjectKey::new(ObjectKind::FileWatch, name)))
    );
    let together =
        WatchOptions { batched: folder.clone(), group: Some("LiveUpdate/own".into()), modes: folder };
    assert_eq!((options(&script, "src"), options(&script, "more")), (together.clone(), together));

    // The watcher reports both halves in one event, and so they are copied at once.
    let saved =
        |name: &str| FileChanges::new(WatchId::Object(name.into()), vec![format!("/p/w/{name}/file").into()]);
    script.event(Event::FilesChanged { changes: vec![saved("src"), saved("more")] });
    let plan = plan_object(&script.state, &ObjectKey::new(ObjectKind::LiveUpdate, "own"));
    let paths = plan.into_values().find_map(|spec| match spec {
        Task::Sync { task, .. } => task.job.map(|job| job.paths),
        _ => None,
    });
    assert_eq!(paths.expect("it begins").len(), 2);

    script.event(Event::ObjectDeleted {
        key: ObjectKey::new(ObjectKind::LiveUpdate, "own"),
        keep_owned: false,
    });
    assert!(script.state.take_touched().objects.contains(&ObjectKey::new(ObjectKind::FileWatch, "more")));
    assert_eq!(options(&script, "more"), WatchOptions::default());
}

#[test]
fn a_live_update_that_failed_is_made_up_for_with_the_next_save() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one").pod(running("w", "w-1", "one", "c1"));
    put(&mut script, ObjectKind::FileWatch, "files", json!({"spec": {"watchedPaths": ["w/src"]}}));
    let update = |restart: &str| {
        json!({"spec": {
            "basePath": "/p", "selector": {"kubernetes": {"discoveryName": "w", "containerName": "main"}},
            "syncs": [{"localPath": "w/src", "containerPath": "/src"}], "sources": [{"fileWatch": "files"}],
            "restart": restart,
        }})
    };
    put(&mut script, ObjectKind::LiveUpdate, "own", update(""));
    let job = |script: &Script| {
        let plan = plan_object(&script.state, &ObjectKey::new(ObjectKind::LiveUpdate, "own"));
        let jobs = plan.into_values().filter_map(|spec| match spec {
            Task::Sync { task, .. } => task.job,
            _ => None,
        });
        jobs.map(|job| (job.update, job.paths)).next()
    };
    let save = |script: &mut Script, path: &str| {
        let (watch, paths) = (WatchId::Object("files".into()), vec![path.into()]);
        script.event(FileChanges::new(watch, paths).into());
        job(script).expect("it is copied")
    };
    let end = |script: &mut Script, run: u64, outcome| {
        let container = ContainerId::new("c1");
        script.event(Event::Synced { owner: own(), update: run, container, outcome });
    };
    let (run, _) = save(&mut script, "/p/w/src/a");
    end(&mut script, run, Err(SyncFault::Step(Failure::user("it broke"))));
    assert_eq!(job(&script), None, "not by itself");
    let (run, paths) = save(&mut script, "/p/w/src/b");
    assert_eq!(paths, [std::path::Path::new("/p/w/src/a"), std::path::Path::new("/p/w/src/b")]);
    end(&mut script, run, Ok(()));
    assert_eq!(save(&mut script, "/p/w/src/c").1, [std::path::Path::new("/p/w/src/c")]);

    put(&mut script, ObjectKind::LiveUpdate, "own", update("always"));
    assert_eq!(status(&script, ObjectKind::LiveUpdate, "own")["failed"]["reason"], "NotSupported");
}

#[test]
fn live_update_is_retried_when_outage_is_over() {
    let mut script = copying(json!([]));
    save(&mut script, "/p/w/src/a");
    let lost = || {
        let failure = Failure::environment("the API server gave no answer").of_kind(Unreachable::Cluster);
        Err(SyncFault::Transport(failure))
    };
    synced(&mut script, lost());
    assert_eq!(sync(&script).job, None, "not before the cluster responds");
    let outage = Outage { cluster: ClusterName::default(), unreachable: Unreachable::Cluster };
    let awaited = |script: &Script| match plan(&script.state).remove(&TaskId::Outage(outage.clone())) {
        Some(Task::Outage { id, attempts, .. }) => Some((id, attempts)),
        _ => None,
    };
    let (id, _) = awaited(&script).expect("it is awaited");
    script.event(Event::OutageOver { outage: id });
    assert_eq!(awaited(&script), None);
    assert_eq!(sync(&script).job.expect("it is retried").paths, [std::path::Path::new("/p/w/src/a")]);
    synced(&mut script, lost());
    let (id, attempts) = awaited(&script).expect("it is awaited again");
    assert_eq!(attempts, 1, "the pauses grow");
    script.event(Event::OutageOver { outage: id });
    synced(&mut script, Ok(()));
    assert_eq!((sync(&script).job, awaited(&script)), (None, None));

    save(&mut script, "/p/w/src/b");
    synced(&mut script, lost());
    script.event(Event::ObjectDeleted {
        key: ObjectKey::new(ObjectKind::LiveUpdate, "own"),
        keep_owned: false,
    });
    assert_eq!(awaited(&script), None, "nobody waits for it");
}

#[test]
fn live_update_of_resource_is_in_its_timeline() {
    let mut script = copying(json!([]));
    let mut update = Object::named("own");
    let key = ObjectKey::new(ObjectKind::LiveUpdate, "own");
    let (_, known) = project_object(&script.state, &key).expect("it is there");
    update.content.insert("spec".to_owned(), known.content["spec"].clone());
    update.annotate_if_absent("tilt.dev/resource", "w");
    script.event(Event::ObjectPut { key, object: Box::new(update), uid: String::new() });
    script.state.take_records();
    save(&mut script, "/p/w/src/a");
    let update = sync(&script).job.expect("something is copied").update;
    let stage = StageKind::Write;
    script.event(Event::StageBegan { owner: own(), update, stage, detail: String::new() });
    synced(&mut script, Ok(()));
    let records = script.state.take_records();
    let reported: Vec<_> = records.iter().map(|(name, it)| (name.as_str(), it.update, it.outcome)).collect();
    assert_eq!(
        reported,
        [("w", update, Outcome::Running), ("w", update, Outcome::Running), ("w", update, Outcome::Ok)]
    );
    let stages: Vec<_> = records[2].1.stages.iter().map(|stage| (stage.stage, stage.end.is_some())).collect();
    assert_eq!(stages, [(StageKind::Send, true), (StageKind::Write, true)]);
}
