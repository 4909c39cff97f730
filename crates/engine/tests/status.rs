//! What is said of pods: which count, and the event behind a status.

mod support;

use lilt_api::{Object, ObjectKey, ObjectKind, RuntimeStatus};
use lilt_engine::{Event, Task, TaskId, project_resource, project_resource_objects};
use lilt_model::cluster::{
    Container, ContainerState, Notice, Pod, PodCondition, PodPhase, PodRef, ProbeKind, Subject,
};
use lilt_model::kubernetes::{Forward, ObjectRef};
use lilt_model::resource::{Body, Resource};
use lilt_model::{ClusterName, Failure, Timestamp, Uid};
use support::*;

fn status(script: &Script) -> (RuntimeStatus, String) {
    let shown = project_resource(&script.state, &"web".into()).expect("it is there");
    let words = shown.metadata.annotations.get("lilt.dev/runtime-message").cloned().unwrap_or_default();
    (shown.status.runtime_status, words)
}

fn deployed() -> Script {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "1");
    script
}

fn notice(about: Subject, reason: &str, message: &str) -> Notice {
    let warning = !matches!(reason, "Started" | "Killing");
    let probe = match message {
        text if text.starts_with("Readiness") => Some(ProbeKind::Readiness),
        text if text.starts_with("Liveness") || reason == "Killing" => Some(ProbeKind::Liveness),
        _ => None,
    };
    let at = Timestamp(i64::MAX / 2);
    Notice { about, warning, reason: reason.into(), message: message.into(), probe, at }
}

fn tell(script: &mut Script, reason: &str, message: &str) {
    let about =
        Subject::Pod(PodRef { namespace: "default".into(), name: "web-1".into(), ..PodRef::default() });
    let at = Timestamp(script.time * 1_000_000);
    script.event(Event::Noticed { notice: Notice { at, ..notice(about, reason, message) } });
}

fn pod(change: impl FnOnce(&mut Pod)) -> Pod {
    let mut pod = running("web", "web-1", "1", "c1");
    pod.ready = false;
    change(&mut pod);
    pod
}

/// A container that waits to be started again.
fn crashed(container: &mut Container, code: i32, reason: &str, restarts: u32) {
    container.state = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: String::new() };
    container.previous_exit = Some((code, reason.into()));
    container.restarts = restarts;
}

#[test]
fn a_failing_probe_is_why_it_is_not_ready() {
    let mut script = deployed();
    script.pod(pod(|pod| {
        pod.conditions = vec![PodCondition {
            kind: "Ready".into(),
            met: false,
            reason: "ContainersNotReady".into(),
            message: "containers with unready status: [main]".into(),
            since: Timestamp(1),
        }];
    }));
    let words = "pod web-1: Running, not ready: containers with unready status: [main]";
    assert_eq!(status(&script), (RuntimeStatus::Pending, words.into()));
    tell(&mut script, "Unhealthy", "Readiness probe failed: HTTP probe failed\nwith statuscode: 503\n");
    tell(&mut script, "Unhealthy", "Liveness probe failed: once");
    let words =
        "pod web-1: Running, not ready: Readiness probe failed: HTTP probe failed with statuscode: 503";
    assert_eq!(status(&script), (RuntimeStatus::Pending, words.into()));
    script.pod(running("web", "web-1", "1", "c1"));
    assert_eq!(status(&script), (RuntimeStatus::Ok, String::new()));
}

#[test]
fn crash_loop_status_names_container_exit_and_killing_probe() {
    let mut script = deployed();
    let loops = |code, reason: &str| {
        pod(|pod| {
            pod.status = "CrashLoopBackOff".into();
            pod.message = Some("back-off 10s restarting failed container".into());
            crashed(&mut pod.containers[0], code, reason, 2);
        })
    };
    tell(&mut script, "Unhealthy", "Liveness probe failed: long ago");
    tell(&mut script, "Killing", "Container main failed liveness probe, will be restarted");
    tell(&mut script, "Started", "first");
    tell(&mut script, "Started", "second");
    script.pod(loops(3, "Error"));
    let words = "pod web-1: CrashLoopBackOff: back-off 10s restarting failed container \
                 (container main exited with code 3, restarted 2 times)";
    assert_eq!(status(&script), (RuntimeStatus::Error, words.into()));
    script.pod(loops(137, "OOMKilled"));
    assert!(status(&script).1.contains("OOMKilled: it used more memory than its limit"));

    tell(&mut script, "Unhealthy", "Liveness probe failed: not alive\n");
    tell(&mut script, "Killing", "Container main failed liveness probe, will be restarted");
    tell(&mut script, "BackOff", "Back-off restarting failed container");
    script.pod(loops(137, "Error"));
    assert!(
        status(&script).1.contains(": Liveness probe failed: not alive (container main"),
        "{:?}",
        status(&script)
    );
}

#[test]
fn status_names_what_prevents_a_pod_from_starting() {
    let mut script = deployed();
    script.pod(pod(|pod| (pod.phase, pod.status) = (PodPhase::Pending, "ContainerCreating".into())));
    tell(
        &mut script,
        "FailedMount",
        "MountVolume.SetUp failed for volume \"v\" : configmap \"absent\" not found",
    );
    let words = "pod web-1: ContainerCreating: MountVolume.SetUp failed for volume \"v\" : \
                 configmap \"absent\" not found";
    assert_eq!(status(&script), (RuntimeStatus::Pending, words.into()));
    script.pod(pod(|pod| {
        (pod.phase, pod.status) = (PodPhase::Failed, "Evicted".into());
        pod.message = Some("The node was low on resource: memory.".into());
    }));
    let words = "pod web-1: Evicted: The node was low on resource: memory.";
    assert_eq!(status(&script), (RuntimeStatus::Error, words.into()));
}

#[test]
fn one_that_ended_was_replaced_also_in_the_same_second() {
    let mut script = deployed();
    script.pod(pod(|pod| (pod.phase, pod.status) = (PodPhase::Failed, "Evicted".into())));
    let mut other = running("web", "web-0", "1", "c0");
    other.ready = true;
    script.pod(other);
    assert_eq!(status(&script), (RuntimeStatus::Ok, String::new()));
}

fn refusal(message: &str) -> Event {
    let object = ObjectRef {
        api_version: "apps/v1".into(),
        kind: "ReplicaSet".into(),
        namespace: "default".into(),
        name: "web-abc".into(),
    };
    let about = Subject::Object { object, uids: vec![Uid::new("uid-set"), Uid::new("uid-web")] };
    Event::Noticed { notice: notice(about, "FailedCreate", message) }
}

#[test]
fn pods_that_cannot_be_made_are_explained_also_before_the_apply_is_answered() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect();
    script.event(refusal("exceeded quota: small"));
    assert!(script.state.take_notes().is_empty());
    script.deploy("web", "1");
    let words = "no pod yet: FailedCreate: exceeded quota: small";
    assert_eq!(status(&script), (RuntimeStatus::Pending, words.into()));
    let notes: Vec<String> = script.state.take_notes().into_iter().map(|note| note.text).collect();
    assert_eq!(notes, ["[event: replicaset web-abc] exceeded quota: small"]);
    // The same again is no news.
    script.event(refusal("exceeded quota: small"));
    assert!(script.state.take_notes().is_empty());
    script.pod(running("web", "web-1", "1", "c1"));
    assert_eq!(status(&script), (RuntimeStatus::Ok, String::new()));
}

#[test]
fn pods_that_may_not_be_read_are_no_lost_cluster() {
    let mut script = deployed();
    let failure = Failure::environment("the cluster does not allow you to watch pods");
    script.event(Event::PodsRefused {
        cluster: ClusterName::default(),
        namespace: "default".into(),
        failure,
    });
    let words = "its pods in namespace default cannot be seen: the cluster does not allow you to watch pods";
    assert_eq!(status(&script), (RuntimeStatus::Pending, words.into()));
    assert_eq!(script.state.take_notes().len(), 1);
    script.trigger("web").deploy("web", "1");
    assert_eq!(script.state.take_notes().len(), 1, "once for each deployment");
    script.event(Event::PodsListed {
        cluster: ClusterName::default(),
        namespace: "default".into(),
        pods: vec![running("web", "web-1", "1", "c1")],
    });
    assert_eq!(status(&script), (RuntimeStatus::Ok, String::new()));
}

#[test]
fn the_newest_replica_set_is_the_truth() {
    let of_set = |name: &str, set: &str, second: i64, ready: bool| {
        let mut pod = running("web", name, "1", name);
        pod.owners.insert(0, Uid::new(set));
        pod.nearest_owner = Some(format!("web-{set}"));
        pod.labels.insert("pod-template-hash".into(), set.into());
        (pod.created, pod.ready) = (Timestamp(second * 1_000_000), ready);
        pod
    };
    let mut script = deployed();
    script.pod(of_set("web-1", "aaa", 1, true)).pod(of_set("web-2", "bbb", 2, false));
    assert_eq!(status(&script).0, RuntimeStatus::Pending);
    script.pod(of_set("web-1", "aaa", 1, false)).pod(of_set("web-2", "bbb", 2, true));
    assert_eq!(status(&script).0, RuntimeStatus::Ok, "one that is being replaced does not count");
    // Gone back: the newer one is on its way out.
    let mut leaving = of_set("web-2", "bbb", 2, false);
    leaving.deleting = true;
    script.pod(of_set("web-1", "aaa", 1, true)).pod(leaving);
    assert_eq!(status(&script).0, RuntimeStatus::Ok);
    // What an operator makes of one object may live side by side.
    let mut other = running("web", "web-3", "1", "c3");
    other.owners.insert(0, Uid::new("set"));
    (other.created, other.ready) = (Timestamp(9_000_000), false);
    script.pod(other);
    assert_eq!(status(&script).0, RuntimeStatus::Pending);
}

fn forwarding(forwards: &[(u16, u16)]) -> Resource {
    let mut resource = workload("web");
    let Body::Kubernetes(kubernetes) = &mut resource.body else { unreachable!("it is one") };
    let forward = |(local_port, container_port): &(u16, u16)| Forward {
        host: String::new(),
        local_port: *local_port,
        container_port: *container_port,
        name: String::new(),
        path: String::new(),
    };
    kubernetes.forwards = forwards.iter().map(forward).collect();
    resource
}

fn targets(script: &Script) -> Vec<Option<(String, u16)>> {
    let plan = lilt_engine::plan_resource(&script.state, &"web".into());
    let forwards = plan.into_iter().filter(|(id, _)| matches!(id, TaskId::Forward(..)));
    let target = |(_, spec)| match spec {
        Task::Forward { target, .. } => target.map(|target| (target.pod.name, target.port)),
        _ => None,
    };
    forwards.map(target).collect()
}

#[test]
fn a_forward_without_a_container_port_finds_it() {
    let mut script = Script::loaded(vec![forwarding(&[(8080, 0), (9999, 0), (7000, 5)])]);
    script.connect().deploy("web", "1");
    assert_eq!(targets(&script), [None, None, None]);
    let with_ports = |ports: &[u16]| {
        let mut pod = running("web", "web-1", "1", "c1");
        pod.containers[0].ports = ports.to_vec();
        pod
    };
    let to = |port| Some(("web-1".to_owned(), port));
    // In the order of local ports: 7000, 8080, 9999.
    script.pod(with_ports(&[3000, 8080]));
    assert_eq!(targets(&script), [to(5), to(8080), to(3000)]);
    script.pod(with_ports(&[]));
    assert_eq!(targets(&script), [to(5), to(8080), to(9999)]);
    // While nothing else runs, one that is about to go serves.
    let mut leaving = with_ports(&[]);
    leaving.deleting = true;
    script.pod(leaving);
    assert_eq!(targets(&script)[0], to(5));
    script.pod(running("web", "web-2", "1", "c2"));
    assert_eq!(targets(&script)[0], Some(("web-2".to_owned(), 5)));
}

#[test]
fn a_forward_leads_to_the_pod_that_declares_its_port() {
    let mut script = Script::loaded(vec![forwarding(&[(5055, 5000), (8080, 0), (9000, 9000)])]);
    script.connect().deploy("web", "1");
    let listening = |name: &str, created: i64, port: u16| {
        let mut pod = running("web", name, "1", name);
        pod.created = Timestamp(created);
        pod.containers[0].ports = vec![port];
        // Such as pods of a deployment that a controller made, found by their label.
        pod.template_hash = pod.template_hash.filter(|_| name == "web");
        pod
    };
    script.pod(listening("registry", 1, 5000)).pod(listening("web", 2, 8080));
    let to = |pod: &str, port| Some((pod.to_owned(), port));
    assert_eq!(targets(&script), [to("registry", 5000), to("web", 8080), to("web", 9000)]);
    script.pod(listening("registry-2", 3, 5000));
    // Nothing declares 9000: the newest pod gets it, although only a label makes it one of this resource.
    assert_eq!(targets(&script), [to("registry-2", 5000), to("web", 8080), to("registry-2", 9000)]);
    assert_eq!(
        objects(&script),
        [
            ("web-registry-2".to_owned(), "registry-2".to_owned(), vec![(5055, 5000), (9000, 9000)]),
            ("web-web".to_owned(), "web".to_owned(), vec![(8080, 8080)]),
        ]
    );
}

type Ports = Vec<(u64, u64)>;

/// Returns the name of each `PortForward` object, its pod, and its local and container ports.
fn objects(script: &Script) -> Vec<(String, String, Ports)> {
    let objects = project_resource_objects(&script.state, &"web".into());
    let forwards = objects.into_iter().filter(|(key, _)| key.kind == ObjectKind::PortForward);
    let content = |(key, object): (ObjectKey, Object)| {
        let port = |value: &serde_json::Value| value.as_u64().expect("a port");
        let list = |part: &str, name: &str| object.content[part][name].as_array().expect("a list").clone();
        let ports = |of: &[serde_json::Value]| -> Ports {
            of.iter().map(|it| (port(&it["localPort"]), port(&it["containerPort"]))).collect()
        };
        let spec = ports(&list("spec", "forwards"));
        assert_eq!(spec, ports(&list("status", "forwardStatuses")));
        (key.name, object.content["spec"]["podName"].as_str().unwrap_or_default().to_owned(), spec)
    };
    forwards.map(content).collect()
}

/// The registry of ocm-controller's `forward_registry`: a controller makes its pod, which declares no port, and
/// `extra_pod_selectors` finds it.
#[test]
fn port_forward_object_names_the_pod_and_port_in_use() {
    let mut script = Script::loaded(vec![forwarding(&[(5000, 0)])]);
    script.connect().deploy("web", "1");
    assert_eq!(objects(&script), [], "nothing is forwarded to yet");
    let mut deployed = running("web", "web-1", "1", "c1");
    deployed.containers[0].ports.clear();
    let mut registry = running("web", "registry", "1", "c2");
    registry.containers[0].ports.clear();
    registry.template_hash = None;
    registry.created = Timestamp(deployed.created.0 + 1_000_000);
    script.pod(deployed).pod(registry);
    assert_eq!(targets(&script), [Some(("registry".to_owned(), 5000))]);
    assert_eq!(objects(&script), [("web-registry".to_owned(), "registry".to_owned(), vec![(5000, 5000)])]);
}

#[test]
fn a_custom_resource_whose_image_an_operator_runs_waits_for_its_pods() {
    let mut resource = workload("web");
    let Body::Kubernetes(kubernetes) = &mut resource.body else { unreachable!("it is one") };
    kubernetes.expects_pods = true;
    kubernetes.objects = vec![serde_json::json!({"kind": "Policy", "metadata": {"name": "web"}})];
    let mut script = Script::loaded(vec![resource]);
    script.connect();
    let mut outcome = script.deployed_outcome("web", "1");
    outcome.deployed.as_mut().expect("it was").template_hashes.clear();
    let update = script.update_of("web").expect("an update runs");
    script.event(Event::UpdateEnded { resource: "web".into(), update, outcome: Box::new(outcome) });
    assert_eq!(status(&script).0, RuntimeStatus::Pending);
    let mut pod = running("web", "web-1", "1", "c1");
    pod.template_hash = None;
    script.pod(pod);
    assert_eq!(status(&script).0, RuntimeStatus::Ok);
}

/// The new pod of a rollout gets connections when it is ready, also if it is the first to declare the port.
#[test]
fn a_forward_stays_with_the_pod_before_until_the_one_that_declares_its_port_is_ready() {
    let mut script = Script::loaded(vec![workload("web")]);
    let mut before = running("web", "web-1", "one", "c1");
    before.containers[0].ports.clear();
    script.connect().deploy("web", "one").pod(before);
    let mut after = running("web", "web-2", "two", "c2");
    after.containers[0].ports = vec![8000];
    (after.ready, after.created) = (false, Timestamp(5));
    script.save_image("web", "web", "/p/web/Dockerfile").deploy("web", "two").pod(after.clone());
    assert!(script.show().contains("forward web 8000: to web-1:"), "{}", script.show());
    after.ready = true;
    script.pod(after);
    assert!(script.show().contains("forward web 8000: to web-2:8000"), "{}", script.show());
}
