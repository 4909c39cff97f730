//! Objects that were made: what they do, as they and what they name say.

mod support;

use lilt_api::{Object, ObjectKey, ObjectKind};
use lilt_engine::{
    ClusterSource, CommandExit, Event, FileChanges, FoundCluster, Owner, ProvidedRepository, Task, TaskId,
    WatchId, plan, plan_object, project_object,
};
use lilt_model::cluster::ClusterInfo;
use lilt_model::{Failure, Timestamp};
use serde_json::{Value, json};
use support::*;

/// Puts an object as a client does, and says what became of it.
fn put(script: &mut Script, kind: ObjectKind, name: &str, content: Value) {
    let mut object = Object::named(name);
    object.content = content.as_object().cloned().expect("an object");
    if let Some((_, known)) = project_object(&script.state, &ObjectKey::new(kind, name)) {
        object.metadata = known.metadata;
    }
    let key = ObjectKey::new(kind, name);
    script.event(Event::ObjectPut { key, object: Box::new(object), uid: format!("uid-{kind}-{name}") });
}

fn delete(script: &mut Script, kind: ObjectKind, name: &str, keep_owned: bool) {
    script.event(Event::ObjectDeleted { key: ObjectKey::new(kind, name), keep_owned });
}

fn get(script: &Script, kind: ObjectKind, name: &str) -> Value {
    let object = project_object(&script.state, &ObjectKey::new(kind, name)).map(|(_, object)| object);
    object.map_or(Value::Null, |object| json!({"metadata": object.metadata, "content": object.content}))
}

fn status(script: &Script, kind: ObjectKind, name: &str) -> Value {
    get(script, kind, name)["content"]["status"].clone()
}

fn spec(script: &Script, kind: ObjectKind, name: &str) -> Value {
    get(script, kind, name)["content"]["spec"].clone()
}

/// The run that a command is in, with its variables.
fn run(script: &Script, name: &str) -> Option<(u64, Vec<(String, String)>)> {
    let plan = plan_object(&script.state, &ObjectKey::new(ObjectKind::Cmd, name));
    plan.into_values().find_map(|spec| match spec {
        Task::Command { run, command, .. } => Some((run, command.env)),
        _ => None,
    })
}

fn number(script: &Script, name: &str) -> Option<u64> {
    run(script, name).map(|(number, _)| number)
}

fn click(script: &mut Script, name: &str, second: u32, inputs: Value) {
    let status = json!({"lastClickedAt": format!("2026-01-01T00:00:{second:02}.000000Z"), "inputs": inputs});
    let spec = spec(script, ObjectKind::UIButton, name);
    put(script, ObjectKind::UIButton, name, json!({"spec": spec, "status": status}));
}

fn button(script: &mut Script, name: &str, inputs: Value) {
    let location = json!({"componentID": "x", "componentType": "Resource"});
    put(
        script,
        ObjectKind::UIButton,
        name,
        json!({"spec": {"text": "b", "location": location, "inputs": inputs}}),
    );
}

#[test]
fn discovery_forwards_to_pods_by_the_rule_of_resources() {
    let mut script = Script::loaded(vec![]);
    script.connect();
    let discovery = json!({"spec": {"watches": [{"namespace": "default", "uid": "uid-w"}],
        "portForwardTemplateSpec": {"forwards": [{"localPort": 5000}, {"localPort": 8080}, {"localPort": 9000}]}}});
    put(&mut script, ObjectKind::KubernetesDiscovery, "d", discovery);
    let listening = |name: &str, created: i64, port: u16, ready: bool| {
        let mut pod = running("w", name, "1", name);
        (pod.created, pod.ready, pod.template_hash) = (Timestamp(created), ready, None);
        pod.containers[0].ports = vec![port];
        pod
    };
    script.pod(listening("declares", 1, 5000, true)).pod(listening("ready", 2, 8080, true));
    script.pod(listening("newest", 3, 80, false));
    let forwards = |name: &str| spec(&script, ObjectKind::PortForward, name)["forwards"].clone();
    assert_eq!(forwards("d-declares"), json!([{"localPort": 5000, "containerPort": 5000}]));
    let others =
        json!([{"localPort": 8080, "containerPort": 8080}, {"localPort": 9000, "containerPort": 8080}]);
    assert_eq!(forwards("d-ready"), others);
    assert_eq!(forwards("d-newest"), Value::Null);
}

#[test]
fn a_command_follows_the_clicks_it_names_in_whatever_order_they_come() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    let command = json!({"spec": {"args": ["run"], "startOn": {"uiButtons": ["go"]},
        "restartOn": {"uiButtons": ["again"], "fileWatches": ["files"]}}});
    put(script, ObjectKind::Cmd, "c", command.clone());
    assert_eq!(
        status(script, ObjectKind::Cmd, "c")["waiting"]["reason"],
        "cmd StartOn has not been triggered"
    );
    button(script, "again", json!([]));
    click(script, "again", 5, json!([]));
    assert_eq!(number(script, "c"), None, "nothing restarts what was not started");
    button(script, "go", json!([{"name": "WHO", "text": {}}]));
    click(script, "go", 7, json!([{"name": "WHO", "text": {"value": "me"}}]));
    let (first, variables) = run(script, "c").expect("it runs");
    assert_eq!(variables, [("WHO".to_owned(), "me".to_owned())]);
    put(script, ObjectKind::FileWatch, "files", json!({"spec": {"watchedPaths": ["src"]}}));
    assert_eq!(number(script, "c"), Some(first));
    let watch = WatchId::Object("files".into());
    script.event(
        FileChanges {
            watch: watch.clone(),
            paths: vec!["/src/a".into()],
            existence: Default::default(),
            written: None,
        }
        .into(),
    );
    let second = number(script, "c").filter(|second| *second != first).expect("a save starts it anew");
    script.event(
        FileChanges { watch, paths: vec!["/src/a".into()], existence: Default::default(), written: None }
            .into(),
    );
    assert_ne!(number(script, "c"), Some(second));
    let mut other = command;
    other["spec"]["args"] = json!(["other"]);
    put(script, ObjectKind::Cmd, "c", other);
    assert_eq!(number(script, "c"), None, "another command waits for the next click");
    click(script, "go", 8, json!([]));
    assert!(number(script, "c").is_some());
    delete(script, ObjectKind::Cmd, "c", false);
    assert_eq!(number(script, "c"), None);
    assert!(plan(&script.state).keys().all(|task| !matches!(task, TaskId::Command(_))));
}

#[test]
fn a_click_before_the_command_was_made_counts_unless_it_is_too_old() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    button(script, "go", json!([]));
    click(script, "go", 3, json!([]));
    let start_on = |after: &str| json!({"uiButtons": ["go"], "startAfter": after});
    put(
        script,
        ObjectKind::Cmd,
        "late",
        json!({"spec": {"args": ["run"], "startOn": start_on("2026-01-01T00:00:04Z")}}),
    );
    put(
        script,
        ObjectKind::Cmd,
        "c",
        json!({"spec": {"args": ["run"], "startOn": start_on("2026-01-01T00:00:03Z")}}),
    );
    assert_eq!((number(script, "late"), number(script, "c").is_some()), (None, true));
}

#[test]
fn a_command_is_ready_when_its_probe_says_so_and_stays_so_when_it_ends() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    let probe = json!({"tcpSocket": {"port": 1234}, "periodSeconds": 1});
    put(script, ObjectKind::Cmd, "c", json!({"spec": {"args": ["serve"], "readinessProbe": probe}}));
    let generation = number(script, "c").expect("it runs");
    let owner = Owner::object(ObjectKind::Cmd, "c");
    let task = TaskId::Probe(owner.clone());
    assert!(!plan(&script.state).contains_key(&task), "what does not run is not probed");
    script.event(Event::CommandStarted { owner: owner.clone(), run: generation, pid: 7 });
    assert!(plan(&script.state).contains_key(&task));
    assert_eq!(status(script, ObjectKind::Cmd, "c")["ready"], Value::Null);
    let found = |run, ready| Event::CommandProbed { owner: owner.clone(), run, ready, cause: None };
    script.event(found(generation + 99, true));
    assert_eq!(status(script, ObjectKind::Cmd, "c")["ready"], Value::Null);
    script.event(found(generation, true));
    assert_eq!(status(script, ObjectKind::Cmd, "c")["ready"], true);
    script.event(Event::CommandEnded { owner: owner.clone(), run: generation, exit: CommandExit::Code(3) });
    let reported = status(script, ObjectKind::Cmd, "c");
    assert_eq!((&reported["ready"], &reported["terminated"]["exitCode"]), (&json!(true), &json!(3)));
    assert!(!plan(&script.state).contains_key(&task));
    put(
        script,
        ObjectKind::Cmd,
        "bad",
        json!({"spec": {"args": ["serve"], "readinessProbe": {"tcpSocket": {"port": 0}}}}),
    );
    let reported = status(script, ObjectKind::Cmd, "bad");
    assert_eq!(reported["terminated"]["reason"], "Invalid readiness probe: port number out of range: 0");
    assert_eq!(number(script, "bad"), None);
}

#[test]
fn values_switch_things_off_and_what_says_nothing_does_too() {
    let mut script = Script::loaded(vec![local("web")]);
    let script = &mut script;
    let one = |name: &str| json!({"configMap": {"name": name, "key": "off"}});
    put(script, ObjectKind::Cmd, "c", json!({"spec": {"args": ["run"], "disableSource": one("values")}}));
    let reported =
        |script: &Script, name: &str| status(script, ObjectKind::Cmd, name)["disableStatus"].clone();
    assert_eq!(reported(script, "c")["state"], "Pending");
    assert_eq!(reported(script, "c")["disabled"], true);
    assert_eq!(number(script, "c"), None);
    put(script, ObjectKind::ConfigMap, "values", json!({"data": {"off": "0"}}));
    assert_eq!(reported(script, "c")["reason"], r#"ConfigMap/key "values"/"off" is false"#);
    assert!(number(script, "c").is_some());
    put(script, ObjectKind::ConfigMap, "values", json!({"data": {"off": "maybe"}}));
    assert_eq!((reported(script, "c")["state"].clone(), number(script, "c")), (json!("Error"), None));
    put(script, ObjectKind::ConfigMap, "values", json!({"data": {}}));
    assert_eq!(reported(script, "c")["reason"], r#"ConfigMap "values" has no key "off""#);
    let every = json!({"everyConfigMap": [{"name": "values", "key": "off"}, {"name": "web-disable", "key": "isDisabled"}]});
    put(script, ObjectKind::ConfigMap, "values", json!({"data": {"off": "true"}}));
    put(script, ObjectKind::Cmd, "every", json!({"spec": {"args": ["run"], "disableSource": every}}));
    assert!(number(script, "every").is_some(), "not all of them say so");
    put(script, ObjectKind::ConfigMap, "web-disable", json!({"data": {"isDisabled": "true"}}));
    assert_eq!(reported(script, "every")["reason"], "Every ConfigMap disabled");
    assert_eq!(number(script, "every"), None);
    script.save_tiltfile().load(vec![]);
    assert_eq!(reported(script, "every")["state"], "Pending", "the value went with its resource");
}

fn toggle(script: &mut Script, name: &str, map: &str) {
    let state = json!({"configMap": {"name": map, "key": "on", "onValue": "yes", "offValue": "no"}});
    let location = json!({"componentID": "x", "componentType": "Global"});
    put(
        script,
        ObjectKind::ToggleButton,
        name,
        json!({"spec": {"location": location, "on": {"text": "Stop", "iconName": "stop"},
            "off": {"text": "Start", "requiresConfirmation": true}, "stateSource": state}}),
    );
}

#[test]
fn a_toggle_button_switches_its_value_and_shows_the_next_step() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    toggle(script, "t", "values");
    assert_eq!(status(script, ObjectKind::ToggleButton, "t")["error"], r#"no such ConfigMap "values""#);
    put(script, ObjectKind::ConfigMap, "values", json!({"data": {"on": "no"}}));
    assert_eq!(status(script, ObjectKind::ToggleButton, "t"), json!({}));
    let shown = spec(script, ObjectKind::UIButton, "toggle-t");
    assert_eq!((&shown["text"], &shown["requiresConfirmation"]), (&json!("Start"), &json!(true)));
    let action = |word: &str| json!([{"name": "action", "hidden": {"value": word}}]);
    click(script, "toggle-t", 1, action("on"));
    assert_eq!(get(script, ObjectKind::ConfigMap, "values")["content"]["data"]["on"], "yes");
    let shown = spec(script, ObjectKind::UIButton, "toggle-t");
    assert_eq!((&shown["text"], &shown["inputs"]), (&json!("Stop"), &action("off")));
    put(script, ObjectKind::ConfigMap, "values", json!({"data": {"on": "no"}}));
    assert_eq!(
        spec(script, ObjectKind::UIButton, "toggle-t")["text"],
        "Start",
        "an old click does not count again"
    );
    put(script, ObjectKind::ConfigMap, "values", json!({"data": {"on": "odd"}}));
    assert!(
        status(script, ObjectKind::ToggleButton, "t")["error"]
            .as_str()
            .is_some_and(|it| it.contains("unknown value"))
    );
    delete(script, ObjectKind::ToggleButton, "t", false);
    assert_eq!(get(script, ObjectKind::UIButton, "toggle-t"), Value::Null);
}

#[test]
fn what_belongs_to_others_goes_with_the_last_of_them() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    let owned = |script: &mut Script, name: &str, owners: &[&str]| {
        let mut object = Object::named(name);
        let owners: Vec<Value> = owners.iter().map(|uid| json!({"uid": uid})).collect();
        object.metadata.insert("ownerReferences".into(), json!(owners));
        let key = ObjectKey::new(ObjectKind::ConfigMap, name);
        script.event(Event::ObjectPut {
            key,
            object: Box::new(object),
            uid: format!("uid-ConfigMap-{name}"),
        });
    };
    let exists = |script: &Script, name: &str| get(script, ObjectKind::ConfigMap, name) != Value::Null;
    put(script, ObjectKind::ConfigMap, "a", json!({}));
    put(script, ObjectKind::ConfigMap, "b", json!({}));
    owned(script, "both", &["uid-ConfigMap-a", "uid-ConfigMap-b"]);
    owned(script, "deep", &["uid-ConfigMap-both"]);
    owned(script, "elsewhere", &["a-resource"]);
    delete(script, ObjectKind::ConfigMap, "a", false);
    assert!(exists(script, "both") && exists(script, "deep"));
    let left = &get(script, ObjectKind::ConfigMap, "both")["metadata"]["ownerReferences"];
    assert_eq!(*left, json!([{"uid": "uid-ConfigMap-b"}]));
    delete(script, ObjectKind::ConfigMap, "b", false);
    assert!(!exists(script, "both") && !exists(script, "deep") && exists(script, "elsewhere"));
    script.event(Event::OwnerGone { uid: "a-resource".into() });
    assert!(!exists(script, "elsewhere"));
    put(script, ObjectKind::ConfigMap, "c", json!({}));
    owned(script, "free", &["uid-ConfigMap-c"]);
    delete(script, ObjectKind::ConfigMap, "c", true);
    assert_eq!(get(script, ObjectKind::ConfigMap, "free")["metadata"]["ownerReferences"], Value::Null);
}

fn load_of(script: &Script, name: &str) -> Option<(u64, std::path::PathBuf, Vec<String>)> {
    match plan(&script.state).remove(&TaskId::Load(name.into()))? {
        Task::Load { load, path, args, .. } => Some((load, path, args)),
        _ => None,
    }
}

fn loaded(script: &mut Script, name: &str, resources: Vec<lilt_model::resource::Resource>) {
    let (load, path, _) = load_of(script, name).expect("a load runs");
    let project = lilt_model::project::Project { resources, ..Default::default() };
    let files = lilt_model::files::FileSet::new(vec![path], vec![]);
    let outcome = Ok(Box::new(project));
    script.event(Event::Loaded { load, files, contents: Default::default(), outcome });
}

fn names(script: &Script) -> Vec<String> {
    script.state.resource_names().map(ToString::to_string).collect()
}

fn fetched(script: &mut Script, outcome: Result<&str, &str>) {
    let run = plan(&script.state).into_values().find_map(|spec| match spec {
        Task::Repository { run, .. } => Some(run),
        _ => None,
    });
    let outcome = outcome
        .map(|path| ProvidedRepository {
            path: path.into(),
            commit: None,
            fetched: Timestamp(0),
            stale: None,
        })
        .map_err(lilt_model::Failure::environment);
    script.event(Event::RepositoryFetched { name: "team".into(), run: run.expect("it is fetched"), outcome });
}

fn found(script: &mut Script, name: &str, path: &str) {
    let run = plan(&script.state).into_values().find_map(|spec| match spec {
        Task::Extension { run, .. } => Some(run),
        _ => None,
    });
    script.event(Event::ExtensionFound {
        name: name.into(),
        run: run.expect("it is looked for"),
        outcome: Ok(path.into()),
    });
}

#[test]
fn the_resources_of_an_extension_join_the_session_and_go_with_it() {
    let mut script = Script::loaded(vec![local("a")]);
    let script = &mut script;
    let spec = json!({"spec": {"repoName": "team", "repoPath": "x", "args": ["--y"]}});
    put(script, ObjectKind::Extension, "ext", spec);
    assert_eq!(status(script, ObjectKind::Extension, "ext")["error"], "extension repo not found: team");
    put(script, ObjectKind::ExtensionRepo, "team", json!({"spec": {"url": "https://example.com/team"}}));
    assert_eq!(status(script, ObjectKind::Extension, "ext"), json!({}));
    fetched(script, Err("no network"));
    assert_eq!(status(script, ObjectKind::ExtensionRepo, "team")["error"], "no network");
    assert_eq!(status(script, ObjectKind::Extension, "ext")["error"], "extension repo not loaded: team");
    fetched(script, Ok("/repo"));
    assert_eq!(status(script, ObjectKind::ExtensionRepo, "team")["path"], "/repo");
    found(script, "ext", "/repo/x/Tiltfile");
    assert_eq!(status(script, ObjectKind::Extension, "ext")["path"], "/repo/x/Tiltfile");
    let (_, path, args) = load_of(script, "ext").expect("it is loaded");
    assert_eq!((path, args), ("/repo/x/Tiltfile".into(), vec!["--y".to_owned()]));
    assert_eq!(status(script, ObjectKind::Tiltfile, "ext")["running"]["reasons"], json!(["Initial Build"]));
    loaded(script, "ext", vec![local("b")]);
    assert_eq!(names(script), ["a", "b"]);
    assert!(lilt_engine::project_resource(&script.state, &"ext".into()).is_some());
    script.save_tiltfile().load(vec![local("a"), local("c")]);
    assert_eq!(names(script), ["a", "b", "c"], "a load of one Tiltfile leaves what others declare");
    let watch = WatchId::Tiltfile("ext".into());
    script.event(
        FileChanges {
            watch,
            paths: vec!["/repo/x/Tiltfile".into()],
            existence: Default::default(),
            written: None,
        }
        .into(),
    );
    loaded(script, "ext", vec![local("a")]);
    let error = status(script, ObjectKind::Tiltfile, "ext")["terminated"]["error"].clone();
    assert!(
        error.as_str().is_some_and(|it| it.contains("defined in two tiltfiles: ext, (Tiltfile)")),
        "{error}"
    );
    delete(script, ObjectKind::Extension, "ext", false);
    assert_eq!(names(script), ["a", "c"]);
    assert_eq!(get(script, ObjectKind::Tiltfile, "ext"), Value::Null);
    assert!(load_of(script, "ext").is_none());
}

#[test]
fn an_extension_that_was_loaded_for_its_functions_is_not_loaded_again() {
    let mut script = Script::loaded(vec![]);
    let mut object = Object::named("ext");
    object.metadata.insert("annotations".into(), json!({"tilt.dev/managed-by": "tiltfile.loader"}));
    object.content =
        json!({"spec": {"repoName": "default", "repoPath": "x"}}).as_object().cloned().expect("one");
    let key = ObjectKey::new(ObjectKind::Extension, "ext");
    script.event(Event::ObjectPut { key, object: Box::new(object), uid: "u".into() });
    found(&mut script, "ext", "/repo/x/Tiltfile");
    assert_eq!(status(&script, ObjectKind::Extension, "ext")["path"], "/repo/x/Tiltfile");
    assert_eq!(get(&script, ObjectKind::Tiltfile, "ext"), Value::Null);
}

#[test]
fn buttons_load_a_tiltfile_and_stop_that() {
    let mut script = Script::loaded(vec![]);
    let script = &mut script;
    button(script, "again", json!([]));
    button(script, "stop", json!([]));
    click(script, "again", 1, json!([]));
    let spec = json!({"path": "/p/Tiltfile", "args": [], "restartOn": {"uiButtons": ["again"],
        "fileWatches": ["configs:(Tiltfile)"]}, "stopOn": {"uiButtons": ["stop"]}});
    put(script, ObjectKind::Tiltfile, "(Tiltfile)", json!({"spec": spec}));
    assert!(load_of(script, "(Tiltfile)").is_none(), "a click from before does nothing");
    click(script, "again", 2, json!([]));
    assert!(load_of(script, "(Tiltfile)").is_some());
    click(script, "stop", 3, json!([]));
    assert!(load_of(script, "(Tiltfile)").is_none());
    script.save_tiltfile();
    assert!(load_of(script, "(Tiltfile)").is_some());
}

#[test]
fn another_cluster_is_reached_and_nothing_goes_to_it() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect();
    let script = &mut script;
    let spec = json!({"connection": {"kubernetes": {"context": "other"}}});
    put(script, ObjectKind::Cluster, "other", json!({"spec": spec}));
    let key = ObjectKey::new(ObjectKind::Cluster, "other");
    let sought =
        |script: &Script| match plan_object(&script.state, &key).remove(&TaskId::Cluster("other".into())) {
            Some(Task::Cluster { run, source, .. }) => Some((run, source)),
            _ => None,
        };
    let (run, source) = sought(script).expect("it is looked for");
    assert_eq!(source, ClusterSource::Kubernetes { context: Some("other".into()), namespace: None });
    let looked = |run, outcome| Event::ClusterLooked { name: "other".into(), run, outcome };
    script.event(looked(run, Err(Failure::environment("it is asleep"))));
    assert_eq!(status(script, ObjectKind::Cluster, "other"), json!({"error": "it is asleep"}));
    let info = ClusterInfo { context: "other".into(), server_version: "v1".into(), ..ClusterInfo::default() };
    let found = FoundCluster::Kubernetes(Box::new(info));
    script.event(looked(run + 99, Ok(found.clone())));
    assert_eq!(
        status(script, ObjectKind::Cluster, "other")["version"],
        Value::Null,
        "not what is asked for now"
    );
    script.event(looked(run, Ok(found)));
    let reported = status(script, ObjectKind::Cluster, "other");
    assert_eq!(
        (&reported["version"], &reported["connection"]["kubernetes"]["context"]),
        (&json!("v1"), &json!("other"))
    );
    assert!(reported["connectedAt"].is_string() && reported["error"].is_null());
    // The Tiltfile deploys nothing there.
    put(
        script,
        ObjectKind::KubernetesApply,
        "a",
        json!({"spec": {"yaml": "kind: ConfigMap", "cluster": "other"}}),
    );
    let words =
        status(script, ObjectKind::KubernetesApply, "a")["error"].as_str().unwrap_or_default().to_owned();
    assert!(words.starts_with("no resource of the Tiltfile deploys to this cluster"), "{words}");
    let forwards = json!([{"containerPort": 80}]);
    put(
        script,
        ObjectKind::PortForward,
        "f",
        json!({"spec": {"podName": "p", "forwards": forwards, "cluster": "other"}}),
    );
    let reported = status(script, ObjectKind::PortForward, "f")["forwardStatuses"][0]["error"].clone();
    assert!(
        reported.as_str().is_some_and(|words| words.starts_with("this session has no cluster other")),
        "{reported}"
    );
    assert!(plan_object(&script.state, &ObjectKey::new(ObjectKind::PortForward, "f")).is_empty());
    delete(script, ObjectKind::Cluster, "other", false);
    assert_eq!(sought(script), None);
}
