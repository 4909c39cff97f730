//! The API objects that show the resources of a Tiltfile: processes, builds, files in containers, forwards, pods.

mod support;

use lilt_api::{Object, ObjectKind};
use lilt_engine::{
    CommandExit, Event, ForwardState, Owner, SyncFault, Task, TaskId, UpdateOutcome, plan, project_resource,
    project_resource_objects, project_session_objects,
};
use lilt_model::cluster::ContainerState;
use lilt_model::command::Command;
use lilt_model::image::{BuildRecord, BuildStage, CustomBuild, CustomOutput, ImageBuild};
use lilt_model::kubernetes::ForwardPlace;
use lilt_model::request::{Request, TriggerReason};
use lilt_model::resource::Body;
use lilt_model::{Failure, Timestamp};
use serde_json::{Value, json};
use support::*;

fn find_object(script: &Script, resource: &str, kind: ObjectKind, name: &str) -> Option<Object> {
    let objects = project_resource_objects(&script.state, &resource.into());
    objects.into_iter().find(|(key, _)| key.kind == kind && key.name == name).map(|(_, object)| object)
}

fn part(script: &Script, resource: &str, kind: ObjectKind, name: &str, part: &str) -> Value {
    find_object(script, resource, kind, name).map_or(Value::Null, |object| object.content[part].clone())
}

fn status(script: &Script, resource: &str, kind: ObjectKind, name: &str) -> Value {
    part(script, resource, kind, name, "status")
}

fn command(script: &Script, name: &str) -> Value {
    let mut command = status(script, "a", ObjectKind::Cmd, name);
    command.as_object_mut().expect("a status").remove("disableStatus");
    command
}

#[test]
fn update_command_has_pid_and_exit_code() {
    let mut script = Script::loaded(vec![local("a")]);
    assert_eq!(command(&script, "a:update"), json!({"waiting": {}}));
    let update = script.update_of("a").expect("it runs");
    script.event(Event::UpdateCommandStarted { resource: "a".into(), update, image: None, pid: 42 });
    let since = command(&script, "a:update")["running"]["startedAt"].clone();
    assert_eq!(
        command(&script, "a:update"),
        json!({"ready": true, "running": {"pid": 42, "startedAt": since}})
    );
    script.event(Event::UpdateCommandEnded {
        resource: "a".into(),
        update,
        image: None,
        exit: CommandExit::Code(3),
    });
    let ended = command(&script, "a:update")["terminated"].clone();
    assert_eq!((&ended["pid"], &ended["exitCode"], &ended["startedAt"]), (&json!(42), &json!(3), &since));
    script.fail("a");
    assert_eq!(
        command(&script, "a:update")["terminated"],
        ended,
        "the end of the update says nothing new of it"
    );
    script.trigger("a");
    assert_eq!(command(&script, "a:update"), json!({"waiting": {}}), "the next has not begun");
    let update = script.update_of("a").expect("it runs");
    script.event(Event::UpdateCommandStarted { resource: "a".into(), update, image: None, pid: 43 });
    script.event(Event::Requested { request: Request::Cancel { resource: "a".into() } });
    let ended = command(&script, "a:update")["terminated"].clone();
    assert_eq!(
        (&ended["pid"], &ended["exitCode"]),
        (&json!(43), &json!(143)),
        "given up: it was asked to end"
    );
}

#[test]
fn ended_server_has_pid_and_start_time() {
    let mut script = Script::loaded(vec![server("a")]);
    script.succeed("a");
    let generation =
        match lilt_engine::plan(&script.state).remove(&TaskId::Command(Owner::Resource("a".into()))) {
            Some(lilt_engine::Task::Command { run, .. }) => run,
            other => panic!("{other:?}"),
        };
    script.event(Event::CommandStarted { owner: Owner::Resource("a".into()), run: generation, pid: 77 });
    let since = command(&script, "a-serve")["running"]["startedAt"].clone();
    script.event(Event::CommandEnded {
        owner: Owner::Resource("a".into()),
        run: generation,
        exit: CommandExit::Signal(9),
    });
    let ended = command(&script, "a-serve")["terminated"].clone();
    assert_eq!((&ended["pid"], &ended["startedAt"], &ended["exitCode"]), (&json!(77), &since, &json!(137)));
}

fn record(error: Option<&str>) -> BuildRecord {
    let stage = |name: &str, ended| BuildStage {
        name: name.into(),
        cached: name.starts_with("[1/"),
        began: Timestamp(2_000_000),
        ended,
        error: error.map(str::to_owned),
    };
    let stages = vec![stage("[1/2] FROM busybox", Some(Timestamp(3_000_000))), stage("docker push", None)];
    let error = error.map(str::to_owned);
    BuildRecord { image: "w".into(), began: Timestamp(1_000_000), ended: Timestamp(4_000_000), stages, error }
}

#[test]
fn image_lists_stages_of_its_build_and_the_failed_one() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect();
    let update = script.update_of("w").expect("it runs");
    // The times of a build are those of the update's and later.
    let mut failed = record(Some("no such file"));
    failed.began = Timestamp(script.time * 1_000_000);
    let outcome =
        UpdateOutcome { builds: vec![failed], ..UpdateOutcome::failed(Failure::user("no such file")) };
    script.event(Event::UpdateEnded { resource: "w".into(), update, outcome: Box::new(outcome) });
    let image = status(&script, "w", ObjectKind::DockerImage, "w:w");
    assert_eq!(image["completed"]["error"], "no such file");
    assert_eq!(
        image["stageStatuses"][1],
        json!({
            "name": "docker push", "startedAt": "1970-01-01T00:00:02.000000Z", "error": "no such file",
        })
    );
    script.trigger("w");
    assert!(status(&script, "w", ObjectKind::DockerImage, "w:w")["building"]["startedAt"].is_string());
    let update = script.update_of("w").expect("it runs");
    let mut outcome = script.deployed_outcome("w", "two");
    outcome.builds = vec![BuildRecord { began: Timestamp(script.time * 1_000_000), ..record(None) }];
    script.event(Event::UpdateEnded { resource: "w".into(), update, outcome: Box::new(outcome) });
    let image = status(&script, "w", ObjectKind::DockerImage, "w:w");
    assert_eq!((&image["ref"], &image["completed"]["error"]), (&json!("w:two"), &Value::Null));
    assert_eq!(
        image["stageStatuses"][0],
        json!({
            "name": "[1/2] FROM busybox", "cached": true, "startedAt": "1970-01-01T00:00:02.000000Z",
            "finishedAt": "1970-01-01T00:00:03.000000Z",
        })
    );
}

#[test]
fn live_update_containers_show_last_sync_or_the_reason() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one");
    script.pod(starting("w", "p", "one"));
    let container =
        |script: &Script| status(script, "w", ObjectKind::LiveUpdate, "w:w")["containers"][0].clone();
    let waiting = json!({"reason": "ContainerWaiting", "message": "Waiting for container to start"});
    assert_eq!(container(&script)["waiting"], waiting);
    script.pod(running("w", "p", "one", "c1"));
    assert_eq!(
        (&container(&script)["waiting"], &container(&script)["lastFileTimeSynced"]),
        (&Value::Null, &Value::Null)
    );
    script.save_image("w", "w", "/p/w/src/a");
    let saved = status(&script, "w", ObjectKind::FileWatch, "image:w")["lastEventTime"].clone();
    script.synced("w", "c1", Ok(()));
    assert!(saved.is_string());
    assert_eq!(container(&script)["lastFileTimeSynced"], saved);
    script.save_image("w", "w", "/p/w/src/a");
    script.synced("w", "c1", Err(SyncFault::Step(Failure::user("make failed"))));
    let failed = container(&script);
    assert_eq!((&failed["lastExecError"], &failed["lastFileTimeSynced"]), (&json!("make failed"), &saved));
    script.save_image("w", "w", "/p/w/src/b");
    script.synced("w", "c1", Ok(()));
    assert_eq!(container(&script)["lastExecError"], Value::Null);
}

#[test]
fn forward_shows_since_when_it_listens() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one");
    script.pod(running("w", "p", "one", "c1"));
    let place = ForwardPlace { host: "localhost".into(), port: 8000 };
    let changed = |state| Event::ForwardChanged {
        owner: Owner::Resource("w".into()),
        slot: place.clone().into(),
        local_port: 8000,
        state,
    };
    let started = |script: &Script| {
        status(script, "w", ObjectKind::PortForward, "w-p")["forwardStatuses"][0]["startedAt"].clone()
    };
    script.event(changed(ForwardState::Listening));
    let since = started(&script);
    assert!(since.is_string());
    script.event(changed(ForwardState::Listening));
    assert_eq!(started(&script), since, "it has listened all the time");
    script.event(changed(ForwardState::Failed(Failure::environment("taken"))));
    assert_eq!(started(&script), Value::Null);
}

#[test]
fn pods_show_owner_and_run_times_of_containers() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one");
    let mut pod = running("w", "p", "one", "c1");
    pod.nearest_owner = Some("w-1".into());
    pod.owner_kind = Some(("apps/v1".into(), "ReplicaSet".into()));
    pod.owner_created = Some(Timestamp(5_500_000));
    pod.containers[0].state = ContainerState::Terminated {
        exit_code: 1,
        reason: "Error".into(),
        message: String::new(),
        started: Some(Timestamp(6_000_000)),
        finished: Timestamp(7_000_000),
    };
    script.pod(pod);
    let pod = status(&script, "w", ObjectKind::KubernetesDiscovery, "w")["pods"][0].clone();
    let owner = json!({
        "name": "w-1", "kind": "ReplicaSet", "apiVersion": "apps/v1", "creationTimestamp": "1970-01-01T00:00:05Z",
    });
    assert_eq!(pod["owner"], owner);
    let ended = &pod["containers"][0]["state"]["terminated"];
    assert_eq!(
        (&ended["startedAt"], &ended["finishedAt"]),
        (&json!("1970-01-01T00:00:06Z"), &json!("1970-01-01T00:00:07Z"))
    );
}

#[test]
fn image_build_command_is_a_cmd_object() {
    let mut built = workload("w");
    if let Body::Kubernetes(kubernetes) = &mut built.body {
        kubernetes.images[0].build = ImageBuild::Custom(CustomBuild {
            command: Command::shell("make image", "/p"),
            deps: vec![],
            tag: String::new(),
            output: CustomOutput::LocalDocker,
            outputs_image_ref_to: None,
        });
        kubernetes.image_deps = vec!["w".into()];
    }
    let mut script = Script::loaded(vec![built]);
    script.connect();
    assert_eq!(part(&script, "w", ObjectKind::CmdImage, "w:w", "spec")["clusterNeeds"], "push");
    let update = script.update_of("w").expect("it runs");
    let image = Some("w".into());
    script.event(Event::UpdateCommandStarted { resource: "w".into(), update, image, pid: 5 });
    assert_eq!(status(&script, "w", ObjectKind::Cmd, "w:w")["running"]["pid"], 5);
    assert_eq!(part(&script, "w", ObjectKind::Cmd, "w:w", "spec")["dir"], "/p");
    let image = Some("w".into());
    script.event(Event::UpdateCommandEnded {
        resource: "w".into(),
        update,
        image,
        exit: CommandExit::Code(0),
    });
    assert_eq!(status(&script, "w", ObjectKind::Cmd, "w:w")["terminated"]["exitCode"], 0);
    let by = find_object(&script, "w", ObjectKind::Cmd, "w:w").expect("it is there");
    assert_eq!(by.annotation("tilt.dev/managed-by"), Some("cmd_image"));
}

#[test]
fn files_of_shared_image_are_watched_until_all_its_resources_are_off() {
    let mut script = Script::loaded(vec![workload("a"), with_image_of(workload("b"), "a")]);
    let source = |script: &Script, resource: &str| {
        part(script, resource, ObjectKind::FileWatch, "image:a", "spec")["disableSource"].clone()
    };
    let map = |name: &str| json!({"name": format!("{name}-disable"), "key": "isDisabled"});
    let both = json!({"everyConfigMap": [map("a"), map("b")]});
    assert_eq!((source(&script, "a"), source(&script, "b")), (both.clone(), both.clone()));
    assert_eq!(
        part(&script, "b", ObjectKind::FileWatch, "image:b", "spec")["disableSource"],
        json!({"configMap": map("b")})
    );
    script.event(Event::Requested { request: Request::Switch { enable: vec![], disable: vec!["a".into()] } });
    assert_eq!((source(&script, "a"), source(&script, "b")), (Value::Null, both), "b tells of it");
    script.event(Event::Requested { request: Request::Switch { enable: vec![], disable: vec!["b".into()] } });
    let off = status(&script, "a", ObjectKind::FileWatch, "image:a");
    assert_eq!(
        (&off["disableStatus"]["state"], &off["monitorStartTime"]),
        (&json!("Disabled"), &Value::Null)
    );
}

#[test]
fn file_watch_shows_that_it_may_miss_changes() {
    let mut script = Script::loaded(vec![local("a")]);
    assert_eq!(status(&script, "a", ObjectKind::FileWatch, "local:a")["error"], Value::Null);
    let watch = lilt_engine::WatchId::Local("a".into());
    script.event(Event::WatchTroubled { watch, failure: Failure::environment("too many watches") });
    assert_eq!(status(&script, "a", ObjectKind::FileWatch, "local:a")["error"], "too many watches");
}

#[test]
fn finished_command_keeps_its_last_readiness() {
    let mut script = Script::loaded(vec![local("a")]);
    let update = script.update_of("a").expect("it runs");
    let ended = |exit| Event::UpdateCommandEnded { resource: "a".into(), update, image: None, exit };
    script.event(Event::UpdateCommandStarted { resource: "a".into(), update, image: None, pid: 42 });
    script.event(ended(CommandExit::Code(3)));
    assert_eq!(command(&script, "a:update")["ready"], true);
    // A server without a probe is ready as soon as it runs, and stays so when it has ended.
    let mut script = Script::loaded(vec![server("a")]);
    script.succeed("a");
    assert_eq!(command(&script, "a-serve")["ready"], Value::Null);
    let generation = plan(&script.state).into_values().find_map(|spec| match spec {
        Task::Command { run, .. } => Some(run),
        _ => None,
    });
    let generation = generation.expect("a server");
    script.event(Event::CommandStarted { owner: Owner::Resource("a".into()), run: generation, pid: 7 });
    assert_eq!(command(&script, "a-serve")["ready"], true);
    let exit = CommandExit::Code(1);
    script.event(Event::CommandEnded { owner: Owner::Resource("a".into()), run: generation, exit });
    let status = command(&script, "a-serve");
    assert_eq!((&status["ready"], &status["terminated"]["exitCode"]), (&json!(true), &json!(1)));
}

#[test]
fn objects_name_the_log_span_that_tilt_names() {
    let mut script = Script::loaded(vec![workload("w"), server("a"), local("b")]);
    script.connect().deploy("w", "one");
    script.pod(running("w", "p", "one", "c1"));
    script.succeed("a");
    let span = |resource: &str, kind: ObjectKind, name: &str| {
        let object = find_object(&script, resource, kind, name).unwrap_or_else(|| panic!("{kind} {name}"));
        object.annotation("tilt.dev/log-span-id").map(str::to_owned).unwrap_or_default()
    };
    for (kind, name, expected) in [
        (ObjectKind::KubernetesApply, "w", "kubernetesapply:w"),
        (ObjectKind::KubernetesDiscovery, "w", "kubernetesapply:w"),
        (ObjectKind::PortForward, "w-p", "kubernetesapply:w"),
        (ObjectKind::PodLogStream, "w-default-p", "pod:w:p"),
        (ObjectKind::ImageMap, "w", "imagemap:w"),
        (ObjectKind::DockerImage, "w:w", "dockerimage:w:w"),
        (ObjectKind::LiveUpdate, "w:w", "liveupdate:w:w"),
        (ObjectKind::UIButton, "w-stopbuild", ""),
    ] {
        assert_eq!(span("w", kind, name), expected, "{kind}");
    }
    assert_eq!(span("b", ObjectKind::Cmd, "b:update"), "cmd:b:update");
    assert!(span("a", ObjectKind::Cmd, "a-serve").starts_with("localserve:a:"));
}

fn session_object(script: &Script, kind: ObjectKind, name: &str) -> Object {
    let objects = project_session_objects(&script.state);
    let found = objects.into_iter().find(|(key, _)| key.kind == kind && key.name == name);
    found.unwrap_or_else(|| panic!("{kind} {name}")).1
}

#[test]
fn trigger_queue_lists_triggers_in_order_until_they_are_served() {
    let mut waiting = local("b");
    waiting.resource_deps = vec!["a".into()];
    let mut script = Script::loaded(vec![local("a"), waiting]);
    let data = |script: &Script| {
        session_object(script, ObjectKind::ConfigMap, "tilt-trigger-queue").content.get("data").cloned()
    };
    assert_eq!(data(&script), None);
    let page = Request::Trigger { resource: "b".into(), reason: TriggerReason::WEB };
    script.event(Event::Requested { request: page }).trigger("a");
    let expected = json!({"0-name": "b", "0-reason-code": "16", "1-name": "a", "1-reason-code": "128"});
    assert_eq!(data(&script), Some(expected));
    script.state.take_touched();
    script.succeed("a");
    assert!(script.state.take_touched().session, "readers must hear of it");
    assert_eq!(data(&script), Some(json!({"0-name": "a", "0-reason-code": "128"})), "the other runs");
    script.succeed("b");
    assert_eq!(data(&script), None, "it runs, too");
}

#[test]
fn times_that_nothing_has_set_are_null() {
    let mut script = Script::loaded(vec![workload("w"), local("a")]);
    script.connect();
    let time = |resource: &str, kind: ObjectKind, name: &str, time: &str| {
        let object = find_object(&script, resource, kind, name).unwrap_or_else(|| panic!("{kind} {name}"));
        object.content["status"].get(time).cloned()
    };
    for (kind, name, field) in [
        (ObjectKind::KubernetesApply, "w", "lastApplyTime"),
        (ObjectKind::KubernetesApply, "w", "lastApplyStartTime"),
        (ObjectKind::FileWatch, "image:w", "lastEventTime"),
        (ObjectKind::UIButton, "w-stopbuild", "lastClickedAt"),
    ] {
        assert_eq!(time("w", kind, name, field), Some(Value::Null), "{kind} {field}");
    }
    let resource = project_resource(&script.state, &"w".into()).expect("it is there");
    let info = serde_json::to_value(resource.status).expect("JSON")["k8sResourceInfo"].clone();
    assert_eq!(info.get("podCreationTime"), Some(&Value::Null), "{info}");
    assert_eq!(info.get("podUpdateStartTime"), Some(&Value::Null), "{info}");
}

#[test]
fn session_shows_ci_settings_in_up_once_loaded() {
    let mut script = Script::new();
    let ci = |script: &Script| {
        session_object(script, ObjectKind::Session, "Tiltfile").content["spec"]["ci"].clone()
    };
    assert_eq!(ci(&script), Value::Null);
    script.load(vec![local("a")]);
    assert_eq!(ci(&script), json!({"timeout": "30m0s", "readinessTimeout": "5m0s"}));
}

#[test]
fn failed_load_has_a_deploy_time_and_times_are_written_as_null() {
    let mut script = Script::new();
    let status = |script: &Script| {
        let resource = project_resource(&script.state, &"(Tiltfile)".into()).expect("the Tiltfile");
        serde_json::to_value(resource.status).expect("JSON")
    };
    let loading = status(&script);
    assert!(loading["pendingBuildSince"].is_string());
    assert_eq!(loading.get("lastDeployTime"), Some(&Value::Null));
    script.load_fails("no such builtin");
    let failed = status(&script);
    assert_eq!(failed.get("pendingBuildSince"), Some(&Value::Null));
    assert!(failed["lastDeployTime"].is_string());
}
