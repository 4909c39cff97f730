//! Requests of users: enabling and disabling resources, cancelling updates, trigger modes, arguments.

mod support;

use insta::assert_snapshot;
use lilt_engine::{Event, FileChanges, Task, TaskId, UpdateOutcome, WatchId, project_resource};
use lilt_model::project::Project;
use lilt_model::request::Request;
use lilt_model::resource::{Resource, TriggerMode};
use lilt_model::timeline::Outcome;
use lilt_model::{Failure, FailureKind, ResourceName};
use support::*;

fn names(names: &[&str]) -> Vec<ResourceName> {
    names.iter().map(ResourceName::new).collect()
}

fn switch(script: &mut Script, enable: &[&str], disable: &[&str]) {
    let request = Request::Switch { enable: names(enable), disable: names(disable) };
    script.event(Event::Requested { request });
}

fn cancel(script: &mut Script, resource: &str) {
    script.event(Event::Requested { request: Request::Cancel { resource: resource.into() } });
}

fn only(resources: Vec<Resource>, enabled: &[&str]) -> Project {
    Project { resources, enabled: Some(names(enabled)), ..Project::default() }
}

fn disabled(script: &Script, name: &str) -> bool {
    let object = project_resource(&script.state, &name.into()).expect("it is shown");
    let status = object.status.disable_status.expect("it can be switched");
    assert_eq!(
        (status.enabled_count, status.disabled_count),
        if status.state == "Disabled" { (0, 1) } else { (1, 0) }
    );
    let source = status.sources[0].config_map.as_ref().expect("a ConfigMap switches it");
    assert_eq!(source.name, format!("{name}-disable"));
    status.state == "Disabled"
}

#[test]
fn what_is_not_enabled_is_shown_and_does_nothing() {
    let mut script = Script::new();
    script.load_with(only(vec![local("a"), local("b"), workload("w")], &["a"]));
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    update a: Initial Build make a
    "#);
    assert!(disabled(&script, "b") && !disabled(&script, "a"));
    assert_eq!(script.status("b"), "None/None");
    script.trigger("b");
    assert!(script.update_of("b").is_none());
}

#[test]
fn disable_stops_a_resource_and_enable_starts_it_from_scratch() {
    let mut script = Script::loaded(vec![server("web"), workload("w")]);
    script.succeed("web").connect().deploy("w", "one").pod(running("w", "w-1", "one", "c1"));
    switch(&mut script, &[], &["web", "w"]);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    kubeconfig
    namespace("default")
    cleanup(7): w:deployment
    "#);
    assert_eq!(script.status("w"), "None/None");
    let object = project_resource(&script.state, &"w".into()).expect("it is shown");
    assert!(object.status.endpoint_links.is_empty() && object.status.build_history.is_empty());

    // Its former deployment must be deleted before it is deployed again.
    switch(&mut script, &["web", "w"], &[]);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Image("w", "w")
    update web: Initial Build (enabled) (no command)
    kubeconfig
    namespace("default")
    forward w 8000: to nothing
    cleanup(7): w:deployment
    w holds: waiting until what it had deployed is deleted
    "#);
    let cleanup = script.cleanup().expect("it is being deleted");
    script.succeed("web").event(Event::CleanedUp { cleanup });
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Image("w", "w")
    update w: Initial Build (enabled) (build w, deploy)
    serve web: serve web
    kubeconfig
    namespace("default")
    forward w 8000: to nothing
    "#);
}

#[test]
fn switching_off_cuts_a_running_update_off_and_deletes_what_it_may_have_applied() {
    let mut script = Script::loaded(vec![workload("w"), local("slow")]);
    script.connect().succeed("slow");
    let stale = script.update_of("w").expect("it runs");
    switch(&mut script, &[], &["w"]);
    assert!(script.cleanup().is_some());
    let outcome = Box::new(script.deployed_outcome("w", "late"));
    script.event(Event::UpdateEnded { resource: "w".into(), update: stale, outcome });
    assert_eq!(script.status("w"), "None/None");
}

#[test]
fn namespaces_and_what_is_to_be_kept_survive_switching_off() {
    let mut script = Script::loaded(vec![objects("all", &["Namespace", "ConfigMap"])]);
    script.connect().deploy("all", "one");
    switch(&mut script, &[], &["all"]);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    kubeconfig
    namespace("default")
    cleanup(4): all:configmap
    "#);
}

#[test]
fn a_reload_keeps_what_was_switched_by_hand_until_the_arguments_change() {
    let project = || only(vec![local("a"), local("b")], &["a"]);
    let mut script = Script::new();
    script.load_with(project());
    switch(&mut script, &["b"], &["a"]);
    script.save_tiltfile().load_with(project());
    assert!(disabled(&script, "a") && !disabled(&script, "b"));
    // A new one is as the Tiltfile says.
    script.save_tiltfile().load_with(only(vec![local("a"), local("b"), local("c")], &["a"]));
    assert!(disabled(&script, "c"));

    script.event(Event::Requested { request: Request::SetArgs { args: vec!["a".into()] } });
    assert_snapshot!(script.show(), @r#"
    load: Tiltfile Args Changed: [a]
    watch Tiltfile
    watch Local("b")
    update b: Initial Build (enabled) make b
    "#);
    script.load_with(project());
    assert!(!disabled(&script, "a") && disabled(&script, "b"));
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    update a: Initial Build (enabled) make a
    "#);
    // The same again changes nothing.
    script.event(Event::Requested { request: Request::SetArgs { args: vec!["a".into()] } });
    assert_eq!(script.running_load(), None);
}

#[test]
fn dependents_of_a_disabled_resource_wait_and_those_that_run_go_on() {
    let mut script =
        Script::loaded(vec![local("db"), after(local("web"), &["db"]), after(local("late"), &["web"])]);
    script.succeed("db").succeed("web").succeed("late");
    switch(&mut script, &[], &["db", "late"]);
    script.save("web", "/p/web/x");
    assert!(script.update_of("web").is_some(), "it has been up");
    script.succeed("web");
    switch(&mut script, &["late"], &["web"]);
    assert!(script.update_of("late").is_none());
    switch(&mut script, &["web"], &[]);
    assert!(script.update_of("web").is_none());
    switch(&mut script, &["db"], &[]);
    script.succeed("db").succeed("web");
    assert!(script.update_of("late").is_some());
}

#[test]
fn warnings_of_an_update_are_in_its_history() {
    let mut script = Script::loaded(vec![local("a")]);
    let update = script.update_of("a").expect("an update runs");
    let outcome = UpdateOutcome { warnings: vec!["old image".into()], ..UpdateOutcome::success() };
    script.event(Event::UpdateEnded { resource: "a".into(), update, outcome: Box::new(outcome) });
    let object = project_resource(&script.state, &"a".into()).expect("it is shown");
    assert_eq!(object.status.build_history[0].warnings, ["old image"]);
}

#[test]
fn failure_kind_distinguishes_cancelled_from_failed_update() {
    let mut script = Script::loaded(vec![local("a"), local("b")]);
    let outcomes = [Failure::new(FailureKind::Cancelled, "stopped"), Failure::user("build canceled")];
    for (name, failure) in ["a", "b"].into_iter().zip(outcomes) {
        let update = script.update_of(name).expect("an update runs");
        let outcome = Box::new(UpdateOutcome::failed(failure));
        script.event(Event::UpdateEnded { resource: name.into(), update, outcome });
    }
    let records = script.state.take_records();
    let outcome = |name: &str| records.iter().rfind(|(it, _)| it.as_str() == name).map(|(_, it)| it.outcome);
    assert_eq!((outcome("a"), outcome("b")), (Some(Outcome::Cancelled), Some(Outcome::Failed)));
}

#[test]
fn a_cancelled_update_is_shown_as_failed_and_waits_for_the_next_save() {
    let mut script = Script::loaded(vec![local("a"), local("b")]);
    cancel(&mut script, "a");
    assert_eq!(script.status("a"), "Error/NotApplicable");
    let object = project_resource(&script.state, &"a".into()).expect("it is shown");
    assert_eq!(object.status.build_history[0].error, "build canceled");
    assert!(script.update_of("b").is_some(), "its slot is free");
    cancel(&mut script, "b");
    assert!(script.update_of("a").is_none());
    script.save("a", "/p/a/x");
    assert!(script.update_of("a").is_some());
}

#[test]
fn cancelling_takes_back_what_was_asked_for() {
    let mut script = Script::loaded(vec![local("a"), manual(local("b"))]);
    script.succeed("a").succeed("b").save("a", "/p/a/x").trigger("b");
    cancel(&mut script, "b");
    script.succeed("a");
    assert!(script.update_of("b").is_none());
}

#[test]
fn a_live_update_that_is_cancelled_asks_for_a_build_next_time() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one").pod(running("w", "w-1", "one", "c1"));
    script.save_image("w", "w", "/p/w/src/x");
    cancel(&mut script, "w");
    assert!(script.update_of("w").is_none());
    script.save_image("w", "w", "/p/w/src/y");
    assert!(script.show().contains("build w"), "{}", script.show());
}

#[test]
fn a_trigger_mode_that_was_set_by_hand_outlives_reloads() {
    let mut script = Script::loaded(vec![local("a")]);
    script.succeed("a");
    let set = |mode| Request::SetTriggerMode { resources: names(&["a"]), mode };
    script.event(Event::Requested { request: set(TriggerMode::Manual) });
    script.save("a", "/p/a/x");
    assert!(script.update_of("a").is_none());
    script.save_tiltfile().load(vec![local("a")]);
    assert!(script.update_of("a").is_none());
    let object = project_resource(&script.state, &"a".into()).expect("it is shown");
    assert_eq!(object.status.trigger_mode, 1);
    script.event(Event::Requested { request: set(TriggerMode::Auto) });
    assert!(script.update_of("a").is_some(), "what waited goes on");
}

#[test]
fn a_tiltfile_in_manual_mode_is_loaded_when_it_is_triggered() {
    let mut script = Script::loaded(vec![local("a")]);
    let tiltfile = ResourceName::tiltfile();
    let reported = |script: &Script| {
        let object = project_resource(&script.state, &tiltfile).expect("it is shown");
        let hold = object.metadata.annotations.get("lilt.dev/hold").cloned().unwrap_or_default();
        (object.status.trigger_mode, object.status.has_pending_changes, hold)
    };
    let set_mode = |script: &mut Script, mode: TriggerMode| {
        let request = Request::SetTriggerMode { resources: vec![tiltfile.clone()], mode };
        script.event(Event::Requested { request });
    };
    assert_eq!(reported(&script), (0, false, String::new()));
    set_mode(&mut script, TriggerMode::Manual);
    assert_eq!(reported(&script), (1, false, String::new()));
    script.save_tiltfile();
    assert_eq!(script.running_load(), None);
    assert_eq!(reported(&script), (1, true, "1 file changed; waiting for a trigger".into()));
    script.trigger("(Tiltfile)");
    // A save during the load waits for the next load.
    assert!(script.running_load().is_some() && !reported(&script).1);
    let load = script.running_load();
    script.save_tiltfile();
    assert_eq!(script.running_load(), load, "it is not given up");
    script.load(vec![local("a")]);
    assert!(script.running_load().is_none() && reported(&script).1);
    set_mode(&mut script, TriggerMode::Auto);
    assert!(script.running_load().is_some());
    script.load(vec![local("a")]);
    assert_eq!(reported(&script), (0, false, String::new()));
    script.save_tiltfile();
    assert!(script.running_load().is_some());
}

#[test]
fn slow_load_shows_what_it_does_and_watches_what_it_runs() {
    let mut script = Script::new();
    let tiltfile = ResourceName::tiltfile();
    let watched = |script: &Script| {
        let plan = lilt_engine::plan(&script.state);
        let watch = plan.get(&TaskId::Watch(WatchId::Tiltfile(ResourceName::tiltfile())));
        let Some(Task::Watch { files, .. }) = watch else { return Vec::new() };
        files.entries.iter().map(|path| path.display().to_string()).collect()
    };
    // One that does not end can be fixed.
    assert_eq!(watched(&script), ["/p/Tiltfile"]);
    let load = script.running_load().expect("a load runs");
    let activity = "/p/lib:3".to_owned();
    let files = vec!["/p/Tiltfile".into(), "/p/lib".into()];
    script.event(Event::LoadIsSlow { load, activity: activity.clone(), files });
    let hold = |script: &Script| {
        let object = project_resource(&script.state, &tiltfile).expect("it is shown");
        object.metadata.annotations.get("lilt.dev/hold").cloned()
    };
    assert_eq!(hold(&script), Some(activity));
    assert_eq!(watched(&script), ["/p/Tiltfile", "/p/lib"]);

    // A save ends it and begins another one, which is not slow yet.
    let watch = WatchId::Tiltfile(tiltfile.clone());
    script.event(
        FileChanges { watch, paths: vec!["/p/lib".into()], existence: Default::default(), written: None }
            .into(),
    );
    assert_ne!(script.running_load(), Some(load));
    assert_eq!(hold(&script), None);
    script.event(Event::LoadIsSlow { load, activity: "of the old one".into(), files: vec![] });
    assert_eq!(hold(&script), None);
    script.load(vec![local("a")]);
    assert_eq!(hold(&script), None);
}
