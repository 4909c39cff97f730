//! When old images are removed.

mod support;

use lilt_engine::{Event, PruneJob, Task, TaskId, plan};
use lilt_model::cluster::ClusterInfo;
use lilt_model::project::{Project, Settings};
use lilt_model::registry::Registry;
use lilt_model::settings::DockerPrune;
use lilt_model::{ClusterName, Resource, Timestamp};
use support::{Script, local, objects, workload};

fn project(resources: Vec<Resource>, prune: DockerPrune) -> Project {
    Project {
        resources,
        settings: Settings { docker_prune: prune, ..Settings::default() },
        ..Project::default()
    }
}

fn job(script: &Script) -> Option<PruneJob> {
    match plan(&script.state).remove(&TaskId::Prune) {
        Some(Task::Prune(job)) => Some(*job),
        _ => None,
    }
}

/// Lets the time pass until the session wants to be woken.
fn wait(script: &mut Script) {
    let at = script.alarm().expect("it wakes by itself");
    lilt_engine::apply(&mut script.state, at, Event::Woke);
    lilt_engine::schedule(&mut script.state);
}

fn deployed(prune: DockerPrune) -> Script {
    let mut script = Script::new();
    script.load_with(project(vec![workload("w"), local("l")], prune)).connect();
    script
}

#[test]
fn first_when_the_first_updates_are_through_then_after_the_interval() {
    let mut script = deployed(DockerPrune::default());
    assert_eq!(job(&script), None);
    script.succeed("l");
    assert_eq!(job(&script), None, "something is still updated");
    script.deploy("w", "1");
    assert_eq!(job(&script), None, "what was deployed is just starting");
    wait(&mut script);
    let first = job(&script).expect("all is through");
    assert_eq!(first.names, ["w"]);
    assert_eq!(first.used, ["w:1"]);
    script.event(Event::Pruned);
    assert_eq!(job(&script), None);
    script.save("l", "/p/l/x").succeed("l");
    assert_eq!(job(&script), None, "not so soon");
    wait(&mut script);
    assert!(job(&script).is_some());
}

#[test]
fn every_so_many_updates_if_the_tiltfile_wants_that() {
    let mut script = deployed(DockerPrune { num_builds: 2, ..DockerPrune::default() });
    script.succeed("l").deploy("w", "1");
    wait(&mut script);
    assert!(job(&script).is_some());
    script.event(Event::Pruned);
    script.save("l", "/p/l/x").succeed("l");
    assert_eq!((job(&script), script.alarm()), (None, None), "time does not count");
    script.save("l", "/p/l/x").succeed("l");
    wait(&mut script);
    assert!(job(&script).is_some());
}

#[test]
fn never_if_it_is_off_or_nothing_was_built() {
    let mut script = deployed(DockerPrune { enabled: false, ..DockerPrune::default() });
    script.succeed("l").deploy("w", "1");
    assert_eq!(job(&script), None);
    let mut script = Script::loaded(vec![local("l")]);
    script.succeed("l");
    assert_eq!(job(&script), None);
}

#[test]
fn a_runner_that_breaks_is_not_started_again_at_once() {
    let mut script = deployed(DockerPrune { interval_hrs: 1, ..DockerPrune::default() });
    script.succeed("l").deploy("w", "1");
    wait(&mut script);
    let failure = lilt_model::Failure::internal("a bug");
    script.event(Event::TaskBroke { task: TaskId::Prune, failure });
    assert_eq!(job(&script), None);
    assert!(script.alarm().is_some_and(|at| at > Timestamp::ZERO));
}

#[test]
fn names_are_those_of_the_registry_in_use() {
    let mut script = Script::new();
    script.load_with(project(vec![workload("w")], DockerPrune::default()));
    let registry = Some(Registry { host: "localhost:5000".into(), ..Registry::default() });
    let info = ClusterInfo { namespace: "default".into(), registry, ..ClusterInfo::default() };
    script.event(Event::ClusterConnected { cluster: ClusterName::default(), info: Box::new(info) });
    script.deploy("w", "1");
    wait(&mut script);
    let job = job(&script).expect("all is through");
    assert_eq!(job.names, ["localhost:5000/w"]);
    assert!(job.used.contains(&"localhost:5000/w:1".to_owned()), "{job:?}");
}

#[test]
fn the_engines_of_all_clusters_that_were_built_for_are_looked_at() {
    let mut far = workload("far");
    if let lilt_model::resource::Body::Kubernetes(spec) = &mut far.body {
        spec.cluster = "edge".into();
    }
    let mut script = Script::new();
    script
        .load_with(project(vec![workload("w"), far, objects("plain", &["Service"])], DockerPrune::default()));
    script.connect().connect_to("edge").deploy("w", "1").deploy("far", "1").succeed("plain");
    wait(&mut script);
    let job = job(&script).expect("all is through");
    assert_eq!(job.clusters, [ClusterName::default(), "edge".into()]);
    assert_eq!(job.names, ["far", "w"]);
}
