//! Objects with controllers, created, changed and deleted at random: what they started ends with them.

use std::time::{Duration, Instant};

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use lilt_api::kinds::{Kind, kinds};
use lilt_e2e::seeded_random::SeededRandom;
use lilt_testbed_env::eventually;
use serde_json::{Value, json};

use crate::client::{Session, api, object};

const NAMES: usize = 4;

/// The kinds with controllers, and their specifications.
fn members(kind: &str, random: &mut SeededRandom) -> Value {
    let other = |prefix: &str, random: &mut SeededRandom| format!("{prefix}-{}", random.below(NAMES));
    match kind {
        "Cmd" => {
            let script =
                ["exec sleep 987", "setsid sleep 987 & exec sleep 987", "exit 3", "(sleep 987 &) ; true"];
            let script = script[random.below(4)];
            json!({"spec": {
                "args": ["sh", "-c", script],
                "restartOn": {"fileWatches": [other("filewatch", random)]},
                "startOn": (random.below(3) == 0).then(|| json!({"uiButtons": [other("uibutton", random)], "startAfter": "2020-01-01T00:00:00Z"})),
                "disableSource": {"configMap": {"name": other("configmap", random), "key": "off"}},
            }})
        }
        "FileWatch" => json!({"spec": {"watchedPaths": ["watched"]}}),
        "ConfigMap" => json!({"data": {"off": (random.below(3) == 0).to_string()}}),
        "UIButton" => {
            json!({"spec": {"text": "Press", "location": {"componentID": "one", "componentType": "Resource"}}})
        }
        "ToggleButton" => json!({"spec": {
            "location": {"componentID": "one", "componentType": "Resource"}, "on": {"text": "On"}, "off": {"text": "Off"},
            "stateSource": {"configMap": {"name": other("configmap", random), "key": "off", "onValue": "true", "offValue": "false"}},
        }}),
        other => panic!("{other}"),
    }
}

async fn step(all: &Api<DynamicObject>, kind: &Kind, random: &mut SeededRandom) {
    let name = format!("{}-{}", kind.name.to_lowercase(), random.below(NAMES));
    let mut members = members(kind.name, random);
    if let Some(spec) = members.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|_, value| !value.is_null());
    }
    let result = match random.below(4) {
        0 => all.delete(&name, &DeleteParams::default()).await.map(|_| ()),
        1 if kind.name == "UIButton" => {
            let at = format!("2026-01-01T00:00:{:02}.{:06}Z", random.below(60), random.below(1_000_000));
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

/// Runs for some seconds, or for `LILT_TEST_SECONDS`.
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
    let mut random = SeededRandom::new(0);
    let mut steps = 0;
    while Instant::now() < end || steps < 200 {
        // Commands are more frequent.
        let kind = acting[random.below(7).saturating_sub(2)];
        step(&api(&client, kind), kind, &mut random).await;
        if random.below(20) == 0 {
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
