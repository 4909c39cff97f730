//! Several clusters in one session: each has its own connection and status.

mod support;

use lilt_api::ObjectKind;
use lilt_engine::{Event, Owner, Task, TaskId, plan, project_session_objects};
use lilt_model::Failure;
use lilt_model::cluster::Pod;
use lilt_model::kubernetes::{ForwardPlace, ObjectRef, ObjectScope};
use lilt_model::resource::{Body, Resource};
use support::*;

fn failed(script: &mut Script, cluster: &str, message: &str) {
    let failure = Failure::environment(message);
    script.event(Event::ClusterFailed { cluster: cluster.into(), address: None, failure });
}

fn pod_in(pod: Pod, cluster: &str) -> Pod {
    Pod { cluster: cluster.into(), ..pod }
}

fn clusters(script: &Script) -> Vec<(String, serde_json::Value)> {
    let objects = project_session_objects(&script.state).into_iter();
    let clusters = objects.filter(|(key, _)| key.kind == ObjectKind::Cluster);
    clusters.map(|(key, object)| (key.name.clone(), serde_json::json!(object.content))).collect()
}

#[test]
fn each_has_its_own_connection_and_status() {
    let mut script = Script::loaded(vec![workload("web"), in_context(workload("far"), "edge")]);
    let shown = script.show();
    assert!(shown.contains("connect\n") && shown.contains("connect in edge\n"), "{shown}");
    failed(&mut script, "edge", "connection refused");
    script.connect();
    let shown = script.show();
    assert!(shown.contains("update web: Initial Build"), "{shown}");
    assert!(shown.contains("far holds: waiting for the cluster: connection refused"), "{shown}");
    let reported = clusters(&script);
    assert_eq!(reported.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["default", "edge"]);
    assert_eq!(reported[0].1["status"]["error"], serde_json::Value::Null);
    assert_eq!(reported[1].1["spec"]["connection"]["kubernetes"]["context"], "edge");
    assert_eq!(reported[1].1["status"]["error"], "connection refused");
    // It goes on by itself when it answers.
    script.deploy("web", "1").connect_to("edge");
    let shown = script.show();
    assert!(shown.contains("update far: Initial Build"), "{shown}");
    assert!(shown.contains("namespace(\"default\")\n"), "{shown}");
    assert!(shown.contains("namespace(\"default\") in edge\n"), "{shown}");
    script.deploy("far", "1");
    let scope = |cluster: &str, name: &str| {
        let mut object = ObjectRef::of(&deployment(name)).expect("a deployment");
        object.namespace = "default".into();
        TaskId::Objects(ObjectScope::of(&cluster.into(), &object, true))
    };
    let plan = plan(&script.state);
    assert!(plan.contains_key(&scope("", "web")) && plan.contains_key(&scope("edge", "far")));
}

#[test]
fn pods_of_one_are_not_those_of_another_though_they_are_called_alike() {
    let mut script = Script::loaded(vec![workload("web"), in_context(workload("far"), "edge")]);
    script.connect().connect_to("edge").deploy("web", "1").deploy("far", "1");
    // Two contexts may lead to the same cluster: then both see all pods.
    for cluster in ["", "edge"] {
        script.pod(pod_in(running("web", "web-1", "1", "c1"), cluster));
        script.pod(pod_in(running("far", "far-1", "1", "c2"), cluster));
    }
    let followed: Vec<(String, String)> = plan(&script.state)
        .into_values()
        .filter_map(|task| match task {
            Task::LogStream { resource: name, pod, .. } => {
                Some((name.to_string(), format!("{}/{}", pod.cluster, pod.name)))
            }
            _ => None,
        })
        .collect();
    let pair = |name: &str, pod: &str| (name.to_owned(), pod.to_owned());
    assert_eq!(followed, [pair("far", "edge/far-1"), pair("web", "/web-1")]);
    assert_eq!((script.status("web"), script.status("far")), ("Ok/Ok".into(), "Ok/Ok".into()));
    // The list of one says nothing about the other.
    let (cluster, namespace) = ("edge".into(), "default".to_owned());
    script.event(Event::PodsListed { cluster, namespace, pods: Vec::new() });
    assert_eq!((script.status("web"), script.status("far")), ("Ok/Ok".into(), "Ok/Pending".into()));
    // And neither does what is wrong with it.
    let failure = Failure::environment("gone");
    script.event(Event::ClusterTroubled { cluster: "edge".into(), failure });
    let message = |name: &str| {
        let resource = lilt_engine::project_resource(&script.state, &name.into()).expect("a resource");
        resource.metadata.annotations.get("lilt.dev/runtime-message").cloned().unwrap_or_default()
    };
    assert_eq!((message("web"), message("far")), (String::new(), "gone".to_owned()));
    assert_eq!((script.status("web"), script.status("far")), ("Ok/Ok".into(), "Ok/Error".into()));
}

#[test]
fn an_image_for_two_clusters_is_brought_to_both() {
    let shared = |name: &str| with_image_of(not_built(objects(name, &["Service"])), "web");
    let mut script = Script::loaded(vec![shared("here"), in_context(shared("far"), "edge")]);
    script.connect().connect_to("edge");
    let shown = script.show();
    assert!(shown.contains("update here: Initial Build (build web, deploy)"), "{shown}");
    assert!(shown.contains("update far: Initial Build (build web, deploy)"), "{shown}");
}

#[test]
fn what_moves_to_another_is_deleted_where_it_was() {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "1");
    script.save_tiltfile().load(vec![in_context(workload("web"), "edge")]);
    let deletion = plan(&script.state).into_values().find_map(|spec| match spec {
        Task::Cleanup { leftovers, .. } => Some(leftovers),
        _ => None,
    });
    let deletion = deletion.expect("a deletion");
    assert!(deletion.cluster.is_session());
    assert_eq!(deletion.objects, [deployment("web")]);
    assert!(script.show().contains("connect in edge"), "{}", script.show());
}

fn forwarded(resource: Resource, hosts: &[&str]) -> Resource {
    let mut resource = resource;
    if let Body::Kubernetes(kubernetes) = &mut resource.body {
        let first = kubernetes.forwards[0].clone();
        let on = |host: &&str| lilt_model::kubernetes::Forward { host: (*host).to_owned(), ..first.clone() };
        kubernetes.forwards = hosts.iter().map(on).collect();
    }
    resource
}

#[test]
fn one_port_may_be_forwarded_on_several_hosts() {
    let mut script = Script::loaded(vec![forwarded(workload("web"), &["127.0.0.1", "127.0.0.2"])]);
    script.connect().deploy("web", "1");
    let plan = plan(&script.state);
    for host in ["127.0.0.1", "127.0.0.2"] {
        let place = ForwardPlace { host: host.into(), port: 8000 };
        assert!(plan.contains_key(&TaskId::Forward(Owner::Resource("web".into()), place.into())), "{host}");
    }
}
