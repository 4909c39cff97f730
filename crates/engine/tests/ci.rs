//! When `ci` is done, and how: time comes as an event.

mod support;

use std::time::Duration;

use lilt_engine::{
    CommandExit, Event, Mode, Options, Owner, Task, TaskId, UpdateJob, Verdict, plan, verdict,
};
use lilt_model::cluster::{ContainerState, Pod, PodPhase};
use lilt_model::kubernetes::PodReadiness;
use lilt_model::project::{Project, Settings};
use lilt_model::resource::{Body, Resource};
use lilt_model::settings::CiSettings;
use lilt_model::{Timestamp, Uid};
use serde_json::json;
use support::*;

fn ci(resources: Vec<Resource>, settings: CiSettings) -> Script {
    let mut script = Script::with_mode(Mode::Ci);
    let settings = Settings { ci: settings, ..Settings::default() };
    script.load_with(Project { resources, settings, ..Project::default() });
    script
}

fn job(name: &str) -> Resource {
    let mut resource = workload(name);
    if let Body::Kubernetes(kubernetes) = &mut resource.body {
        kubernetes.objects =
            vec![json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}})];
        kubernetes.pod_readiness = PodReadiness::Succeeded;
    }
    resource
}

fn ended(resource: &str, pod: &str, phase: PodPhase, created: i64) -> Pod {
    let mut fact = running(resource, pod, "one", "c1");
    let good = phase == PodPhase::Succeeded;
    fact.phase = phase;
    fact.ready = false;
    fact.uid = Uid::new(pod);
    fact.created = Timestamp(created);
    fact.status = if good { "Completed" } else { "Error" }.into();
    fact.containers[0].ready = false;
    fact.containers[0].state = ContainerState::Terminated {
        exit_code: if good { 0 } else { 3 },
        reason: fact.status.clone(),
        message: String::new(),
        started: None,
        finished: Timestamp(created),
    };
    fact
}

fn cause(script: &Script) -> String {
    match verdict(&script.state) {
        Some(Verdict::Broken { resource, cause }) => format!("{resource}: {cause}"),
        other => panic!("it is not broken: {other:?}"),
    }
}

fn started(script: &mut Script, name: &str) -> u64 {
    let spec = plan(&script.state).remove(&TaskId::Command(Owner::Resource(name.into())));
    let Some(Task::Command { run: generation, .. }) = spec else { panic!("{name} serves nothing") };
    script.event(Event::CommandStarted { owner: Owner::Resource(name.into()), run: generation, pid: 7 });
    generation
}

#[test]
fn a_server_without_a_probe_must_have_run_for_a_second() {
    let mut script = ci(vec![server("web")], CiSettings::default());
    script.succeed("web");
    started(&mut script, "web");
    assert_eq!(verdict(&script.state), None);
    let since = script.time;
    assert_eq!(script.alarm(), Some(Timestamp((since + 1) * 1_000_000)));
    script.event(Event::Woke);
    assert_eq!(verdict(&script.state), Some(Verdict::Ready));
}

#[test]
fn a_server_that_ends_breaks_it_at_once() {
    let mut script = ci(vec![server("web"), local("slow")], CiSettings::default());
    script.succeed("web");
    let generation = started(&mut script, "web");
    script.event(Event::CommandEnded {
        owner: Owner::Resource("web".into()),
        run: generation,
        exit: CommandExit::Code(0),
    });
    assert_eq!(cause(&script), "web: server exited with code 0");
}

#[test]
fn a_job_is_ready_when_it_has_succeeded_and_stays_so() {
    let mut script = ci(vec![job("migrate"), after(local("test"), &["migrate"])], CiSettings::default());
    script.connect().deploy("migrate", "one").pod(running("migrate", "m-1", "one", "c1"));
    assert!(script.update_of("test").is_none(), "running is not enough");
    script.pod(ended("migrate", "m-1", PodPhase::Succeeded, 1));
    script.succeed("test");
    script.event(Event::PodGone { pod: pod_ref("m-1") });
    assert_eq!(script.status("migrate"), "Ok/Ok");
    assert_eq!(verdict(&script.state), Some(Verdict::Ready));
}

#[test]
fn a_job_that_was_done_before_the_session_needs_no_pod() {
    let mut script = ci(vec![job("migrate")], CiSettings::default());
    script.connect();
    let mut outcome = script.deployed_outcome("migrate", "one");
    outcome.deployed.as_mut().expect("it deploys").completed = true;
    let update = script.update_of("migrate").expect("it runs");
    script.event(Event::UpdateEnded { resource: "migrate".into(), update, outcome: Box::new(outcome) });
    assert_eq!(verdict(&script.state), Some(Verdict::Ready));
}

#[test]
fn the_first_failed_pod_of_a_job_breaks_it_unless_there_is_grace() {
    let settings = CiSettings::default();
    let mut script = ci(vec![job("test")], settings);
    script.connect().deploy("test", "one").pod(ended("test", "t-1", PodPhase::Failed, 1));
    assert_eq!(cause(&script), "test: pod t-1: Error (container main exited with code 3)");
    script.pod(running("test", "t-2", "one", "c2"));
    assert!(cause(&script).contains("t-1"), "also if it tries again");

    let settings = CiSettings { k8s_grace_period: Some(Duration::from_secs(10)), ..settings };
    let mut script = ci(vec![job("test")], settings);
    script.connect().deploy("test", "one").pod(ended("test", "t-1", PodPhase::Failed, 1));
    assert_eq!(verdict(&script.state), None);
    script.pod(ended("test", "t-2", PodPhase::Succeeded, 2));
    assert_eq!(verdict(&script.state), Some(Verdict::Ready), "the second try was good");
}

/// A container that ended with an error, which the node reports before the pod's phase changes.
fn container_ended(resource: &str, pod: &str) -> Pod {
    Pod { phase: PodPhase::Running, ..ended(resource, pod, PodPhase::Failed, 1) }
}

#[test]
fn job_fails_only_when_its_pod_is_reported_failed() {
    let mut script = ci(vec![job("test")], CiSettings::default());
    script.connect().deploy("test", "one").pod(container_ended("test", "t-1"));
    assert_eq!(verdict(&script.state), None, "the cluster still reports the pod as running");
    assert_eq!(script.status("test"), "Ok/Pending");
    script.pod(ended("test", "t-1", PodPhase::Failed, 1));
    assert_eq!(cause(&script), "test: pod t-1: Error (container main exited with code 3)");

    // With restartPolicy: OnFailure the pod never fails: its container is restarted.
    let mut script = ci(vec![job("test")], CiSettings::default());
    let crashing = Pod { status: "CrashLoopBackOff".into(), ..container_ended("test", "t-1") };
    script.connect().deploy("test", "one").pod(crashing);
    assert!(cause(&script).contains("CrashLoopBackOff"), "{}", cause(&script));
}

#[test]
fn grace_ends() {
    let settings = CiSettings { k8s_grace_period: Some(Duration::from_secs(10)), ..CiSettings::default() };
    let mut script = ci(vec![workload("web")], settings);
    script.connect().deploy("web", "one");
    let mut crashing = running("web", "w-1", "one", "c1");
    crashing.ready = false;
    crashing.status = "CrashLoopBackOff".into();
    crashing.containers[0].state =
        ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: String::new() };
    crashing.containers[0].previous_exit = Some((137, "OOMKilled".into()));
    crashing.containers[0].restarts = 2;
    script.pod(crashing);
    assert_eq!(verdict(&script.state), None);
    script.time += 10;
    script.event(Event::Woke);
    assert_eq!(
        cause(&script),
        "web: exceeded grace period: pod w-1: CrashLoopBackOff (container main exited with code 137, OOMKilled: it \
         used more memory than its limit, restarted 2 times)"
    );
}

#[test]
fn pods_are_replaced_only_where_others_come() {
    let owned_by = |kind: &str| {
        let mut pod = running("web", "w-1", "one", "c1");
        (pod.nearest_owner, pod.owner_kind) = (Some("w".into()), Some(("apps/v1".into(), kind.into())));
        (pod.ready, pod.containers[0].restarts) = (false, 3);
        pod
    };
    let replaced = |pod: Pod| {
        let mut script = ci(vec![workload("web")], CiSettings::default());
        script.connect().deploy("web", "one").pod(pod);
        script.save_image("web", "web", "/p/web/a");
        let Some(Task::Update { job, .. }) = plan(&script.state).remove(&TaskId::Update("web".into())) else {
            panic!("it is updated")
        };
        let UpdateJob::Deploy(job) = &*job else { panic!("{job:?}") };
        job.crashing.iter().map(|pod| pod.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(replaced(owned_by("ReplicaSet")), ["w-1"]);
    assert!(replaced(owned_by("Job")).is_empty(), "a job has no other");
    let found = Pod { template_hash: None, ..owned_by("ReplicaSet") };
    assert!(replaced(found).is_empty(), "it is somebody else's");
}

#[test]
fn what_runs_must_become_ready_in_time() {
    let settings = CiSettings { readiness_timeout: Some(Duration::from_secs(30)), ..CiSettings::default() };
    let mut script = ci(vec![workload("web"), workload("late")], settings);
    script.connect().deploy("web", "one").deploy("late", "one");
    script.pod(starting("late", "l-1", "one"));
    let mut unready = running("web", "w-1", "one", "c1");
    unready.ready = false;
    script.pod(unready);
    script.time += 30;
    script.event(Event::Woke);
    assert_eq!(
        cause(&script),
        "web: Readiness timeout after 30s: target web:runtime not ready (pod w-1: Running, not ready)"
    );
}

#[test]
fn what_ceased_to_be_ready_has_all_the_time_again() {
    let settings = CiSettings { readiness_timeout: Some(Duration::from_secs(30)), ..CiSettings::default() };
    let mut script = ci(vec![workload("web"), workload("late")], settings);
    script.connect().deploy("web", "one").deploy("late", "one");
    script.pod(starting("late", "l-1", "one"));
    script.pod(running("web", "w-1", "one", "c1"));
    script.time += 100;
    let mut unready = running("web", "w-1", "one", "c1");
    unready.ready = false;
    script.pod(unready);
    assert_eq!(verdict(&script.state), None);
    script.time += 20;
    script.event(Event::Woke);
    assert_eq!(verdict(&script.state), None);
    script.time += 10;
    script.event(Event::Woke);
    assert!(cause(&script).contains("Readiness timeout after 30s"));
}

#[test]
fn the_whole_must_be_done_in_time() {
    let options =
        Options { ci_timeout: Some(Duration::from_secs(60)), ..Options::new("/p/Tiltfile", Mode::Ci) };
    let mut by_hand = server("by-hand");
    by_hand.auto_init = false;
    let mut script = Script::with_options(options);
    script.load(vec![local("a"), after(local("b"), &["a"]), by_hand]);
    script.time = 60;
    script.event(Event::Woke);
    let waiting =
        vec![("a".into(), "updating: run make a".to_owned()), ("b".into(), "waiting for a".to_owned())];
    let after = Duration::from_secs(60);
    assert_eq!(verdict(&script.state), Some(Verdict::TimedOut { after, waiting }));
}

/// The setting of the Tiltfile takes precedence over the command line.
#[test]
fn the_tiltfile_sets_the_limit() {
    let settings = CiSettings { timeout: Some(Duration::from_secs(5)), ..CiSettings::default() };
    let script = ci(vec![local("a")], settings);
    assert_eq!(script.alarm(), Some(Timestamp(6_000_000)));
}

#[test]
fn resources_that_do_not_start_by_themselves_are_not_waited_for() {
    let mut lazy = local("lazy");
    lazy.auto_init = false;
    let mut script = ci(vec![local("a"), lazy], CiSettings::default());
    script.succeed("a");
    assert_eq!(verdict(&script.state), Some(Verdict::Ready));
}

/// The controller replaces them; what it keeps of them is no failure.
#[test]
fn a_pod_that_was_evicted_and_replaced_is_no_failure() {
    let mut script = ci(vec![workload("web")], CiSettings::default());
    script.connect().deploy("web", "one");
    let mut evicted = ended("web", "w-1", PodPhase::Failed, 1);
    evicted.status = "Evicted".into();
    let mut fresh = running("web", "w-2", "one", "c2");
    fresh.created = Timestamp(2);
    script.pod(fresh).pod(evicted);
    assert_eq!(verdict(&script.state), Some(Verdict::Ready));
}
