//! Which changes go into containers in place, and when.

mod support;

use lilt_api::UpdateStatus;
use lilt_engine::{Event, Owner, SyncFault, Task, TaskId, WatchId, plan};
use lilt_model::cluster::{ContainerState, Pod, PodPhase, RestartPolicy};
use lilt_model::image::{RestartProcess, Run};
use lilt_model::request::Request;
use lilt_model::resource::{Body, Resource};
use lilt_model::timeline::StageKind;
use lilt_model::{ContainerId, Failure};
use support::*;

fn with_live_update(
    mut resource: Resource,
    change: impl FnOnce(&mut lilt_model::image::LiveUpdate),
) -> Resource {
    if let Body::Kubernetes(kubernetes) = &mut resource.body
        && let Some(live_update) = &mut kubernetes.images[0].live_update
    {
        change(live_update);
    }
    resource
}

fn waiting(reason: &str) -> ContainerState {
    ContainerState::Waiting { reason: reason.into(), message: "back-off 10s restarting".into() }
}

/// A pod whose container has ended, and was started again once before.
fn between_two_runs() -> Pod {
    let mut pod = running("web", "web-1", "one", "c1");
    pod.ready = false;
    pod.status = "Error".into();
    pod.message = Some("it was killed".into());
    pod.containers[0].restarts = 1;
    pod.containers[0].state = ContainerState::Terminated {
        exit_code: 137,
        reason: "Error".into(),
        message: String::new(),
        started: None,
        finished: lilt_model::Timestamp(1),
    };
    pod
}

/// Returns the update that a save causes while the pod is in this state.
fn save_during(pod: Pod) -> Script {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "one").pod(pod);
    script.save_image("web", "web", "/p/web/src/one");
    script
}

const WAITS: &str = "web holds: waiting for the container to run";
const BUILDS: &str = "(build web, deploy)";

#[test]
fn a_container_that_comes_back_is_waited_for() {
    let mut script = save_during(between_two_runs());
    assert!(script.show().contains(WAITS), "{}", script.show());
    script.pod(running("web", "web-1", "one", "c2"));
    assert!(script.show().contains(r#"sync web c2: ["/p/web/src/one"]"#), "{}", script.show());

    // Other containers of the pod do not matter.
    let mut pod = between_two_runs();
    let mut sidecar = pod.containers[0].clone();
    (sidecar.name, sidecar.image) = ("sidecar".into(), "sidecar:1".into());
    sidecar.state = waiting("CrashLoopBackOff");
    pod.containers.push(sidecar);
    let script = save_during(pod);
    assert!(script.show().contains(WAITS), "{}", script.show());
}

#[test]
fn only_a_crash_loop_forces_a_build() {
    for reason in ["CrashLoopBackOff", "ImagePullBackOff", "CreateContainerError"] {
        let mut pod = between_two_runs();
        pod.containers[0].state = waiting(reason);
        let script = save_during(pod);
        assert!(script.show().contains(BUILDS), "{reason}: {}", script.show());
    }
    let mut script = save_during(between_two_runs());
    let mut pod = between_two_runs();
    pod.containers[0].state = waiting("CrashLoopBackOff");
    script.pod(pod);
    assert!(script.show().contains(BUILDS), "it was one in the end: {}", script.show());
    let mut pod = between_two_runs();
    pod.phase = PodPhase::Failed;
    let script = save_during(pod);
    assert!(script.show().contains(BUILDS), "it does not come back: {}", script.show());
}

/// The pod keeps running because of its sidecar. A save is for the next container, which only a deployment
/// creates.
#[test]
fn a_container_that_has_ended_for_good_is_not_waited_for() {
    let ended = |policy: RestartPolicy, code: i32| {
        let mut pod = between_two_runs();
        let mut sidecar = running("web", "web-1", "one", "c9").containers.remove(0);
        (sidecar.name, sidecar.image) = ("sidecar".into(), "sidecar:1".into());
        pod.containers.push(sidecar);
        pod.containers[0].restart_policy = policy;
        if let ContainerState::Terminated { exit_code, .. } = &mut pod.containers[0].state {
            *exit_code = code;
        }
        pod
    };
    for (policy, code, comes_back) in [
        (RestartPolicy::Always, 0, true),
        (RestartPolicy::OnFailure, 1, true),
        (RestartPolicy::OnFailure, 0, false),
        (RestartPolicy::Never, 0, false),
        (RestartPolicy::Never, 1, false),
    ] {
        let script = save_during(ended(policy, code));
        let expected = if comes_back { WAITS } else { BUILDS };
        assert!(script.show().contains(expected), "{policy:?} {code}: {}", script.show());
    }
    // Its end alone causes nothing, also where it had changes that its image has not.
    let mut script = save_during(running("web", "web-1", "one", "c1"));
    script.synced("web", "c1", Ok(()));
    script.pod(ended(RestartPolicy::Never, 0));
    assert!(!script.show().contains(BUILDS), "{}", script.show());
    script.save_image("web", "web", "/p/web/src/two");
    assert!(script.show().contains(BUILDS), "{}", script.show());
}

/// It ended in the middle of the update, and ends again before the files could come.
#[test]
fn what_a_crash_loop_cannot_take_is_built() {
    let mut script = save_during(running("web", "web-1", "one", "c1"));
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/one"]"#), "{}", script.show());
    script.pod(between_two_runs());
    assert!(!script.show().contains(BUILDS), "it comes back: {}", script.show());
    let mut pod = between_two_runs();
    pod.containers[0].state = waiting("CrashLoopBackOff");
    script.pod(pod.clone());
    assert!(script.show().contains(BUILDS), "{}", script.show());
    script.fail("web");
    script.pod(pod);
    assert!(!script.show().contains(BUILDS), "it is not tried again and again: {}", script.show());
}

/// A deployment would start the same image, and none of the changes would ever be there.
#[test]
fn where_nothing_is_built_files_are_copied_also_without_the_agent() {
    let restarting =
        with_live_update(workload("web"), |it| it.restart_process = Some(RestartProcess::default()));
    for resource in [not_built(restarting.clone()), {
        let mut by_command = deployed_by_command("web");
        if let (Body::Kubernetes(to), Body::Kubernetes(from)) = (&mut by_command.body, restarting.body) {
            to.images = from.images;
        }
        not_built(by_command)
    }] {
        let mut script = Script::loaded(vec![resource]);
        script.connect().deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
        script.save_image("web", "web", "/p/web/src/main");
        assert!(script.show().contains(r#"sync web c1: ["/p/web/src/main"]"#), "{}", script.show());
    }
}

#[test]
fn step_trigger_files_are_batched_with_other_changes() {
    let together = |resource: Resource| {
        let script = Script::loaded(vec![resource]);
        let watch = TaskId::Watch(WatchId::Image("web".into(), "web".into()));
        match plan(&script.state).remove(&watch) {
            Some(Task::Watch { options, .. }) => options.batched,
            other => panic!("{other:?}"),
        }
    };
    let sources = std::path::PathBuf::from("/p/web/src");
    let list = sources.join("go.mod");
    assert_eq!(together(workload("web")), [sources]);
    let run = Run { argv: vec!["make".into()], triggers: vec![list.clone()], echo_off: false };
    assert_eq!(together(with_live_update(workload("web"), |it| it.runs = vec![run])), [list]);
    let nothing = with_live_update(workload("web"), |it| it.runs.clear());
    assert!(together(nothing).is_empty());
}

/// The mode of a folder is a change of its own: it does not stand for another folder in its place, nor that for it.
#[test]
fn a_folder_in_the_place_of_another_and_its_mode_are_two_changes() {
    let mut script = save_during(running("web", "web-1", "one", "c1"));
    script.synced("web", "c1", Ok(()));
    script.save_image("web", "web", "/p/web/src/folder");
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/folder"]"#), "{}", script.show());
    script.synced("web", "c1", Ok(()));
    script.save_image("web", "web", "/p/web/src/folder/");
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/folder/"]"#), "{}", script.show());
    script.synced("web", "c1", Ok(()));
    script.save_image("web", "web", "/p/web/src/folder");
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/folder"]"#), "{}", script.show());
    script.synced("web", "c1", Ok(()));
    // Another container has had none of it.
    script.pod(running("web", "web-2", "one", "c2"));
    let all = r#"sync web c2: ["/p/web/src/folder", "/p/web/src/folder/", "/p/web/src/one"]"#;
    assert!(script.show().contains(all), "{}", script.show());
}

/// The task of the container `c1`.
fn sync_task(script: &Script) -> Task {
    let id = TaskId::Sync(Owner::Resource("web".into()), ContainerId::new("c1"));
    plan(&script.state).remove(&id).expect("it is connected")
}

/// A step may hang for ever: its runner takes up nothing else, so that it must end, and another begin.
#[test]
fn a_live_update_that_was_cancelled_ends_what_does_it() {
    for resource in [workload("web"), not_built(workload("web")), not_built(deployed_by_command("web"))] {
        let mut script = Script::loaded(vec![resource]);
        script.connect().deploy("web", "1").pod(running("web", "web-1", "1", "c1"));
        let idle = sync_task(&script);
        script.save_image("web", "web", "/p/web/src/main");
        let hangs = sync_task(&script);
        assert!(idle.continues(&hangs), "a save takes no new connection");
        script.event(Event::Requested { request: Request::Cancel { resource: "web".into() } });
        let next = sync_task(&script);
        assert!(!hangs.continues(&next));
        script.pod(running("web", "web-2", "1", "c2"));
        assert!(next.continues(&sync_task(&script)), "once");
    }
    // Tasks that had responded keep their connections.
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "1");
    script.pod(running("web", "web-1", "1", "c1")).pod(running("web", "web-2", "1", "c2"));
    script.save_image("web", "web", "/p/web/src/main").synced("web", "c1", Ok(()));
    let answered = sync_task(&script);
    script.event(Event::Requested { request: Request::Cancel { resource: "web".into() } });
    assert!(answered.continues(&sync_task(&script)));
}

#[test]
fn a_runner_that_broke_is_replaced() {
    let mut script = save_during(running("web", "web-1", "one", "c1"));
    let broken = sync_task(&script);
    let task = TaskId::Sync(Owner::Resource("web".into()), ContainerId::new("c1"));
    script.event(Event::TaskBroke { task, failure: Failure::internal("a bug") });
    assert!(!broken.continues(&sync_task(&script)));
}

/// In automatic mode, a trigger means that the user distrusts the result of the automatic updates.
#[test]
fn a_trigger_in_automatic_mode_builds_also_where_files_could_be_copied() {
    let anew = "update web: Triggered by Hand (build web, deploy)";
    let failed = || Err(SyncFault::Step(Failure::user("make failed")));
    let mut script = save_during(running("web", "web-1", "one", "c1"));
    script.synced("web", "c1", failed()).trigger("web");
    assert!(script.show().contains(anew), "{}", script.show());
    let mut script = save_during(running("web", "web-1", "one", "c1"));
    script.synced("web", "c1", Ok(())).trigger("web");
    assert!(script.show().contains(anew), "{}", script.show());

    // In manual mode it is how one asks for what was saved, once.
    let mut script = Script::loaded(vec![manual(workload("web"))]);
    script.connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    script.save_image("web", "web", "/p/web/src/one").trigger("web");
    assert!(script.show().contains(r#"sync web c1: ["/p/web/src/one"]"#), "{}", script.show());
    script.synced("web", "c1", failed()).trigger("web");
    assert!(script.show().contains(anew), "{}", script.show());
}

#[test]
fn step_that_fails_in_two_containers_is_one_failed_build() {
    let failed = || Err(SyncFault::Step(Failure::user("make failed")));
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    script.pod(running("web", "web-2", "one", "c2")).save_image("web", "web", "/p/web/src/one");
    let update = script.update_of("web");
    script.synced("web", "c1", failed());
    assert!(script.state.take_notes().is_empty(), "the other container is still busy");
    script.synced("web", "c2", failed());
    let notes = script.state.take_notes();
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert_eq!((note.text.as_str(), note.update), ("ERROR: Build Failed: make failed", update));
}

#[test]
fn live_update_that_waits_for_its_cluster_shows_why() {
    let mut script = save_during(running("web", "web-1", "one", "c1"));
    let update = script.update_of("web").expect("it is copied");
    let mut stage = |stage, detail: &str| {
        let (resource, detail) = ("web".into(), detail.to_owned());
        script.event(Event::StageBegan { owner: Owner::Resource(resource), update, stage, detail });
        let shown = lilt_engine::project_resource(&script.state, &"web".into()).expect("it is declared");
        let reason = shown.status.waiting.map(|waiting| waiting.reason);
        (shown.status.update_status, reason, shown.metadata.annotations.get("lilt.dev/hold").cloned())
    };
    let (status, reason, hold) = stage(StageKind::Wait, "connection refused");
    assert_eq!(status, UpdateStatus::InProgress, "it has not failed");
    assert_eq!(reason.as_deref(), Some("waiting-for-cluster"));
    assert_eq!(hold.as_deref(), Some("waiting for the cluster: connection refused"));
    assert_eq!(stage(StageKind::Write, ""), (UpdateStatus::InProgress, None, None));
}
