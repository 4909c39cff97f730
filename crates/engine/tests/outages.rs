//! Updates that failed because something did not answer.

mod support;

use lilt_engine::{Event, Hold, Mode, Outage, Task, TaskId, UpdateOutcome, plan};
use lilt_model::request::Request;
use lilt_model::{ClusterName, Failure, ResourceName, Unreachable};
use support::*;

fn away(script: &mut Script, resource: &str, what: Unreachable) {
    let update = script.update_of(resource).expect("an update runs");
    let failure = Failure::environment("nobody answers").of_kind(what);
    let outcome = Box::new(UpdateOutcome::failed(failure));
    script.event(Event::UpdateEnded { resource: resource.into(), update, outcome });
}

/// Returns the awaited outage: its number, and how often the dependency seemed to respond.
fn awaited(script: &Script, what: &Unreachable) -> Option<(u64, u32)> {
    let outage = Outage { cluster: ClusterName::default(), unreachable: what.clone() };
    match plan(&script.state).remove(&TaskId::Outage(outage)) {
        Some(Task::Outage { id, attempts, .. }) => Some((id, attempts)),
        _ => None,
    }
}

fn held(script: &Script, resource: &str) -> String {
    script.state.hold(&ResourceName::new(resource)).map(Hold::words).unwrap_or_default()
}

fn over(script: &mut Script, what: &Unreachable) {
    let (outage, _) = awaited(script, what).expect("it is waited for");
    script.event(Event::OutageOver { outage });
}

#[test]
fn an_update_begins_again_when_the_engine_answers() {
    let mut script = Script::loaded(vec![workload("web"), workload("api")]);
    script.connect();
    away(&mut script, "web", Unreachable::DockerEngine);
    away(&mut script, "api", Unreachable::DockerEngine);
    assert_eq!(script.update_of("web"), None);
    assert_eq!(held(&script, "web"), "waiting for the Docker engine: nobody answers");
    assert_eq!(script.status("web"), "Error/Pending", "it has failed, and that is shown");
    let waits = plan(&script.state).into_keys().filter(|id| matches!(id, TaskId::Outage(_))).count();
    assert_eq!(waits, 1, "one task waits for all of them");
    over(&mut script, &Unreachable::DockerEngine);
    assert_eq!(awaited(&script, &Unreachable::DockerEngine), None);
    script.deploy("web", "1").deploy("api", "1");
    assert_eq!((held(&script, "web"), held(&script, "api")), (String::new(), String::new()));
    assert_eq!(script.update_of("web"), None);
}

#[test]
fn update_without_descriptors_begins_again_when_there_are_some() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect();
    away(&mut script, "web", Unreachable::Machine);
    assert_eq!(script.update_of("web"), None);
    assert_eq!(held(&script, "web"), "waiting for this machine: nobody answers");
    over(&mut script, &Unreachable::Machine);
    assert_eq!(awaited(&script, &Unreachable::Machine), None);
    script.deploy("web", "1");
    assert_eq!(held(&script, "web"), "");
}

#[test]
fn what_only_seems_to_answer_is_given_more_time() {
    let what = Unreachable::Registry("localhost:5000/web:tilt-1".to_owned());
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect();
    for attempts in 0..3 {
        away(&mut script, "web", what.clone());
        assert_eq!(held(&script, "web"), "waiting for the registry localhost:5000: nobody answers");
        assert_eq!(awaited(&script, &what).map(|(_, attempts)| attempts), Some(attempts));
        over(&mut script, &what);
    }
    // Another failure ends it.
    script.fail("web");
    assert_eq!((script.update_of("web"), held(&script, "web")), (None, String::new()));
}

#[test]
fn a_save_or_a_trigger_does_not_wait() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "1").trigger("web");
    away(&mut script, "web", Unreachable::DockerEngine);
    script.save_image("web", "web", "/p/web/Dockerfile");
    assert!(script.update_of("web").is_some(), "it may be what mends it");
    away(&mut script, "web", Unreachable::DockerEngine);
    script.trigger("web");
    assert!(script.update_of("web").is_some());
    script.deploy("web", "2");
    assert_eq!(script.update_of("web"), None, "nothing is left to do");
    assert_eq!(awaited(&script, &Unreachable::DockerEngine), None, "nobody waits");
}

#[test]
fn who_asked_for_an_update_gets_it_after_the_outage() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "1").trigger("web");
    away(&mut script, "web", Unreachable::Cluster);
    over(&mut script, &Unreachable::Cluster);
    let Some(Task::Update { job, .. }) = plan(&script.state).remove(&TaskId::Update("web".into())) else {
        panic!("an update runs")
    };
    let lilt_engine::UpdateJob::Deploy(job) = &*job else { panic!("it deploys") };
    assert!(job.rerun, "what was asked for is not forgotten");
}

#[test]
fn ci_gives_up_in_the_end() {
    let mut script = Script::with_mode(Mode::Ci);
    script.load(vec![workload("web")]).connect();
    away(&mut script, "web", Unreachable::DockerEngine);
    assert_eq!(lilt_engine::verdict(&script.state), None, "it waits");
    over(&mut script, &Unreachable::DockerEngine);
    script.time += 30_000;
    away(&mut script, "web", Unreachable::DockerEngine);
    assert_eq!(awaited(&script, &Unreachable::DockerEngine), None);
    assert!(matches!(lilt_engine::verdict(&script.state), Some(lilt_engine::Verdict::Broken { .. })));
}

#[test]
fn what_is_switched_off_does_not_begin_again() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect();
    away(&mut script, "web", Unreachable::DockerEngine);
    let request = Request::Switch { enable: Vec::new(), disable: vec!["web".into()] };
    script.event(Event::Requested { request });
    assert_eq!(awaited(&script, &Unreachable::DockerEngine), None, "nobody waits");
    assert_eq!((script.update_of("web"), held(&script, "web")), (None, String::new()));
    // Nor for one that is gone.
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect();
    away(&mut script, "web", Unreachable::DockerEngine);
    script.save_tiltfile().load(Vec::new());
    assert_eq!(awaited(&script, &Unreachable::DockerEngine), None);
}

#[test]
fn who_shares_an_image_is_not_forgotten() {
    let mut script = Script::loaded(vec![workload("web"), with_image_of(workload("worker"), "web")]);
    script.connect();
    let one_runs = |script: &Script| match script.update_of("web") {
        Some(_) => "web",
        None => "worker",
    };
    // The second finds it away by itself, as soon as the first no longer builds for both.
    for _ in 0..2 {
        let name = one_runs(&script);
        away(&mut script, name, Unreachable::DockerEngine);
    }
    over(&mut script, &Unreachable::DockerEngine);
    // It only seemed to answer.
    let name = one_runs(&script);
    away(&mut script, name, Unreachable::DockerEngine);
    over(&mut script, &Unreachable::DockerEngine);
    for _ in 0..2 {
        let name = one_runs(&script);
        assert!(script.update_of(name).is_some(), "{}", held(&script, name));
        script.deploy(name, "1");
    }
    assert_eq!((held(&script, "web"), held(&script, "worker")), (String::new(), String::new()));
}

#[test]
fn all_images_of_a_registry_wait_for_one_answer() {
    let image = |name: &str| Unreachable::Registry(format!("localhost:5000/{name}:tilt-1"));
    let mut script = Script::loaded(vec![workload("web"), workload("api")]);
    script.connect();
    away(&mut script, "web", image("web"));
    away(&mut script, "api", image("api"));
    assert_eq!(awaited(&script, &image("api")), None);
    over(&mut script, &image("web"));
    script.deploy("web", "1").deploy("api", "1");
}

#[test]
fn what_is_cancelled_does_not_begin_again() {
    let cancel = || Event::Requested { request: Request::Cancel { resource: "web".into() } };
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect();
    // While it waits, and while it runs again.
    away(&mut script, "web", Unreachable::DockerEngine);
    script.event(cancel());
    assert_eq!(held(&script, "web"), "");
    script.trigger("web");
    away(&mut script, "web", Unreachable::DockerEngine);
    over(&mut script, &Unreachable::DockerEngine);
    assert!(script.update_of("web").is_some());
    script.event(cancel());
    assert_eq!((script.update_of("web"), held(&script, "web")), (None, String::new()));
}
