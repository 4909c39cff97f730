//! Objects managed by lilt: their owner, which fields users may change, and the effects.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use lilt_api::kinds::kinds;
use serde_json::{Value, json};

use crate::client::{Session, api, version};
use crate::verbs::code;

const TILTFILE: &str = "\
local_resource('one', 'true', serve_cmd='exec sleep 1000', deps=['a.txt'], labels=['front'])
v1alpha1.config_map(name='declared', data={'a': '1'})
";

fn of(client: &kube::Client, kind: &str) -> Api<DynamicObject> {
    api(client, kinds().named(kind).expect("a kind"))
}

async fn apply(
    all: &Api<DynamicObject>,
    name: &str,
    manager: &str,
    members: Value,
) -> kube::Result<DynamicObject> {
    let mut object = members;
    object["apiVersion"] = json!("tilt.dev/v1alpha1");
    all.patch(name, &PatchParams::apply(manager), &Patch::Apply(&object)).await
}

#[tokio::test]
async fn notes_stay_and_go_with_what_they_are_on() {
    let session = Session::start(&[("Tiltfile", TILTFILE), ("a.txt", "")]);
    session.lilt.wait_until_ready("one");
    let client = session.client().await;
    let resources = of(&client, "UIResource");
    let note = json!({"metadata": {"labels": {"team": "shop", "front": null}, "annotations": {"why": "me"}}});
    resources.patch("one", &PatchParams::default(), &Patch::Merge(&note)).await.expect("a note");
    let commands = of(&client, "Cmd");
    commands.patch("one-serve", &PatchParams::default(), &Patch::Merge(&note)).await.expect("a note");
    session.lilt.click("one");
    session.lilt.wait_until_ready("one");
    let message = resources.get("one").await.expect("it is there");
    let labels: Vec<String> = message.metadata.labels.clone().unwrap_or_default().into_keys().collect();
    assert_eq!(labels, ["team"], "{message:?}");
    assert!(message.metadata.annotations.clone().unwrap_or_default().contains_key("why"), "{message:?}");
    let ours = json!({"metadata": {"annotations": {"lilt.dev/hold": "nothing"}}});
    assert_eq!(code(resources.patch("one", &PatchParams::default(), &Patch::Merge(&ours)).await), 403);
    let other = json!({"spec": {"args": ["false"]}});
    assert_eq!(code(commands.patch("one-serve", &PatchParams::default(), &Patch::Merge(&other)).await), 403);
    session.project.write("Tiltfile", "local_resource('two', 'true')\n");
    session.lilt.wait_until_ready("two");
    session.project.write("Tiltfile", TILTFILE);
    session.lilt.wait_until_ready("one");
    let again = resources.get("one").await.expect("it is there");
    assert!(again.metadata.labels.unwrap_or_default().contains_key("front"), "it began anew");
    session.lilt.quit();
}

#[tokio::test]
async fn a_switch_is_applied_once_and_keeps_what_else_is_in_it() {
    let session = Session::start(&[("Tiltfile", TILTFILE), ("a.txt", "")]);
    session.lilt.wait_until_ready("one");
    let client = session.client().await;
    let maps = of(&client, "ConfigMap");
    let wanted = || json!({"kind": "ConfigMap", "data": {"isDisabled": "true", "more": "x"}});
    let first = apply(&maps, "one-disable", "test", wanted()).await.expect("it is applied");
    assert_eq!(first.data["data"], json!({"isDisabled": "true", "more": "x"}));
    let again = apply(&maps, "one-disable", "test", wanted()).await.expect("it is applied");
    assert_eq!(version(&again), version(&first), "the same is no change");
    let resource = of(&client, "UIResource").get("one").await.expect("it is there");
    assert_eq!(resource.data["status"]["disableStatus"]["state"], "Disabled");
    let conflict = apply(&maps, "one-disable", "other", json!({"data": {"isDisabled": "false"}})).await;
    assert_eq!(code(conflict), 409);
    let nonsense = Patch::Merge(json!({"data": {"isDisabled": "maybe"}}));
    assert_eq!(code(maps.patch("one-disable", &PatchParams::default(), &nonsense).await), 422);
    let less = apply(&maps, "one-disable", "test", json!({"data": {"isDisabled": "false"}})).await;
    assert_eq!(less.expect("it is applied").data["data"], json!({"isDisabled": "false"}));
    session.lilt.quit();
}

#[tokio::test]
async fn what_the_tiltfile_declares_belongs_to_it() {
    let session = Session::start(&[("Tiltfile", TILTFILE), ("a.txt", "")]);
    session.lilt.wait_until_ready("one");
    let client = session.client().await;
    let tiltfile = of(&client, "Tiltfile").get("(Tiltfile)").await.expect("it is there");
    let owner = |object: DynamicObject| {
        let owners = object.metadata.owner_references.unwrap_or_default();
        owners.into_iter().next().map(|owner| (owner.kind, owner.name, owner.uid))
    };
    let wanted =
        Some(("Tiltfile".to_owned(), "(Tiltfile)".to_owned(), tiltfile.metadata.uid.clone().expect("a uid")));
    for (kind, name) in [
        ("UIResource", "one"),
        ("UIResource", "(Tiltfile)"),
        ("Session", "Tiltfile"),
        ("ConfigMap", "one-disable"),
        ("ConfigMap", "declared"),
        ("Cmd", "one:update"),
        ("FileWatch", "local:one"),
        ("FileWatch", "configs:(Tiltfile)"),
    ] {
        let found =
            of(&client, kind).get(name).await.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
        assert_eq!(owner(found), wanted, "{kind} {name}");
    }
    let button = of(&client, "UIButton").get("toggle-one-disable").await.expect("it is there");
    assert_eq!(
        owner(button).map(|(kind, name, _)| (kind, name)),
        Some(("ToggleButton".into(), "one-disable".into()))
    );
    assert_eq!(owner(tiltfile), None);
    // Writing back what was read changes nothing.
    let maps = of(&client, "ConfigMap");
    let mut declared = maps.get("declared").await.expect("it is there");
    declared.data["data"]["a"] = json!("2");
    let written = maps.replace("declared", &Default::default(), &declared).await.expect("it is written");
    assert_eq!(owner(written), wanted);
    session.lilt.quit();
}
