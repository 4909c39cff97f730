//! Every verb on every kind.

use futures_util::TryStreamExt as _;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use lilt_api::kinds::{Kind, kinds};
use serde_json::{Value, json};

use crate::client::{Session, api, object};

const NAME: &str = "of-my-own";

/// Returns a minimal valid specification of each kind, without lasting effects.
fn members(kind: &Kind) -> Value {
    let at = json!({"componentID": "one", "componentType": "Resource"});
    match kind.name {
        "ConfigMap" => json!({"data": {"key": "value"}}),
        "Extension" => json!({"spec": {"repoName": "missing", "repoPath": "none"}}),
        "ExtensionRepo" => json!({"spec": {"url": "file:///nowhere"}}),
        "FileWatch" => json!({"spec": {"watchedPaths": ["/nowhere"]}}),
        "KubernetesApply" => json!({"spec": {"applyCmd": {"args": ["false"]}}}),
        "KubernetesDiscovery" => json!({"spec": {"watches": [{"namespace": "nowhere"}]}}),
        "LiveUpdate" => json!({"spec": {"execs": [{"args": ["true"]}]}}),
        "PortForward" => json!({"spec": {"podName": "none", "forwards": [{"containerPort": 80}]}}),
        "ToggleButton" => json!({"spec": {
            "location": at, "stateSource": {"configMap": {"name": "none", "key": "on", "onValue": "1", "offValue": "0"}},
        }}),
        "UIButton" => json!({"spec": {"text": "Press", "location": at}}),
        _ if kind.fields.iter().any(|field| field.name == "spec") => json!({"spec": {}}),
        _ => json!({}),
    }
}

pub(crate) fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    }
}

/// Collects the watch events of an object until its deletion.
async fn follow(all: Api<DynamicObject>, from: String) -> Vec<String> {
    let parameters = WatchParams::default().fields(&format!("metadata.name={NAME}"));
    let events = all.watch(&parameters, &from).await.expect("a watch");
    let mut events = Box::pin(events);
    let mut seen = Vec::new();
    while let Some(event) = events.try_next().await.expect("the watch goes on") {
        match event {
            WatchEvent::Added(_) => seen.push("added".to_owned()),
            WatchEvent::Modified(object) => {
                let labels = object.metadata.labels.unwrap_or_default();
                seen.extend(labels.into_keys());
            }
            WatchEvent::Deleted(_) => {
                seen.push("deleted".to_owned());
                return seen;
            }
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(error) => panic!("{error:?}"),
        }
    }
    seen
}

async fn read(all: &Api<DynamicObject>, kind: &Kind) -> DynamicObject {
    let found = all.get(NAME).await.expect("it is there");
    let listed = all.list(&ListParams::default()).await.expect("a list");
    assert!(listed.items.iter().any(|it| it.metadata.uid == found.metadata.uid), "{} is listed", kind.name);
    let metadata = all.get_metadata(NAME).await.expect("its metadata");
    assert_eq!(metadata.metadata.uid, found.metadata.uid);
    found
}

async fn change(all: &Api<DynamicObject>) {
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    let merged = json!({"metadata": {"labels": {"merged": "1"}}});
    all.patch(NAME, &dry, &Patch::Merge(&merged)).await.expect("a dry run");
    let labels = all.get(NAME).await.expect("it is there").metadata.labels;
    assert!(labels.unwrap_or_default().is_empty(), "a dry run changes nothing");
    let plain = PatchParams::default();
    all.patch(NAME, &plain, &Patch::Merge(&merged)).await.expect("a merge patch");
    let steps = json!([{"op": "add", "path": "/metadata/labels/stepped", "value": "1"}]);
    let steps: json_patch::Patch = serde_json::from_value(steps).expect("steps");
    all.patch(NAME, &plain, &Patch::Json::<()>(steps)).await.expect("a JSON patch");
    let stale = all.get(NAME).await.expect("it is there");
    let applied = json!({"apiVersion": "tilt.dev/v1alpha1", "metadata": {"labels": {"applied": "1"}}});
    all.patch(NAME, &PatchParams::apply("test").force(), &Patch::Apply(&applied))
        .await
        .expect("an apply patch");
    assert_eq!(code(all.replace(NAME, &PostParams::default(), &stale).await), 409, "a stale version");
    let mut fresh = all.get(NAME).await.expect("it is there");
    fresh.metadata.labels.get_or_insert_default().insert("replaced".into(), "1".into());
    all.replace(NAME, &PostParams::default(), &fresh).await.expect("a replacement");
}

async fn change_status(all: &Api<DynamicObject>, kind: &Kind) {
    if !kind.has_status() {
        return;
    }
    let found = all.get_status(NAME).await.expect("the status is there");
    let replaced = all.replace_status(NAME, &PostParams::default(), &found).await.expect("a status");
    assert_eq!(replaced.metadata.uid, found.metadata.uid);
    let label = json!({"metadata": {"labels": {"by-status": "1"}}, "status": {}});
    all.patch_status(NAME, &PatchParams::default(), &Patch::Merge(&label)).await.expect("a status patch");
    let labels = all.get(NAME).await.expect("it is there").metadata.labels.unwrap_or_default();
    assert!(!labels.contains_key("by-status"), "{}: the status alone is written", kind.name);
}

async fn every_verb(all: Api<DynamicObject>, kind: &Kind) {
    let mine = object(kind, NAME, &members(kind));
    let from = all.list(&ListParams::default()).await.expect("a list").metadata.resource_version;
    let following = tokio::spawn(follow(all.clone(), from.expect("a version")));
    all.create(&PostParams::default(), &mine).await.unwrap_or_else(|error| panic!("{}: {error}", kind.name));
    assert_eq!(code(all.create(&PostParams::default(), &mine).await), 409, "there is one already");
    read(&all, kind).await;
    change(&all).await;
    change_status(&all, kind).await;
    all.delete(NAME, &DeleteParams::default()).await.expect("a deletion");
    assert_eq!(code(all.get(NAME).await), 404);
    assert_eq!(code(all.delete(NAME, &DeleteParams::default()).await), 404);
    let seen = following.await.expect("the watch ends");
    for wanted in ["added", "merged", "stepped", "applied", "replaced", "deleted"] {
        assert!(seen.iter().any(|it| it == wanted), "{}: {wanted} in {seen:?}", kind.name);
    }
    assert_eq!(seen.iter().filter(|it| *it == "added").count(), 1, "{}", kind.name);
}

/// Kinds that only report state are read-only, and errors say who writes them.
async fn every_verb_of_readers(all: Api<DynamicObject>, kind: &Kind) {
    let listed = all.list(&ListParams::default()).await.expect("a list");
    let found = listed.items.first().expect("there is one").clone();
    let name = found.metadata.name.clone().expect("a name");
    assert_eq!(all.get(&name).await.expect("it is there").metadata.uid, found.metadata.uid);
    assert_eq!(all.get_status(&name).await.expect("it is there").metadata.uid, found.metadata.uid);
    let events = all.watch(&WatchParams::default(), "0").await.expect("a watch");
    let first = Box::pin(events).try_next().await.expect("it goes on");
    assert!(matches!(first, Some(WatchEvent::Added(_))), "{first:?}");
    let spec = json!({"spec": {"tiltfilePath": "/nowhere/Tiltfile", "exitCondition": "manual"}});
    let spec = if kind.name == "Session" { spec } else { json!({"spec": {}}) };
    let label = json!({"metadata": {"labels": {"mine": "1"}}});
    assert_eq!(code(all.create(&PostParams::default(), &object(kind, NAME, &spec)).await), 403);
    let noted = all.patch(&name, &PatchParams::default(), &Patch::Merge(&label)).await.expect("a note");
    assert_eq!(noted.metadata.labels.and_then(|labels| labels.get("mine").cloned()).as_deref(), Some("1"));
    let first = if kind.name == "UIResource" { json!({"order": 7}) } else { json!({"error": "no"}) };
    let first = if kind.name == "UISession" { json!({"fatalError": "no"}) } else { first };
    let status = Patch::Merge(json!({"status": first}));
    assert_eq!(code(all.patch_status(&name, &PatchParams::default(), &status).await), 403);
    assert_eq!(code(all.delete(&name, &DeleteParams::default()).await), 403);
}

#[tokio::test]
async fn every_verb_works_on_every_kind() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let client = session.client().await;
    for kind in kinds().all() {
        match kind.name {
            "Session" | "UIResource" | "UISession" => every_verb_of_readers(api(&client, kind), kind).await,
            _ => every_verb(api(&client, kind), kind).await,
        }
    }
    session.lilt.quit();
}

#[tokio::test]
async fn collections_are_deleted_by_selector() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let client = session.client().await;
    let maps = api(&client, kinds().with_plural("configmaps").expect("a kind"));
    let kind = kinds().with_plural("configmaps").expect("a kind");
    for number in 0..5 {
        let mut map = object(kind, &format!("map-{number}"), &json!({"data": {}}));
        map.metadata.labels.get_or_insert_default().insert("odd".into(), (number % 2).to_string());
        maps.create(&PostParams::default(), &map).await.expect("a creation");
    }
    let odd = ListParams::default().labels("odd=1");
    maps.delete_collection(&DeleteParams::default(), &odd).await.expect("a deletion");
    let left = maps.list(&ListParams::default().labels("odd")).await.expect("a list");
    let names: Vec<String> = left.items.into_iter().filter_map(|it| it.metadata.name).collect();
    assert_eq!(names, ["map-0", "map-2", "map-4"]);
    session.lilt.quit();
}
