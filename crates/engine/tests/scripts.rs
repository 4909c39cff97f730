//! Event scripts for the life of a session: what runs and what waits, after each fact.

mod support;

use insta::assert_snapshot;
use lilt_engine::{CommandExit, Event, Mode, Owner, SyncFault, Verdict, verdict};
use lilt_model::cluster::PodPhase;
use lilt_model::{ClusterName, Failure};
use support::*;

#[test]
fn a_session_begins_with_the_tiltfile() {
    assert_snapshot!(Script::new().show(), @r"
    load: Initial Build
    watch Tiltfile
    ");
}

#[test]
fn local_commands_run_one_at_a_time() {
    let mut script = Script::loaded(vec![local("a"), local("b")]);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    watch Local("b")
    update a: Initial Build make a
    b holds: waiting for other updates to finish: it must run alone
    "#);
    script.succeed("a");
    assert_eq!(script.status("a"), "Ok/NotApplicable");
    assert!(script.update_of("b").is_some());
}

#[test]
fn parallel_commands_share_the_slots() {
    let project = limited(vec![parallel("a"), parallel("b"), parallel("c")], 2);
    let mut script = Script::new();
    script.load_with(project);
    assert!(script.update_of("a").is_some() && script.update_of("b").is_some());
    assert!(script.update_of("c").is_none());
    script.fail("a");
    assert!(script.update_of("c").is_some());
}

#[test]
fn non_parallel_update_waits_for_others_and_blocks_others() {
    let mut script = Script::loaded(vec![parallel("a"), local("alone")]);
    assert!(script.update_of("alone").is_none());
    script.succeed("a");
    assert!(script.update_of("alone").is_some());
    script.save("a", "/p/a/x");
    assert!(script.update_of("a").is_none());
    script.succeed("alone");
    assert!(script.update_of("a").is_some());
}

#[test]
fn dependents_wait_until_what_they_need_has_been_ready() {
    let mut script = Script::loaded(vec![after(server("web"), &["db"]), local("db")]);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("db")
    update db: Initial Build make db
    web holds: waiting for db (updating: run make db)
    "#);
    script.fail("db");
    assert!(script.update_of("web").is_none(), "a failed dependency is not ready");
    script.save("db", "/p/db/x").succeed("db");
    assert!(script.update_of("web").is_some());
}

#[test]
fn a_server_starts_after_its_update_and_is_replaced_by_the_next() {
    let mut script = Script::loaded(vec![server("web")]);
    script.succeed("web");
    assert_snapshot!(script.show(), @"
    watch Tiltfile
    serve web: serve web
    ");
    let first = generation(&script);
    script.trigger("web").succeed("web");
    assert!(generation(&script) > first);
}

fn generation(script: &Script) -> u64 {
    let plan = lilt_engine::plan(&script.state);
    plan.into_values()
        .find_map(|spec| match spec {
            lilt_engine::Task::Command { run, .. } => Some(run),
            _ => None,
        })
        .expect("it serves")
}

#[test]
fn a_server_that_ends_is_shown_and_not_restarted() {
    let mut script = Script::loaded(vec![server("web")]);
    script.succeed("web");
    let generation = generation(&script);
    script.event(Event::CommandStarted { owner: Owner::Resource("web".into()), run: generation, pid: 7 });
    assert_eq!(script.status("web"), "NotApplicable/Ok");
    script.event(Event::CommandEnded {
        owner: Owner::Resource("web".into()),
        run: generation,
        exit: CommandExit::Code(2),
    });
    assert_eq!(script.status("web"), "NotApplicable/Error");
    assert_snapshot!(script.show(), @"watch Tiltfile");
}

#[test]
fn a_server_with_a_probe_is_ready_when_the_probe_says_so() {
    let mut script = Script::loaded(vec![probed(server("web")), after(local("test"), &["web"])]);
    script.succeed("web");
    let generation = generation(&script);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("test")
    serve web: serve web
    test holds: waiting for web (starting)
    "#);
    script.event(Event::CommandStarted { owner: Owner::Resource("web".into()), run: generation, pid: 7 });
    assert_eq!(script.status("web"), "NotApplicable/Pending");
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("test")
    serve web: serve web
    probe web
    test holds: waiting for web (starting: not ready: its probe has not succeeded yet)
    "#);

    let probe = |generation, ready, cause: Option<&str>| Event::CommandProbed {
        owner: Owner::Resource("web".into()),
        run: generation,
        ready,
        cause: cause.map(str::to_owned),
    };
    script.event(probe(generation, false, Some("connection refused")));
    assert_eq!(script.status("web"), "NotApplicable/Pending");
    assert!(script.update_of("test").is_none(), "what depends on it waits");
    script.event(probe(generation, true, None));
    assert_eq!(script.status("web"), "NotApplicable/Ok");
    assert!(script.update_of("test").is_some(), "and goes on");
    script.event(probe(generation, false, Some("connection refused")));
    assert_eq!(script.status("web"), "NotApplicable/Pending", "it may become unready again");
    script.event(probe(generation + 1, true, None));
    assert_eq!(script.status("web"), "NotApplicable/Pending", "another server's probe is not its own");
    script.event(Event::CommandEnded {
        owner: Owner::Resource("web".into()),
        run: generation,
        exit: CommandExit::Code(2),
    });
    script.event(probe(generation, true, None));
    assert_eq!(script.status("web"), "NotApplicable/Error", "what has ended is not ready");
}

#[test]
fn ci_waits_for_probes() {
    let mut script = Script::with_mode(Mode::Ci);
    script.load(vec![probed(server("web"))]).succeed("web");
    let generation = generation(&script);
    script.event(Event::CommandStarted { owner: Owner::Resource("web".into()), run: generation, pid: 7 });
    assert_eq!(verdict(&script.state), None);
    script.event(Event::CommandProbed {
        owner: Owner::Resource("web".into()),
        run: generation,
        ready: true,
        cause: None,
    });
    assert_eq!(verdict(&script.state), Some(Verdict::Ready));
}

#[test]
fn nothing_starts_before_its_files_are_watched() {
    let mut script = Script::new();
    let load = script.running_load().expect("it loads");
    let files = lilt_model::files::FileSet::default();
    let project = lilt_model::project::Project { resources: vec![local("a")], ..Default::default() };
    let event = Event::Loaded { load, files, contents: Default::default(), outcome: Ok(Box::new(project)) };
    lilt_engine::apply(&mut script.state, lilt_model::Timestamp(1), event);
    lilt_engine::schedule(&mut script.state);
    assert_snapshot!(script.show(), @r#"
    watch Local("a")
    a holds: waiting for its files to be watched
    "#);
    script.save("b", "nothing of ours");
    assert!(script.update_of("a").is_some());
}

#[test]
fn an_edit_during_an_update_survives_it() {
    let mut script = Script::loaded(vec![local("a")]);
    script.save("a", "/p/a/late").succeed("a");
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    update a: 1 File Changed: [a/late] make a
    "#);
}

#[test]
fn a_failed_update_waits_for_the_next_save() {
    let mut script = Script::loaded(vec![local("a")]);
    script.fail("a");
    assert_eq!(script.status("a"), "Error/NotApplicable");
    assert!(script.update_of("a").is_none());
    script.save("a", "/p/a/x");
    assert!(script.update_of("a").is_some());
}

#[test]
fn result_of_stale_update_is_ignored() {
    let mut script = Script::loaded(vec![local("a")]);
    let stale = script.update_of("a").expect("it runs") - 1;
    let outcome = Box::new(lilt_engine::UpdateOutcome::success());
    script.event(Event::UpdateEnded { resource: "a".into(), update: stale, outcome });
    assert!(script.update_of("a").is_some());
}

#[test]
fn manual_resources_collect_changes_until_they_are_triggered() {
    let mut script = Script::loaded(vec![manual(local("a"))]);
    script.succeed("a").save("a", "/p/a/x");
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    a holds: 1 file changed; waiting for a trigger
    "#);
    script.trigger("a");
    assert!(script.update_of("a").is_some());
}

#[test]
fn resource_without_auto_init_waits_for_a_trigger() {
    let mut resource = manual(local("a"));
    resource.auto_init = false;
    let mut script = Script::loaded(vec![resource]);
    assert_eq!(script.status("a"), "None/NotApplicable");
    script.trigger("a").succeed("a");
    assert_eq!(script.status("a"), "Ok/NotApplicable");
}

#[test]
fn triggered_and_edited_resources_precede_the_first_round() {
    let mut script = Script::loaded(vec![local("a"), local("b"), local("c"), local("d")]);
    script.trigger("d").succeed("a");
    assert!(script.update_of("d").is_some());
}

#[test]
fn a_reload_touches_only_what_changed() {
    let mut script = Script::loaded(vec![local("a"), server("web"), local("gone")]);
    script.succeed("a").succeed("web").succeed("gone");
    let serving = generation(&script);
    script.save_tiltfile();
    assert_snapshot!(script.show(), @r#"
    load: 1 File Changed: [Tiltfile]
    watch Tiltfile
    watch Local("a")
    watch Local("gone")
    serve web: serve web
    "#);
    let mut changed = local("a");
    if let lilt_model::resource::Body::Local(local) = &mut changed.body {
        local.update = Some(lilt_model::command::Command::shell("make a better", "/p"));
    }
    script.load(vec![changed, server("web"), local("new")]);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    watch Local("new")
    update a: 1 File Changed: [Tiltfile] make a better
    serve web: serve web
    new holds: waiting for other updates to finish: it must run alone
    "#);
    assert_eq!(generation(&script), serving, "the server was not restarted");
    assert_eq!(script.status("gone"), "gone");
}

#[test]
fn a_reload_that_fails_keeps_what_runs() {
    let mut script = Script::loaded(vec![server("web")]);
    script.succeed("web").save_tiltfile().load_fails("syntax error");
    assert_snapshot!(script.show(), @"
    watch Tiltfile
    serve web: serve web
    ");
    assert_eq!(script.status("(Tiltfile)"), "Error/NotApplicable");
    script.save_tiltfile();
    assert!(script.running_load().is_some());
}

#[test]
fn save_during_a_load_restarts_it() {
    let mut script = Script::new();
    let first = script.running_load().expect("it loads");
    script.save_tiltfile();
    let second = script.running_load().expect("it loads");
    assert!(second > first);
    let files = lilt_model::files::FileSet::default();
    script.event(Event::Loaded {
        load: first,
        files,
        contents: Default::default(),
        outcome: Err(Failure::user("outdated")),
    });
    assert_eq!(script.running_load(), Some(second));
}

#[test]
fn nothing_starts_while_the_tiltfile_is_read() {
    let mut script = Script::loaded(vec![local("a")]);
    script.succeed("a").save_tiltfile().save("a", "/p/a/x");
    assert!(script.update_of("a").is_none());
    script.load(vec![local("a")]);
    assert!(script.update_of("a").is_some());
}

#[test]
fn workloads_wait_for_the_cluster_and_then_build_and_deploy() {
    let mut script = Script::loaded(vec![workload("web"), local("a")]);
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    watch Image("web", "web")
    update a: Initial Build make a
    connect
    web holds: waiting for the cluster
    "#);
    script.event(Event::ClusterFailed {
        cluster: ClusterName::default(),
        address: None,
        failure: Failure::environment("connection refused"),
    });
    assert!(script.show().contains("web holds: waiting for the cluster: connection refused"));
    script.connect().succeed("a");
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    watch Image("web", "web")
    update web: Initial Build (build web, deploy)
    kubeconfig
    namespace("default")
    forward web 8000: to nothing
    "#);
    script.deploy("web", "one");
    assert_eq!(script.status("web"), "Ok/Pending");
    script.pod(running("web", "web-1", "one", "c1"));
    assert_eq!(script.status("web"), "Ok/Ok");
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Local("a")
    watch Image("web", "web")
    kubeconfig
    namespace("default")
    objects Deployment default
    follow web web-1
    forward web 8000: to web-1:80
    sync web c1: idle
    "#);
}

/// A session with one workload up.
fn up() -> Script {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    script
}

#[test]
fn the_first_round_has_an_order() {
    let mut script = Script::new();
    let mut uncategorized = objects("uncategorized", &["Namespace"]);
    uncategorized.name = "uncategorized".into();
    script.load_with(limited(
        vec![workload("web"), objects("config", &["ConfigMap"]), uncategorized, local("a")],
        1,
    ));
    script.connect();
    let mut order = Vec::new();
    for _ in 0..4 {
        let running = script.state.resource_names().find(|name| script.update_of(name.as_str()).is_some());
        let name = running.expect("one runs").to_string();
        script.succeed(&name);
        order.push(name);
    }
    assert_eq!(order, ["a", "uncategorized", "config", "web"]);
}

#[test]
fn a_synced_file_goes_into_the_running_container() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/index.html");
    assert_snapshot!(script.show(), @r#"
    watch Tiltfile
    watch Image("web", "web")
    kubeconfig
    namespace("default")
    objects Deployment default
    follow web web-1
    forward web 8000: to web-1:80
    sync web c1: ["/p/web/src/index.html"]
    "#);
    assert_eq!(script.status("web"), "InProgress/Ok");
    script.synced("web", "c1", Ok(()));
    assert!(script.show().contains("sync web c1: idle"));
    assert_eq!(script.status("web"), "Ok/Ok");
}

#[test]
fn live_updates_wait_for_no_slot() {
    let mut script = Script::loaded(vec![local("slow"), workload("web")]);
    script.succeed("slow").connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    script.save("slow", "/p/slow/x").save_image("web", "web", "/p/web/src/x");
    assert!(script.update_of("slow").is_some() && script.update_of("web").is_some());
}

#[test]
fn unsynced_file_requires_a_build() {
    for path in ["/p/web/other.txt", "/p/web/src/stop"] {
        let mut script = up();
        script.save_image("web", "web", path);
        assert!(script.show().contains("(build web, deploy)"), "{path}: {}", script.show());
    }
}

#[test]
fn an_edit_during_a_live_update_goes_in_next() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/one").save_image("web", "web", "/p/web/src/two");
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/one"]"#));
    script.synced("web", "c1", Ok(()));
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/two"]"#), "{}", script.show());
}

#[test]
fn a_failed_step_is_shown_and_its_files_are_not_forgotten() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/one");
    script.synced("web", "c1", Err(SyncFault::Step(Failure::user("run step failed"))));
    assert_eq!(script.status("web"), "Error/Ok");
    assert!(script.show().contains("sync web c1: idle"), "it is not tried again by itself");
    script.save_image("web", "web", "/p/web/src/two");
    assert!(script.show().contains(r#"["/p/web/src/one", "/p/web/src/two"]"#), "{}", script.show());
}

#[test]
fn a_container_that_takes_no_files_gets_a_build() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/one");
    script.synced("web", "c1", Err(SyncFault::Transport(Failure::user("no tar in the container"))));
    assert!(script.show().contains("(build web, deploy)"), "{}", script.show());
}

/// The next pods are made so that theirs can be changed.
#[test]
fn a_container_whose_files_are_closed_gets_a_build_that_opens_them() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/one");
    script.synced("web", "c1", Err(SyncFault::Closed(Failure::user("Permission denied"))));
    assert!(script.show().contains("(build web, open web, deploy)"), "{}", script.show());
    script.deploy("web", "two").pod(running("web", "web-2", "two", "c2"));
    script.save_image("web", "web", "/p/web/src/two").synced("web", "c2", Ok(()));
    assert_eq!(script.status("web"), "Ok/Ok");
}

#[test]
fn a_replaced_pod_gets_all_changes_since_its_image_was_built() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/one").synced("web", "c1", Ok(()));
    script.save_image("web", "web", "/p/web/src/two").synced("web", "c1", Ok(()));
    script.event(Event::PodGone { pod: pod_ref("web-1") });
    script.pod(running("web", "web-2", "one", "c2"));
    assert!(
        script.show().contains(r#"sync web c2: ["/p/web/src/one", "/p/web/src/two"]"#),
        "{}",
        script.show()
    );
    script.synced("web", "c2", Ok(()));
    assert_eq!(script.status("web"), "Ok/Ok");
}

#[test]
fn a_container_gets_all_synced_files_first_if_asked_for() {
    let mut resource = workload("web");
    if let lilt_model::resource::Body::Kubernetes(spec) = &mut resource.body
        && let Some(update) = &mut spec.images[0].live_update
    {
        update.initial_sync = true;
    }
    let mut script = Script::loaded(vec![resource]);
    script.connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    assert!(script.show().contains("sync web c1: []"), "{}", script.show());
    script.synced("web", "c1", Err(SyncFault::Step(Failure::user("run step failed"))));
    assert!(script.show().contains("sync web c1: idle"), "it is not tried again by itself");
    script.save_image("web", "web", "/p/web/src/one").synced("web", "c1", Ok(()));
    assert_eq!(script.status("web"), "Ok/Ok");
    assert!(script.show().contains("sync web c1: idle"), "{}", script.show());
    // Each container that comes later, too.
    script.pod(running("web", "web-2", "one", "c2"));
    assert!(script.show().contains(r#"sync web c2: ["/p/web/src/one"]"#), "{}", script.show());
}

#[test]
fn lost_file_events_cause_a_build() {
    let mut script = up();
    script.event(Event::ChangesLost { watch: lilt_engine::WatchId::Image("web".into(), "web".into()) });
    script.save_image("web", "web", "/p/web/src");
    assert!(script.show().contains("(build web, deploy)"), "{}", script.show());
}

#[test]
fn a_container_that_vanishes_during_a_live_update_does_not_hold_it_up() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/one");
    script.event(Event::PodGone { pod: pod_ref("web-1") });
    assert!(script.update_of("web").is_none());
    script.pod(running("web", "web-2", "one", "c2"));
    assert!(script.show().contains(r#"sync web c2: ["/p/web/src/one"]"#), "{}", script.show());
}

#[test]
fn changes_wait_for_a_container_that_is_still_starting() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "one").pod(starting("web", "web-1", "one"));
    script.save_image("web", "web", "/p/web/src/one");
    assert!(script.show().contains("web holds: waiting for the container to run"), "{}", script.show());
    script.pod(running("web", "web-1", "one", "c1"));
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/one"]"#), "{}", script.show());
}

#[test]
fn a_build_that_failed_is_not_tried_again_by_itself() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/other").fail("web");
    assert!(script.update_of("web").is_none(), "{}", script.show());
    script.pod(running("web", "web-2", "one", "c2"));
    assert!(script.update_of("web").is_none(), "a restarted container changes nothing: {}", script.show());
    // A synced file alone would leave the other change out.
    script.save_image("web", "web", "/p/web/src/one");
    assert!(script.show().contains("(build web, deploy)"), "{}", script.show());
}

#[test]
fn the_same_image_again_leaves_its_containers_with_what_they_lack() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/src/one").synced("web", "c1", Ok(()));
    // Together with a change that asks for a build the file goes back to what it was: the same image comes out.
    script.save_image("web", "web", "/p/web/other").save_image("web", "web", "/p/web/src/one");
    script.deploy("web", "one");
    script.pod(running("web", "web-1", "one", "c1"));
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/one"]"#), "{}", script.show());
}

#[test]
fn the_forward_stays_while_pods_come_and_go() {
    let mut script = up();
    script.save_image("web", "web", "/p/web/other").deploy("web", "two");
    assert!(
        script.show().contains("forward web 8000: to web-1:80"),
        "the old pod serves until the new one does"
    );
    assert_eq!(script.status("web"), "Ok/Pending", "but it is not what was deployed");
    script.pod(running("web", "web-2", "two", "c2"));
    assert!(script.show().contains("forward web 8000: to web-2:80"));
    script.event(Event::PodGone { pod: pod_ref("web-1") }).event(Event::PodGone { pod: pod_ref("web-2") });
    assert!(script.show().contains("forward web 8000: to nothing"));
}

#[test]
fn a_pod_seen_before_its_deployment_is_known_is_claimed() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().pod(running("web", "web-1", "one", "c1"));
    script.deploy("web", "one");
    assert_eq!(script.status("web"), "Ok/Ok");
}

#[test]
fn pods_missing_from_a_list_are_removed() {
    let mut script = up();
    script.event(Event::PodsListed {
        cluster: ClusterName::default(),
        namespace: "default".into(),
        pods: Vec::new(),
    });
    assert_eq!(script.status("web"), "Ok/Pending");
}

#[test]
fn a_crashing_pod_is_an_error_with_its_reason() {
    let mut script = up();
    let mut pod = running("web", "web-1", "one", "c1");
    pod.ready = false;
    pod.status = "CrashLoopBackOff".into();
    pod.message = Some("back-off restarting failed container".into());
    script.pod(pod);
    assert_eq!(script.status("web"), "Ok/Error");
}

#[test]
fn objects_without_pods_are_done_when_applied() {
    let mut script = Script::loaded(vec![objects("config", &["ConfigMap"])]);
    script.connect();
    let update = script.update_of("config").expect("it runs");
    let deployed = lilt_engine::Deployed::default();
    let outcome =
        lilt_engine::UpdateOutcome { deployed: Some(deployed), ..lilt_engine::UpdateOutcome::success() };
    script.event(Event::UpdateEnded { resource: "config".into(), update, outcome: Box::new(outcome) });
    assert_eq!(script.status("config"), "Ok/NotApplicable");
}

#[test]
fn objects_removed_by_a_reload_are_deleted() {
    let mut script = up();
    script.save_tiltfile().load(Vec::new());
    assert!(script.show().contains("cleanup("), "{}", script.show());
    assert!(script.show().contains(": web:deployment"), "{}", script.show());
}

#[test]
fn an_object_that_moved_to_another_resource_is_kept() {
    let mut script = up();
    let mut renamed = workload("web");
    renamed.name = "frontend".into();
    script.save_tiltfile().load(vec![renamed]);
    assert!(!script.show().contains("cleanup("), "{}", script.show());
}

#[test]
fn a_new_dockerfile_rebuilds_and_a_new_forward_does_not() {
    let mut forwarded = workload("web");
    let mut rebuilt = workload("web");
    if let lilt_model::resource::Body::Kubernetes(kubernetes) = &mut forwarded.body {
        kubernetes.forwards[0].local_port = 9000;
    }
    if let lilt_model::resource::Body::Kubernetes(kubernetes) = &mut rebuilt.body {
        kubernetes.images[0].build = docker_build("FROM debian");
    }
    let mut script = up();
    script.save_tiltfile().load(vec![forwarded]);
    assert!(script.update_of("web").is_none());
    assert!(script.show().contains("forward web 9000: to web-1:80"));
    script.save_tiltfile().load(vec![rebuilt]);
    assert!(script.show().contains("(build web, deploy)"), "{}", script.show());
}

#[test]
fn ci_is_done_when_all_is_ready() {
    let mut script = Script::with_mode(Mode::Ci);
    assert_eq!(verdict(&script.state), None);
    script.load(vec![local("a"), workload("web")]).connect();
    assert_eq!(verdict(&script.state), None);
    script.succeed("a").deploy("web", "one");
    assert_eq!(verdict(&script.state), None);
    script.pod(running("web", "web-1", "one", "c1"));
    assert_eq!(verdict(&script.state), Some(Verdict::Ready));
}

#[test]
fn ci_names_what_is_broken() {
    let mut script = Script::with_mode(Mode::Ci);
    script.load(vec![local("a"), local("b")]).fail("a");
    let broken = Verdict::Broken { resource: "a".into(), cause: "it broke".into() };
    assert_eq!(verdict(&script.state), Some(broken));
}

#[test]
fn ci_fails_with_the_tiltfile() {
    let mut script = Script::with_mode(Mode::Ci);
    script.load_fails("syntax error");
    assert!(matches!(verdict(&script.state), Some(Verdict::Broken { .. })));
}

#[test]
fn a_job_is_ready_when_it_has_succeeded() {
    let mut job = workload("job");
    if let lilt_model::resource::Body::Kubernetes(kubernetes) = &mut job.body {
        kubernetes.objects =
            vec![serde_json::json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}})];
        kubernetes.pod_readiness = lilt_model::kubernetes::PodReadiness::Succeeded;
    }
    let mut script = Script::loaded(vec![job]);
    script.connect().deploy("job", "one").pod(running("job", "job-1", "one", "c1"));
    assert_eq!(script.status("job"), "Ok/Pending");
    let mut done = running("job", "job-1", "one", "c1");
    done.phase = PodPhase::Succeeded;
    done.ready = false;
    done.status = "Completed".into();
    script.pod(done);
    assert_eq!(script.status("job"), "Ok/Ok");
}

#[test]
fn a_compose_service_is_refused() {
    let body = lilt_model::resource::Body::Compose(lilt_model::compose::ComposeResource::default());
    let mut script = Script::loaded(vec![resource("db", body)]);
    let update = script.update_of("db").expect("it is tried");
    script.event(Event::UpdateEnded {
        resource: "db".into(),
        update,
        outcome: Box::new(lilt_engine::UpdateOutcome {
            failure: Some(Failure::user("Docker Compose is not supported yet")),
            ..lilt_engine::UpdateOutcome::success()
        }),
    });
    assert_eq!(script.status("db"), "Error/NotApplicable");
}

#[test]
fn a_broken_runner_is_a_failed_update() {
    let mut script = Script::loaded(vec![local("a"), local("b")]);
    let task = lilt_engine::TaskId::Update("a".into());
    script.event(Event::TaskBroke { task, failure: Failure::internal("index out of bounds") });
    assert_eq!(script.status("a"), "Error/NotApplicable");
    assert!(script.update_of("b").is_some());
}
