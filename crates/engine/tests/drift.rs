//! Objects that somebody deleted or changed in the cluster.

mod support;

use lilt_engine::{Drift, Event, Task, TaskId, plan, project_resource};
use lilt_model::ClusterName;
use lilt_model::kubernetes::{ObjectRef, ObjectScope};
use lilt_model::project::{Project, Settings};
use lilt_model::resource::Resource;
use lilt_model::settings::DriftPolicy;
use support::*;

fn object(name: &str) -> ObjectRef {
    ObjectRef::of(&deployment(name)).expect("a deployment").in_namespace()
}

trait InNamespace {
    fn in_namespace(self) -> Self;
}

impl InNamespace for ObjectRef {
    fn in_namespace(mut self) -> Self {
        self.namespace = "default".to_owned();
        self
    }
}

fn scope() -> ObjectScope {
    ObjectScope::of(&ClusterName::default(), &object("web"), true)
}

fn project(drift: DriftPolicy, resource: Resource) -> Project {
    let settings = Settings { drift, ..Settings::default() };
    Project { resources: vec![resource], settings, ..Project::default() }
}

fn deployed(policy: DriftPolicy, resource: Resource) -> Script {
    let mut script = Script::loaded(vec![]);
    script
        .save_tiltfile()
        .load_with(project(policy, resource))
        .connect()
        .deploy("web", "1")
        .pod(running("web", "web-1", "1", "c1"));
    assert_eq!(script.update_of("web"), None);
    script
}

fn changed(script: &mut Script, mark: &str) {
    script.event(Event::ObjectChanged { scope: scope(), name: "web".into(), mark: mark.into() });
}

/// The look at suspects that runs, and which.
fn inspection(script: &Script) -> Option<u64> {
    match plan(&script.state).remove(&TaskId::Inspect("web".into()))? {
        Task::Inspect { inspection, .. } => {
            assert_eq!(inspection.suspects, [object("web")]);
            assert_eq!(inspection.images, [("web".into(), "web:1".to_owned())]);
            Some(inspection.id)
        }
        other => panic!("{other:?}"),
    }
}

fn inspected(script: &mut Script, drift: Option<Drift>) {
    let inspection = inspection(script).expect("a look at it");
    let found = vec![(object("web"), drift)];
    script.event(Event::Inspected { resource: "web".into(), inspection, found });
}

fn drift(script: &Script) -> Option<String> {
    let resource = project_resource(&script.state, &"web".into()).expect("a resource");
    resource.metadata.annotations.get("lilt.dev/drift").cloned()
}

const APPLIED: &str = "uid-web:1:applied";

#[test]
fn objects_are_watched_only_while_they_are_applied() {
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    assert!(plan(&script.state).contains_key(&TaskId::Objects(scope())));
    script.save_tiltfile().load(vec![]);
    assert!(!plan(&script.state).contains_key(&TaskId::Objects(scope())));
    let script = deployed(DriftPolicy::Ignore, workload("web"));
    assert!(!plan(&script.state).contains_key(&TaskId::Objects(scope())));
}

#[test]
fn changed_object_is_inspected_reported_and_corrected_by_the_next_update() {
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    changed(&mut script, APPLIED);
    assert_eq!(inspection(&script), None, "it is as it was applied");
    changed(&mut script, "uid-web:1:other");
    inspected(&mut script, None);
    assert_eq!((drift(&script), inspection(&script)), (None, None), "nothing that we set");
    changed(&mut script, "uid-web:1:another");
    inspected(&mut script, Some(Drift::Changed(vec!["spec.replicas: 1 → 2".into()])));
    let words = "web:deployment:default was changed in the cluster (applied → now): spec.replicas: 1 → 2";
    assert_eq!(drift(&script).as_deref(), Some(words));
    assert_eq!(script.update_of("web"), None, "only told");
    // Also one that live update could serve.
    script.save_image("web", "web", "/p/web/src/a");
    assert!(script.show().contains("deploy"), "{}", script.show());
    script.deploy("web", "2");
    assert_eq!(drift(&script), None);
}

#[test]
fn pods_of_another_session_are_named_as_its_own() {
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    changed(&mut script, "uid-web:1:other");
    let by = "ann@host:7 /home/ann/Tiltfile".to_owned();
    inspected(&mut script, Some(Drift::Replaced { by, fields: vec!["image: a → b".into()] }));
    script.event(Event::PodGone { pod: pod_ref("web-1") });
    let words = "replaced by what ann@host:7 /home/ann/Tiltfile deployed";
    assert!(drift(&script).is_some_and(|drift| drift.contains(words)));
    let resource = project_resource(&script.state, &"web".into()).expect("a resource");
    let shown = resource.metadata.annotations.get("lilt.dev/runtime-message").map(String::as_str);
    assert_eq!(shown, Some(words));
}

#[test]
fn reverted_change_is_no_longer_drift() {
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    changed(&mut script, "uid-web:1:other");
    inspected(&mut script, Some(Drift::Changed(vec!["x".into()])));
    changed(&mut script, APPLIED);
    assert_eq!(drift(&script), None);
}

#[test]
fn deleted_object_is_reported_and_replaced_object_is_not() {
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    let gone = |mark: &str| Event::ObjectGone { scope: scope(), name: "web".into(), mark: mark.into() };
    script.event(gone("uid-before:1:applied"));
    assert_eq!(drift(&script), None);
    script.event(gone(APPLIED));
    assert!(drift(&script).is_some_and(|words| words.contains("was deleted")));
    // After a lost connection the list says it.
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    script.event(Event::ObjectsListed { scope: scope(), objects: vec![("web".into(), APPLIED.into())] });
    assert_eq!(drift(&script), None);
    script.event(Event::ObjectsListed { scope: scope(), objects: Vec::new() });
    assert!(drift(&script).is_some_and(|words| words.contains("was deleted")));
}

#[test]
fn own_updates_cause_no_drift() {
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    script.trigger("web");
    let gone = Event::ObjectGone { scope: scope(), name: "web".into(), mark: APPLIED.into() };
    script.event(gone);
    changed(&mut script, "uid-web:2:applied");
    assert_eq!((drift(&script), inspection(&script)), (None, None));
    script.deploy("web", "2");
    assert_eq!((drift(&script), inspection(&script)), (None, None));
}

#[test]
fn drift_is_corrected_automatically_up_to_a_limit() {
    let mut script = deployed(DriftPolicy::Correct, workload("web"));
    let mut corrections = 0;
    loop {
        let gone = Event::ObjectGone { scope: scope(), name: "web".into(), mark: APPLIED.into() };
        script.event(gone);
        if script.update_of("web").is_none() {
            break;
        }
        assert!(script.show().contains("Put Right"), "{}", script.show());
        corrections += 1;
        assert!(corrections < 50, "it must end");
        script.deploy("web", "1");
    }
    assert!(corrections > 2, "{corrections}");
    script.trigger("web");
    script.deploy("web", "1");
    script.event(Event::ObjectGone { scope: scope(), name: "web".into(), mark: APPLIED.into() });
    assert!(script.update_of("web").is_some(), "somebody has looked after it");
}

/// A namespace that is deleted takes everything with it; the next update of any resource brings it back first.
#[test]
fn deleted_base_objects_are_restored_before_updates_that_need_them() {
    let mut script = Script::loaded(vec![objects("uncategorized", &["Namespace"]), workload("web")]);
    script.connect().succeed("uncategorized").deploy("web", "1");
    script.trigger("uncategorized");
    script.deploy("uncategorized", "1");
    let base = ObjectScope {
        namespace: "default".into(),
        ..ObjectScope::of(&ClusterName::default(), &object("uncategorized"), true)
    };
    let mark = "uid-uncategorized:1:applied".to_owned();
    script.event(Event::ObjectGone { scope: base, name: "uncategorized".into(), mark });
    script.event(Event::ObjectGone { scope: scope(), name: "web".into(), mark: APPLIED.into() });
    assert_eq!((script.update_of("uncategorized"), script.update_of("web")), (None, None), "nobody asked");
    script.trigger("web");
    assert!(script.update_of("uncategorized").is_some(), "{}", script.show());
    assert_eq!(script.update_of("web"), None, "{}", script.show());
    script.deploy("uncategorized", "1");
    assert!(script.update_of("web").is_some(), "{}", script.show());
}

#[test]
fn changed_policy_starts_and_stops_the_watch_and_forgets_drift() {
    let mut script = deployed(DriftPolicy::Report, workload("web"));
    let is_watched = |script: &Script| plan(&script.state).contains_key(&TaskId::Objects(scope()));
    script.event(Event::ObjectsListed { scope: scope(), objects: Vec::new() });
    assert!(drift(&script).is_some());
    script.save_tiltfile().load_with(project(DriftPolicy::Ignore, workload("web")));
    assert_eq!((drift(&script), is_watched(&script)), (None, false));
    script.save_tiltfile().load_with(project(DriftPolicy::Report, workload("web")));
    assert!(is_watched(&script));
}
