//! The status that readers see while a cluster, a Docker engine or a registry is unreachable.

mod support;

use lilt_api::{UIResource, UnreachableService, annotation};
use lilt_engine::{Event, Task, TaskId, UpdateOutcome, plan, project_resource, project_session};
use lilt_model::cluster::ClusterAddress;
use lilt_model::request::Request;
use lilt_model::{ClusterName, Failure, Unreachable};
use support::*;

const REFUSED: &str = "cannot reach the cluster kind-dev at https://127.0.0.1:9: Connection refused";
const HINT: &str = "is the cluster running?";

fn unreachable() -> Failure {
    Failure::environment(REFUSED).hint(HINT).of_kind(Unreachable::Cluster)
}

fn not_reached(script: &mut Script) {
    let address = Some(ClusterAddress { context: "kind-dev".into(), server: "https://127.0.0.1:9".into() });
    let (cluster, failure) = (ClusterName::default(), unreachable());
    script.event(Event::ClusterFailed { cluster, address, failure });
}

fn lost(script: &mut Script, failure: Failure) {
    script.event(Event::ClusterTroubled { cluster: ClusterName::default(), failure });
}

fn services(script: &Script) -> Vec<UnreachableService> {
    project_session(&script.state).unreachable()
}

fn shown(script: &Script, name: &str) -> UIResource {
    project_resource(&script.state, &name.into()).expect("a resource")
}

fn ready(script: &Script, name: &str) -> bool {
    let resource = shown(script, name);
    let condition = resource.status.conditions.iter().find(|it| it.kind == "Ready").expect("a condition");
    condition.status == "True"
}

/// A session with one workload up.
fn up() -> Script {
    let mut script = Script::loaded(vec![workload("web"), local("a")]);
    script.connect().succeed("a").deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    script
}

#[test]
fn cluster_never_reached_fails_its_resources_and_is_listed() {
    let mut script = Script::loaded(vec![workload("web"), not_started(workload("later")), local("a")]);
    assert_eq!(services(&script), [], "it has not failed yet");
    not_reached(&mut script);
    script.succeed("a");
    assert_eq!(script.status("web"), "Pending/Error");
    assert_eq!(script.status("later"), "None/None", "nobody waits for it");
    assert_eq!(script.status("a"), "Ok/NotApplicable");
    let annotations = shown(&script, "web").metadata.annotations;
    assert_eq!(annotations[annotation::RUNTIME_MESSAGE], REFUSED);
    assert_eq!(annotations[annotation::UNREACHABLE_CLUSTER], "default");
    let listed = services(&script);
    let [service] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(
        (service.title.as_str(), service.message.as_str()),
        ("Cluster kind-dev is unreachable", REFUSED)
    );
    assert_eq!(service.hint.as_deref(), Some(HINT));
    assert_eq!(service.server.as_deref(), Some("https://127.0.0.1:9"));
    script.connect();
    assert_eq!((services(&script), script.status("web")), (Vec::new(), "InProgress/Pending".into()));
}

#[test]
fn unusable_kubeconfig_is_listed_without_a_name_or_address() {
    let mut script = Script::loaded(vec![workload("web")]);
    let failure = Failure::environment("kubeconfig has no current context");
    script.event(Event::ClusterFailed { cluster: ClusterName::default(), address: None, failure });
    let listed = services(&script);
    let [service] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((service.title.as_str(), &service.server), ("The cluster is unavailable", &None));
}

fn not_started(mut resource: lilt_model::resource::Resource) -> lilt_model::resource::Resource {
    resource.auto_init = false;
    resource
}

#[test]
fn lost_cluster_fails_its_resources_until_it_recovers() {
    let mut script = up();
    assert!(ready(&script, "web"));
    lost(&mut script, unreachable());
    assert_eq!((script.status("web"), script.status("a")), ("Ok/Error".into(), "Ok/NotApplicable".into()));
    assert!(!ready(&script, "web"));
    let logged = script.state.take_notes();
    let [note] = &logged[..] else { panic!("{logged:?}") };
    assert!(note.text.contains(REFUSED) && note.text.contains(HINT), "{}", note.text);
    let listed = services(&script);
    assert_eq!(listed.len(), 1);
    // The same cluster also fails an update: it is listed once.
    script.trigger("web");
    let update = script.update_of("web").expect("an update runs");
    let outcome = Box::new(UpdateOutcome::failed(unreachable()));
    script.event(Event::UpdateEnded { resource: "web".into(), update, outcome });
    assert_eq!(services(&script), listed);
    script.event(Event::ClusterRecovered { cluster: ClusterName::default() });
    assert_eq!(script.status("web"), "Error/Ok", "its update failed, its pod runs");
    let logged = script.state.take_notes();
    assert!(logged.iter().any(|note| note.text.starts_with("Reconnected to the cluster")), "{logged:?}");
}

#[test]
fn refused_login_is_listed_as_unavailable() {
    let mut script = up();
    lost(&mut script, Failure::environment("the cluster does not accept your login").hint("log in again"));
    assert_eq!(script.status("web"), "Ok/Error");
    let listed = services(&script);
    let [service] = &listed[..] else { panic!("{listed:?}") };
    assert!(service.title.ends_with("is unavailable"), "{}", service.title);
    assert_eq!(service.hint.as_deref(), Some("log in again"));
}

#[test]
fn unreachable_docker_engine_and_registry_are_listed() {
    let mut script = Script::loaded(vec![workload("web"), workload("api")]);
    script.connect();
    let registry = Unreachable::Registry("localhost:5000/api:tilt-1".to_owned());
    for (name, away) in [("web", Unreachable::DockerEngine), ("api", registry)] {
        let update = script.update_of(name).expect("an update runs");
        let outcome = UpdateOutcome::failed(Failure::environment("connection refused").of_kind(away));
        script.event(Event::UpdateEnded { resource: name.into(), update, outcome: Box::new(outcome) });
    }
    let titles: Vec<String> = services(&script).into_iter().map(|service| service.title).collect();
    assert_eq!(titles, ["The Docker engine is unreachable", "The registry localhost:5000 is unreachable"]);
    assert_eq!(script.status("web"), "Error/Pending");
}

#[test]
fn reconnect_restarts_the_attempts() {
    let spec = |script: &Script, id: &TaskId| plan(&script.state).remove(id).expect("it is planned");
    let connect = TaskId::Connect(ClusterName::default());
    let mut script = Script::loaded(vec![workload("web")]);
    not_reached(&mut script);
    let before = spec(&script, &connect);
    script.event(Event::Requested { request: Request::Reconnect });
    assert!(!before.continues(&spec(&script, &connect)));

    let namespace = TaskId::Namespace(ClusterName::default(), "default".to_owned());
    let mut script = up();
    let before = spec(&script, &namespace);
    script.event(Event::Requested { request: Request::Reconnect });
    assert!(before.continues(&spec(&script, &namespace)), "nothing is unreachable");
    lost(&mut script, unreachable());
    script.event(Event::Requested { request: Request::Reconnect });
    assert!(!before.continues(&spec(&script, &namespace)));
}

#[test]
fn reconnect_probes_an_outage_at_once() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect();
    let update = script.update_of("web").expect("an update runs");
    let outcome = UpdateOutcome::failed(Failure::environment("no engine").of_kind(Unreachable::DockerEngine));
    script.event(Event::UpdateEnded { resource: "web".into(), update, outcome: Box::new(outcome) });
    let outage = |script: &Script| {
        let tasks = plan(&script.state).into_values();
        let mut outages = tasks.filter_map(|spec| match spec {
            Task::Outage { id, immediate, .. } => Some((id, immediate)),
            _ => None,
        });
        outages.next().expect("somebody waits")
    };
    let (before, immediate) = outage(&script);
    assert!(!immediate);
    script.event(Event::Requested { request: Request::Reconnect });
    let (id, immediate) = outage(&script);
    assert!(immediate && id != before);
    script.event(Event::OutageOver { outage: before });
    assert_eq!(script.update_of("web"), None, "that task was replaced");
    script.event(Event::OutageOver { outage: id });
    assert!(script.update_of("web").is_some());
}
