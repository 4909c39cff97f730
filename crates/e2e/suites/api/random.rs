//! Objects that act, made, changed and deleted at random: what they started is gone with them.

use std::time::{Duration, Instant};

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use lilt_api::kinds::{Kind, kinds};
use lilt_e2e::chance::Chance;
use lilt_testbed_env::eventually;
use serde_json::{Value, json};

use crate::client::{Session, api, object};

const NAMES: usize = 4;

/// The kinds that act by themselves, with something to do.
fn members(kind: &str, chance: &mut Chance) -> Value {
    let other = |prefix: &str, chance: &mut Chance| format!("{prefix}-{}", chance.below(NAMES));
    match kind {
        "Cmd" => {
            let script =
                ["exec sleep 987", "setsid sleep 987 & exec sleep 987", "exit 3", "(sleep 987 &) ; true"];
            let script = script[chance.below(4)];
            json!({"spec": {
                "args": ["sh", "-c", script],
                "restartOn": {"fileWatches": [other("filewatch", chance)]},
                "startOn": (chance.below(3) == 0).then(|| json!({"uiButtons": [other("uibutton", chance)], "startAfter": "2020-01-01T00:00:00Z"})),
                "disableSource": {"configMap": {"name": other("configmap", chance), "key": "off"}},
            }})
        }
        "FileWatch" => json!({"spec": {"watchedPaths": ["watched"]}}),
        "ConfigMap" => json!({"data": {"off": (chance.below(3) == 0).to_string()}}),
        "UIButton" => {
            json!({"spec": {"text": "Press", "location": {"componentID": "one", "componentType": "Resource"}}})
        }
        "ToggleButton" => json!({"spec": {
            "location": {"componentID": "one", "componentType": "Resource"}, "on": {"text": "On"}, "off": {"text": "Off"},
            "stateSource": {"configMap": {"name": other("configmap", chance), "key": "off", "onValue": "true", "offValue": "false"}},
        }}),
        other => panic!("{other}"),
    }
}

async fn step(all: &Api<DynamicObject>, kind: &Kind, chance: &mut Chance) {
    let name = format!("{}-{}", kind.name.to_lowercase(), chance.below(NAMES));
    let mut members = members(kind.name, chance);
    if let Some(spec) = members.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|_, value| !value.is_null());
    }
    let result = match chance.below(4) {
        0 => all.delete(&name, &DeleteParams::default()).await.map(|_| ()),
        1 if kind.name == "UIButton" => {
            let at = format!("2026-01-01T00:00:{:02}.{:06}Z", chance.below(60), chance.below(1_000_000));
            let click = json!({"status": {"lastClickedAt": at}});
            all.patch_status(&name, &PatchParams::default(), &Patch::Merge(&click)).await.map(|_| ())
        }
        1 | 2 => all.patch(&name, &PatchParams::default(), &Patch::Merge(&members)).await.map(|_| ()),
        _ => all.create(&PostParams::default(), &object(kind, &name, &members)).await.map(|_| ()),
    };
    match result {
        Ok(()) => {}
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
        Err(error) => panic!("{} {name}: {error}", kind.name),
    }
}

/// For some seconds, or as many as `LILT_TEST_SECONDS` says.
fn time() -> Duration {
    let seconds = std::env::var("LILT_TEST_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(6))
}

#[tokio::test]
async fn what_objects_started_is_gone_with_them() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n"), ("watched/file", "0")]);
    let client = session.client().await;
    let acting = ["cmds", "filewatches", "configmaps", "uibuttons", "togglebuttons"];
    let acting = acting.map(|plural| kinds().with_plural(plural).expect("a kind"));
    let end = Instant::now() + time();
    let mut chance = Chance::new(0);
    let mut steps = 0;
    while Instant::now() < end || steps < 200 {
        // Commands more often than the others.
        let kind = acting[chance.below(7).saturating_sub(2)];
        step(&api(&client, kind), kind, &mut chance).await;
        if chance.below(20) == 0 {
            session.project.write("watched/file", &steps.to_string());
        }
        steps += 1;
    }
    for kind in acting {
        let all = api(&client, kind);
        for found in all.list(&ListParams::default()).await.expect("a list") {
            let name = found.metadata.name.unwrap_or_default();
            if name.starts_with(&format!("{}-", kind.name.to_lowercase())) {
                all.delete(&name, &DeleteParams::default()).await.expect("a deletion");
            }
        }
    }
    eventually("nothing that was started is left", || session.lilt.processes().is_empty().then_some(()));
    session.lilt.quit();
}
