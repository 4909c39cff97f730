//! The order of updates, their cancellation and holds, and their timeline.

mod support;

use insta::assert_snapshot;
use lilt_engine::{
    CommandExit, Event, FileChanges, Hold, Owner, Task, TaskId, WatchId, plan, project_resource,
};
use lilt_model::Timestamp;
use lilt_model::resource::{Body, Resource};
use lilt_model::timeline::{Outcome, StageKind, UpdateRecord};
use support::*;

fn updating(script: &Script) -> Vec<String> {
    plan(&script.state)
        .into_keys()
        .filter_map(|id| match id {
            TaskId::Update(name) => Some(name.to_string()),
            _ => None,
        })
        .collect()
}

fn without_images(name: &str) -> Resource {
    objects(name, &["Service"])
}

#[test]
fn the_first_round_goes_from_local_to_built() {
    let resources =
        vec![workload("built"), without_images("plain"), without_images("uncategorized"), local("tool")];
    let mut script = Script::new();
    script.load_with(limited(resources, 1)).connect();
    let mut order = Vec::new();
    while let [name] = updating(&script).as_slice() {
        let name = name.clone();
        script.succeed(&name);
        order.push(name);
    }
    assert_eq!(order, ["tool", "uncategorized", "plain", "built"]);
}

#[test]
fn kubernetes_resources_wait_for_uncategorized() {
    let mut script = Script::loaded(vec![workload("web"), without_images("uncategorized"), parallel("tool")]);
    script.connect();
    assert_eq!(updating(&script), ["tool", "uncategorized"]);
    assert_eq!(script.state.hold(&"web".into()), Some(&Hold::Uncategorized));
    let object = project_resource(&script.state, &"web".into()).expect("it is shown");
    let waiting = object.status.waiting.expect("it waits");
    assert_eq!(
        (waiting.reason.as_str(), waiting.on[0].name.as_str()),
        ("waiting-for-uncategorized", "uncategorized")
    );
    script.fail("uncategorized");
    assert_eq!(updating(&script), ["tool", "web"], "a failure does not keep the others");
    // Nor does one that was taken away.
    script.succeed("web").trigger("uncategorized").save_image("web", "web", "/p/web/Dockerfile");
    assert_eq!(updating(&script), ["tool", "uncategorized"]);
    script.save_tiltfile().load(vec![workload("web"), parallel("tool")]);
    assert_eq!(updating(&script), ["tool", "web"]);
}

#[test]
fn triggered_and_edited_resources_start_first() {
    let mut script = Script::loaded(vec![local("a"), local("b"), local("c"), local("d")]);
    script.succeed("a").save("a", "/p/a/x");
    assert_eq!(updating(&script), ["b"]);
    script.trigger("d").succeed("b");
    assert_eq!(updating(&script), ["d"], "before a, which was saved, and c, which has not been up yet");
    script.save("b", "/p/b/x").succeed("d");
    assert_eq!(updating(&script), ["b"], "saved after a");
    script.succeed("b");
    assert_eq!(updating(&script), ["a"]);
    script.succeed("a");
    assert_eq!(updating(&script), ["c"]);
}

#[test]
fn hold_shows_progress_of_dependency() {
    let mut script = Script::loaded(vec![workload("db"), after(local("test"), &["db"])]);
    let mut seen = Vec::new();
    let mut look = |script: &Script| seen.push(script.state.hold(&"test".into()).expect("it waits").words());
    look(&script);
    script.connect();
    look(&script);
    let update = script.update_of("db").expect("it runs");
    let (stage, detail) = (StageKind::Build, "db".to_owned());
    script.event(Event::StageBegan { owner: Owner::Resource("db".into()), update, stage, detail });
    look(&script);
    script.deploy("db", "one");
    look(&script);
    script.pod(starting("db", "db-1", "one"));
    look(&script);
    script.fail_pod("db", "db-1", "one");
    look(&script);
    script.event(Event::Requested {
        request: lilt_model::request::Request::Switch { enable: vec![], disable: vec!["db".into()] },
    });
    look(&script);
    assert_snapshot!(seen.join("\n"), @"
    waiting for db (waiting for the cluster)
    waiting for db (updating)
    waiting for db (updating: build db)
    waiting for db (starting: no pod yet)
    waiting for db (starting: pod db-1: ContainerCreating)
    waiting for db (error: pod db-1: Error)
    waiting for db (disabled)
    ");
    let object = project_resource(&script.state, &"test".into()).expect("it is shown");
    assert_snapshot!(object.metadata.annotations["lilt.dev/hold-data"], @r#"{"hold":"dependencies","on":[{"name":"db","state":"disabled"}]}"#);
}

#[test]
fn build_is_cancelled_by_newer_save_until_it_is_deployed() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect();
    let first = script.update_of("w").expect("it runs");
    script.save_image("w", "w", "/p/w/a");
    let second = script.update_of("w").expect("it runs");
    assert!(second > first);
    assert!(script.show().contains("update w: Initial Build (build w, deploy)"), "{}", script.show());
    let stage = |update, stage| Event::StageBegan {
        owner: Owner::Resource("w".into()),
        update,
        stage,
        detail: String::new(),
    };
    script.event(stage(second, StageKind::Deploy));
    script.save_image("w", "w", "/p/w/b");
    assert_eq!(script.update_of("w"), Some(second), "too late");
    script.deploy("w", "one");
    assert!(script.show().contains("1 File Changed: [w/b]"), "{}", script.show());
    script.save_image("w", "w", "/p/w/c");
    assert!(script.show().contains("2 Files Changed: [w/b w/c]"), "{}", script.show());
}

/// Reports that the build of `web` has begun.
fn build_begins(script: &mut Script) {
    let update = script.update_of("web").expect("it runs");
    let (resource, detail) = ("web".into(), "web".to_owned());
    script.event(Event::StageBegan {
        owner: Owner::Resource(resource),
        update,
        stage: StageKind::Build,
        detail,
    });
}

#[test]
fn first_build_continues_when_a_running_command_writes_its_inputs() {
    for producer in [parallel("gen"), server("gen")] {
        let mut script = Script::loaded(vec![producer, workload("web")]);
        script.connect();
        build_begins(&mut script);
        let first = script.update_of("web");
        script.save_image("web", "web", "/p/web/generated");
        assert_eq!(script.update_of("web"), first);
        script.deploy("web", "one");
        assert!(script.show().contains("1 File Changed: [web/generated]"), "{}", script.show());
        // Later builds are given up for newer saves as always.
        let second = script.update_of("web");
        script.save_image("web", "web", "/p/web/saved");
        assert!(script.update_of("web") > second);
    }
}

#[test]
fn first_build_includes_files_reported_just_after_their_command_ended() {
    let resources = || vec![local("gen"), after(workload("web"), &["gen"])];
    let mut script = Script::loaded(resources());
    script.connect().succeed("gen");
    let first = script.update_of("web").expect("it runs");
    script.save_image("web", "web", "/p/web/generated");
    assert_eq!(script.update_of("web"), Some(first));
    build_begins(&mut script);
    script.deploy("web", "one");
    assert_eq!(script.update_of("web"), None, "all of it was built: {}", script.show());

    // After the build has begun, it goes on, and another one follows.
    let mut script = Script::loaded(resources());
    script.connect().succeed("gen");
    build_begins(&mut script);
    let first = script.update_of("web");
    script.save_image("web", "web", "/p/web/generated");
    assert_eq!(script.update_of("web"), first);
    // A save long after the command is the user's.
    script.time += 10_000;
    script.save_image("web", "web", "/p/web/saved");
    assert!(script.update_of("web") > first);
}

#[test]
fn first_build_waits_for_the_command_that_writes_its_inputs() {
    let mut script = Script::loaded(vec![parallel("gen"), workload("web")]);
    script.save_image("web", "web", "/p/web/generated").connect();
    assert_eq!(script.update_of("web"), None, "{}", script.show());
    let hold = script.state.hold(&"web".into()).expect("it waits").words();
    assert_eq!(hold, "waiting for gen, which writes files that its images are built from");
    let shown = project_resource(&script.state, &"web".into()).expect("it is shown");
    assert_eq!(shown.status.waiting.expect("it waits").on[0].name, "gen");
    script.save_image("web", "web", "/p/web/more").succeed("gen");
    let first = script.update_of("web");
    assert!(first.is_some(), "{}", script.show());
    script.save_image("web", "web", "/p/web/last");
    assert_eq!(script.update_of("web"), first, "it was reported late");
    script.deploy("web", "one");
    assert_eq!(script.update_of("web"), None, "all of it was built once: {}", script.show());
}

#[test]
fn first_build_begins_when_a_command_that_never_ends_writes_nothing() {
    let mut script = Script::loaded(vec![parallel("gen"), workload("web")]);
    script.save_image("web", "web", "/p/web/generated").connect();
    assert_eq!(script.update_of("web"), None);
    let at = script.alarm().expect("it does not wait for ever");
    script.event_at(at, Event::Woke);
    assert!(script.update_of("web").is_some(), "{}", script.show());
}

#[test]
fn first_build_starts_while_a_command_keeps_writing() {
    let mut script = Script::loaded(vec![parallel("gen"), workload("web")]);
    script.save_image("web", "web", "/p/web/log").connect();
    let waited = (0..30).take_while(|_| {
        script.time += 4;
        script.save_image("web", "web", "/p/web/log");
        script.update_of("web").is_none()
    });
    assert_eq!(waited.count(), 11, "a minute, with a change every five seconds");
}

#[test]
fn first_build_does_not_wait_where_two_commands_may_have_written_its_inputs() {
    let mut script = Script::loaded(vec![parallel("gen"), parallel("lint"), workload("web")]);
    script.save_image("web", "web", "/p/web/generated").connect();
    assert!(script.update_of("web").is_some(), "{}", script.show());
}

#[test]
fn first_build_is_cancelled_by_a_save_while_an_old_server_runs() {
    let mut script = Script::loaded(vec![server("api"), workload("web")]);
    script.succeed("api").connect();
    let serve =
        lilt_engine::plan(&script.state).remove(&lilt_engine::TaskId::Command(Owner::Resource("api".into())));
    let Some(lilt_engine::Task::Command { run: generation, .. }) = serve else { panic!("{serve:?}") };
    script.event(Event::CommandStarted { owner: Owner::Resource("api".into()), run: generation, pid: 1 });
    build_begins(&mut script);
    script.time += 60;
    let first = script.update_of("web");
    script.save_image("web", "web", "/p/web/saved");
    assert!(script.update_of("web") > first, "{}", script.show());
}

/// A user who saves every second must see results, too.
#[test]
fn builds_are_cancelled_a_limited_number_of_times() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect();
    let mut updates = std::collections::BTreeSet::new();
    for save in 0..20 {
        script.save_image("w", "w", &format!("/p/w/{save}"));
        updates.insert(script.update_of("w").expect("it runs"));
    }
    assert_eq!(updates.len(), 3);
}

#[test]
fn save_does_not_cancel_a_local_command() {
    let mut script = Script::loaded(vec![local("a")]);
    let update = script.update_of("a");
    script.save("a", "/p/a/x");
    assert_eq!(script.update_of("a"), update);
}

/// Each update writes a file that it watches.
fn run_away(script: &mut Script) -> usize {
    for round in 0..100 {
        if script.update_of("gen").is_none() {
            return round;
        }
        script.save("gen", "/p/gen/out.txt").succeed("gen");
    }
    panic!("it never stops");
}

#[test]
fn updates_that_cause_one_another_are_held() {
    let mut script = Script::loaded(vec![local("gen")]);
    assert_eq!(run_away(&mut script), 9);
    assert_snapshot!(script.state.hold(&"gen".into()).expect("it is held").words(), @"held: 8 updates in a row changed files that it watches (gen/out.txt); name them in ignore=[…], then trigger it or save another file");
    assert_eq!(script.state.take_notes().len(), 1, "the log says so once");
    script.save("gen", "/p/gen/out.txt");
    assert!(script.update_of("gen").is_some(), "somebody saved it while nothing ran");
    run_away(&mut script);
    script.trigger("gen");
    assert!(script.update_of("gen").is_some());
    assert_eq!(run_away(&mut script), 9);
}

#[test]
fn edits_while_an_update_runs_are_no_loop() {
    let mut script = Script::loaded(vec![local("a")]);
    for edit in 0..30 {
        script.save("a", &format!("/p/a/{edit}")).succeed("a");
        assert!(script.update_of("a").is_some());
    }
}

/// Writes of an update may be reported late. Later writes are the user's, however soon they follow.
#[test]
fn modification_times_identify_own_writes() {
    let rounds = |after: i64| {
        let mut script = Script::loaded(vec![local("a")]);
        for round in 0..30 {
            if script.update_of("a").is_none() {
                return round;
            }
            script.succeed("a");
            let written = Some(Timestamp(script.time * 1_000_000 + after));
            let (watch, paths) = (WatchId::Local("a".into()), vec!["/p/a/x".into()]);
            script.event(FileChanges { watch, paths, existence: Default::default(), written }.into());
        }
        30
    };
    assert_eq!((rounds(-1000), rounds(100_000)), (9, 30));
}

#[test]
fn a_tiltfile_that_writes_what_it_reads_is_held() {
    let mut script = Script::loaded(vec![]);
    script.save_tiltfile();
    let mut loads = std::collections::BTreeSet::new();
    for _ in 0..30 {
        loads.insert(script.running_load().expect("it loads"));
        script.save_tiltfile();
    }
    assert!(loads.len() < 12, "it begins anew for ever");
    script.load(vec![]);
    assert_eq!(script.running_load(), None);
    let object = project_resource(&script.state, &lilt_model::ResourceName::tiltfile()).expect("it is shown");
    assert!(object.metadata.annotations["lilt.dev/hold"].contains("(Tiltfile)"), "{:?}", object.metadata);
    script.trigger("(Tiltfile)");
    assert!(script.running_load().is_some());
}

#[test]
fn with_the_cascade_dependents_update_too() {
    let (app, docs) = (after(local("app"), &["lib"]), after(manual(local("docs")), &["app"]));
    let mut script = Script::loaded(vec![local("lib"), cascading(app), cascading(docs)]);
    script.succeed("lib").succeed("app").succeed("docs");
    script.save("lib", "/p/lib/x").save("app", "/p/app/x");
    assert_eq!(updating(&script), ["lib"], "what it builds on comes first");
    assert_snapshot!(script.state.hold(&"app".into()).expect("it waits").words(), @"waiting for lib (updating: run make lib)");
    script.succeed("lib");
    assert!(script.show().contains("update app: 1 File Changed: [app/x]"), "{}", script.show());
    script.succeed("app");
    assert_eq!(script.state.hold(&"docs".into()), Some(&Hold::Trigger { changed: true, files: 0 }));
    script.save("lib", "/p/lib/x").succeed("lib");
    assert!(script.show().contains("update app: Dependencies Updated: [lib]"), "{}", script.show());
}

#[test]
fn without_the_cascade_dependents_do_not_update() {
    let mut script = Script::loaded(vec![local("lib"), after(local("app"), &["lib"])]);
    script.succeed("lib").succeed("app").save("lib", "/p/lib/x").succeed("lib");
    assert!(updating(&script).is_empty());
}

#[test]
fn exited_servers_restart_with_increasing_delays() {
    let mut script = Script::loaded(vec![restarted(server("web"))]);
    script.succeed("web");
    let mut delays = Vec::new();
    for _ in 0..8 {
        let spec = plan(&script.state).remove(&TaskId::Command(Owner::Resource("web".into())));
        let Some(Task::Command { run: generation, .. }) = spec else { panic!("it does not serve") };
        script.event(Event::CommandStarted { owner: Owner::Resource("web".into()), run: generation, pid: 7 });
        script.event(Event::CommandEnded {
            owner: Owner::Resource("web".into()),
            run: generation,
            exit: CommandExit::Signal(11),
        });
        assert!(!plan(&script.state).contains_key(&TaskId::Command(Owner::Resource("web".into()))));
        let at = script.alarm().expect("it will be started again");
        delays.push((at.0 - script.time * 1_000_000) / 1_000_000);
        script.time = at.0 / 1_000_000 - 1;
        script.event(Event::Woke);
    }
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
}

fn stages(record: &UpdateRecord) -> String {
    let stage = |stage: &lilt_model::timeline::Stage| {
        let second = |time: Timestamp| time.0 / 1_000_000;
        let end = stage.end.map_or("…".into(), |end| second(end).to_string());
        format!("{} {}-{end}", stage.words(), second(stage.begin))
    };
    record.stages.iter().map(stage).collect::<Vec<_>>().join(", ")
}

#[test]
fn timeline_contains_stages_of_live_update() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect().deploy("w", "one");
    script.pod(running("w", "w-1", "one", "c1")).pod(running("w", "w-2", "one", "c2"));
    let watch = lilt_engine::WatchId::Image("w".into(), "w".into());
    let written = Some(Timestamp(script.time * 1_000_000));
    script.event(
        FileChanges { watch, paths: vec!["/p/w/src/one".into()], existence: Default::default(), written }
            .into(),
    );
    let update = script.update_of("w").expect("it runs");
    for (stage, detail) in [(StageKind::Write, ""), (StageKind::Run, "make"), (StageKind::Restart, "")] {
        script.event(Event::StageBegan {
            owner: Owner::Resource("w".into()),
            update,
            stage,
            detail: detail.into(),
        });
    }
    script.synced("w", "c2", Err(lilt_engine::SyncFault::Gone));
    script.synced("w", "c1", Ok(()));
    let records = script.state.take_records();
    let (_, last) = records.iter().rfind(|(name, _)| name.as_str() == "w").expect("it is told");
    assert_eq!(last.outcome, Outcome::Ok);
    assert_snapshot!(stages(last), @"detect 6-7, send to 2 containers 7-8, write 8-9, run make 9-10, restart 10-12, missed w-2/main 11-11");
}

/// Every update caused by a save shows how long the detection of the save took, for commands, builds and live
/// updates.
#[test]
fn timeline_contains_detection_of_save() {
    let mut script = Script::loaded(vec![local("a"), workload("w"), manual(local("m"))]);
    script.connect().succeed("a").succeed("m").deploy("w", "one");
    let save = |script: &mut Script, watch: WatchId| {
        let written = Some(Timestamp(script.time * 1_000_000));
        script.event(
            FileChanges { watch, paths: vec!["/p/w/x".into()], existence: Default::default(), written }
                .into(),
        );
        script.time
    };
    let saved = save(&mut script, WatchId::Local("a".into()));
    script.succeed("a");
    let built = save(&mut script, WatchId::Image("w".into(), "w".into()));
    script.deploy("w", "two");
    let noticed = save(&mut script, WatchId::Local("m".into()));
    script.time += 100;
    script.trigger("m").succeed("m");
    let records = script.state.take_records();
    let last = |wanted: &str| {
        let found = records.iter().rfind(|(name, _)| name.as_str() == wanted).expect("it is told");
        (stages(&found.1), found.1.begin.0 / 1_000_000)
    };
    let expected = format!("detect {}-{saved}, run make a {saved}-{}", saved - 1, saved + 1);
    assert_eq!(last("a"), (expected, saved - 1));
    // Its later stages are reported by its runner.
    assert_eq!(last("w"), (format!("detect {}-{built}", built - 1), built - 1));
    // A manual resource waits since then.
    let (reported, _) = last("m");
    let expected = format!("detect {}-{noticed}, wait {noticed}-{}, run", noticed - 1, noticed + 101);
    assert!(reported.starts_with(&expected), "{reported} and not {expected}");
}

/// Kubernetes tells whole seconds: what was seen within one is drawn where it was seen, and after what came before.
#[test]
fn timeline_refines_cluster_times_with_observations() {
    let mut script = Script::loaded(vec![workload("w")]);
    script.connect();
    let second = script.time * 1_000_000;
    let at = |milliseconds: i64| Timestamp(second + milliseconds * 1_000);
    let update = script.update_of("w").expect("it runs");
    let deploy = Event::StageBegan {
        owner: Owner::Resource("w".into()),
        update,
        stage: StageKind::Deploy,
        detail: String::new(),
    };
    script.event_at(at(200), deploy);
    script.event_at(at(400), Event::StageEnded { resource: "w".into(), update });
    let outcome = Box::new(script.deployed_outcome("w", "one"));
    script.event_at(at(400), Event::UpdateEnded { resource: "w".into(), update, outcome });
    let condition = |kind: &str| lilt_model::cluster::PodCondition {
        kind: kind.into(),
        met: true,
        reason: String::new(),
        message: String::new(),
        since: at(0),
    };
    let mut pod = starting("w", "w-1", "one");
    pod.created = at(0);
    pod.conditions = vec![condition("PodScheduled")];
    script.event_at(at(500), Event::PodChanged { pod: Box::new(pod) });
    let mut pod = running("w", "w-1", "one", "c1");
    pod.created = at(0);
    pod.conditions = vec![condition("PodScheduled"), condition("Ready")];
    pod.containers[0].state = lilt_model::cluster::ContainerState::Running { since: at(0) };
    script.event_at(at(900), Event::PodChanged { pod: Box::new(pod) });
    let records = script.state.take_records();
    let (_, last) = records.iter().rfind(|(name, _)| name.as_str() == "w").expect("it is told");
    let words: Vec<String> = last
        .stages
        .iter()
        .filter(|stage| stage.stage != StageKind::Wait)
        .map(|stage| {
            let since = |time: Timestamp| (time.0 - second) / 1_000;
            format!("{:?} {}-{}", stage.stage, since(stage.begin), stage.end.map_or(-1, since))
        })
        .collect();
    assert_eq!(words.join(", "), "Deploy 200-400, Schedule 400-500, Start 500-900, Ready 900-900");
}

#[test]
fn timeline_contains_stages_of_deployment() {
    let mut script = Script::loaded(vec![local("a"), workload("w")]);
    script.connect().succeed("a");
    let update = script.update_of("w").expect("it runs");
    for (stage, detail) in [(StageKind::Build, "w"), (StageKind::Push, "w:one"), (StageKind::Deploy, "")] {
        let detail = detail.to_owned();
        script.event(Event::StageBegan { owner: Owner::Resource("w".into()), update, stage, detail });
        script.event(Event::StageEnded { resource: "w".into(), update });
    }
    script.deploy("w", "one");
    let created = Timestamp(script.time * 1_000_000);
    let mut pod = starting("w", "w-1", "one");
    pod.created = created;
    script.pod(pod);
    let mut ready = running("w", "w-1", "one", "c1");
    let later = |seconds: i64| Timestamp(created.0 + seconds * 1_000_000);
    ready.created = created;
    ready.conditions = [("PodScheduled", 1), ("Ready", 5)]
        .map(|(kind, seconds)| lilt_model::cluster::PodCondition {
            kind: kind.into(),
            met: true,
            reason: String::new(),
            message: String::new(),
            since: later(seconds),
        })
        .to_vec();
    ready.containers[0].state = lilt_model::cluster::ContainerState::Running { since: later(4) };
    for (reason, seconds) in [("Pulling", 1), ("Pulled", 3)] {
        script.event(Event::Noticed {
            notice: lilt_model::cluster::Notice {
                about: lilt_model::cluster::Subject::Pod(pod_ref("w-1")),
                warning: false,
                reason: reason.into(),
                message: String::new(),
                probe: None,
                at: later(seconds),
            },
        });
    }
    script.pod(ready);
    let records = script.state.take_records();
    let (_, last) = records.iter().rfind(|(name, _)| name.as_str() == "w").expect("it is told");
    assert_eq!(last.outcome, Outcome::Ok);
    assert_snapshot!(stages(last), @"wait 2-4, build w 5-6, push w:one 7-8, deploy 9-10, schedule w-1 11-12, pull 12-14, start 14-15, ready 15-16");
    let (_, last) = records.iter().rfind(|(name, _)| name.as_str() == "a").expect("it is told");
    assert_snapshot!(stages(last), @"run make a 2-4");
    let (_, last) = records.iter().rfind(|(name, _)| name.is_tiltfile()).expect("it is told");
    assert_snapshot!(stages(last), @"load 1-2");
}

#[test]
fn timeline_contains_outcome_of_updates() {
    let mut script = Script::loaded(vec![local("a"), workload("w")]);
    script.fail("a");
    // What changes so late was not written by the command.
    script.time += 10_000;
    script.connect().save_image("w", "w", "/p/w/x");
    script.event(Event::Requested { request: lilt_model::request::Request::Cancel { resource: "w".into() } });
    let records = script.state.take_records();
    let ended: Vec<(&str, Outcome)> = records
        .iter()
        .filter(|(_, record)| record.end.is_some())
        .map(|(name, record)| (name.as_str(), record.outcome))
        .collect();
    assert_eq!(
        ended,
        [
            ("(Tiltfile)", Outcome::Ok),
            ("a", Outcome::Failed),
            ("w", Outcome::Superseded),
            ("w", Outcome::Cancelled)
        ]
    );
}

/// Of a resource with a manual mode a change waits; with the auto mode it does not, also without auto_init.
#[test]
fn modes_and_starts_can_be_mixed() {
    let mut late = local("late");
    late.auto_init = false;
    let mut by_hand = manual(local("by-hand"));
    by_hand.auto_init = false;
    if let Body::Local(local) = &mut by_hand.body {
        local.allow_parallel = true;
    }
    let mut script = Script::loaded(vec![late, by_hand]);
    assert!(updating(&script).is_empty());
    script.save("late", "/p/late/x").save("by-hand", "/p/by-hand/x");
    assert_eq!(updating(&script), ["late"]);
    assert_eq!(script.state.hold(&"by-hand".into()), Some(&Hold::Trigger { changed: true, files: 1 }));
    script.succeed("late").trigger("by-hand").succeed("by-hand").trigger("by-hand");
    assert_eq!(updating(&script), ["by-hand"], "also without pending changes");
}

/// Its process is to be started anew.
fn restarting(name: &str) -> lilt_model::resource::Resource {
    let mut resource = workload(name);
    if let lilt_model::resource::Body::Kubernetes(kubernetes) = &mut resource.body
        && let Some(live_update) = &mut kubernetes.images[0].live_update
    {
        live_update.restart_process = Some(lilt_model::image::RestartProcess::default());
    }
    resource
}

#[test]
fn process_restarts_in_place_if_the_pod_has_the_agent() {
    for agent in [true, false] {
        let mut script = Script::loaded(vec![restarting("web")]);
        let mut pod = running("web", "web-1", "one", "c1");
        pod.containers[0].agent = agent;
        script.connect().deploy("web", "one").pod(pod);
        script.save_image("web", "web", "/p/web/src/main");
        let expected = if agent { r#"sync web c1: ["/p/web/src/main"]"# } else { "(build web, deploy)" };
        assert!(script.show().contains(expected), "{agent}: {}", script.show());
    }
}

/// Such as the pods that a controller makes with its own image.
#[test]
fn pods_of_others_with_same_image_do_not_prevent_process_restart() {
    let mut script = Script::loaded(vec![restarting("web")]);
    let mut own = running("web", "web-1", "one", "c1");
    own.containers[0].agent = true;
    let mut other = running("web", "registry", "one", "c2");
    other.template_hash = None;
    script.connect().deploy("web", "one").pod(own).pod(other);
    script.save_image("web", "web", "/p/web/src/main");
    let shown = script.show();
    assert!(shown.contains(r#"sync web c1: ["/p/web/src/main"]"#) && !shown.contains("c2: ["), "{shown}");
}

/// How an image is put into pods is part of what is deployed, though it need not be built again.
#[test]
fn changed_image_overrides_cause_a_deployment() {
    let changed = |change: fn(&mut lilt_model::image::ImageTarget)| {
        let mut resource = workload("web");
        if let Body::Kubernetes(kubernetes) = &mut resource.body {
            change(&mut kubernetes.images[0]);
        }
        resource
    };
    let others: [fn(&mut lilt_model::image::ImageTarget); 3] = [
        |image| image.entrypoint = Some(vec!["run".into()]),
        |image| image.container_args = Some(vec!["--fast".into()]),
        |image| image.match_in_env_vars = true,
    ];
    for change in others {
        let mut script = Script::loaded(vec![workload("web")]);
        script.connect().deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
        script.save_tiltfile().load(vec![changed(change)]);
        let shown = script.show();
        assert!(shown.contains("update web: 1 File Changed: [Tiltfile] (reuse web:1, deploy)"), "{shown}");
    }
}

/// Tilt's word for what outlives the session that deployed it holds on a reload, too.
#[test]
fn objects_with_keep_policy_survive_removal_from_the_tiltfile() {
    let mut kept = objects("kept", &["Secret", "Service"]);
    if let Body::Kubernetes(kubernetes) = &mut kept.body {
        kubernetes.objects[0]["metadata"]["annotations"] =
            serde_json::json!({"tilt.dev/down-policy": "keep"});
    }
    let mut script = Script::loaded(vec![kept]);
    script.connect().deploy("kept", "1");
    script.save_tiltfile().load(vec![]);
    let deleted = plan(&script.state).into_values().find_map(|spec| match spec {
        Task::Cleanup { leftovers, .. } => Some(leftovers.objects),
        _ => None,
    });
    let kinds: Vec<String> =
        deleted.expect("a deletion").iter().map(|object| object["kind"].to_string()).collect();
    assert_eq!(kinds, ["\"Service\""]);
}

/// What is built from a recipe that is another by now is of no use.
#[test]
fn reload_with_changed_image_definition_cancels_its_build() {
    let mut script = Script::loaded(vec![workload("web"), workload("api")]);
    script.connect();
    let before = (script.update_of("web"), script.update_of("api"));
    let mut changed = workload("web");
    if let Body::Kubernetes(spec) = &mut changed.body {
        spec.images[0].entrypoint = Some(vec!["/other".into()]);
    }
    script.save_tiltfile().load(vec![changed, workload("api")]);
    assert_ne!(script.update_of("web"), before.0, "another one is under way");
    assert_eq!(script.update_of("api"), before.1, "that of the other goes on");
    assert!(script.update_of("web").is_some());
}
