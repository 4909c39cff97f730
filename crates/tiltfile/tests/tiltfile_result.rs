//! The JSON of a load, value for value what Tilt prints for the same project.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};

use lilt_model::Timestamp;
use lilt_tiltfile::{LoadRequest, Loaded, load, tiltfile_result};
use serde_json::{Value, json};
use support::Machine;

const STARTED: &str = "2026-11-15T19:51:53Z";

fn evaluate(tiltfile: PathBuf) -> Loaded {
    let request =
        LoadRequest { path: tiltfile, subcommand: "alpha tiltfile-result".into(), ..LoadRequest::default() };
    load(&request, &Machine::new().system, &|| false, &mut |_| {})
}

/// Returns the result, with `/project` in place of the project's folder.
fn result(directory: &Path) -> Value {
    let loaded = evaluate(directory.join("Tiltfile"));
    let started = Timestamp::from_rfc3339(STARTED).unwrap();
    let result = tiltfile_result(&loaded, started).unwrap();
    let text = serde_json::to_string(&result).unwrap();
    serde_json::from_str(&text.replace(&directory.display().to_string(), "/project")).unwrap()
}

fn result_of(text: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("Tiltfile"), text).unwrap();
    result(directory.path())
}

/// Finds the differences of two values, also in the order of fields.
fn differences(place: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().for_each(|(key, value)| differences(&format!("{place}/{key}"), value, &b[key], found));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len())
                .for_each(|index| differences(&format!("{place}/{index}"), &a[index], &b[index], found));
        }
        _ if ours == theirs && !ours.is_object() => {}
        _ => found.push(format!("{place}: {ours} instead of {theirs}")),
    }
}

#[test]
fn sample_result_equals_that_of_tilt() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tiltfile_result");
    let text = std::fs::read_to_string(directory.join("expected.json")).unwrap();
    let mut expected: Value = serde_json::from_str(&text).unwrap();
    // Tilt's YAML went through Go's types, which add empty fields; ours is as the user wrote it.
    let yaml = expected.pointer_mut("/Manifests/0/DeployTarget/yaml").unwrap();
    *yaml =
        yaml.as_str().unwrap().replace("  strategy: {}\n", "").replace("        resources: {}\n", "").into();
    let mut found = Vec::new();
    differences("", &result(&directory), &expected, &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn settings_are_in_the_result() {
    let result = result_of(
        "default_registry('localhost:5000', host_from_cluster='registry:5000', single_name='all')\n\
         update_settings(suppress_unused_image_warnings=['a'])\n\
         watch_settings(ignore=['b'])\n\
         docker_prune_settings(num_builds=3)\n\
         ci_settings(timeout='1h', k8s_grace_period='10s')\n\
         version_settings(check_updates=False)\n\
         analytics_settings(enable=False)\n\
         set_team('t')\n",
    );
    let expected =
        json!({"host": "localhost:5000", "hostFromContainerRuntime": "registry:5000", "singleName": "all"});
    assert_eq!(result["DefaultRegistry"], expected);
    assert_eq!(result["UpdateSettings"], json!({"SuppressUnusedImageWarnings": ["a"]}));
    let ignores = json!([{"LocalPath": "/project", "Source": "watch_settings()", "Patterns": ["b"]}]);
    assert_eq!(result["WatchSettings"], json!({"Ignores": ignores}));
    assert_eq!(result["Tiltignore"]["Patterns"], Value::Null);
    assert_eq!(result["DockerPruneSettings"]["NumBuilds"], 3);
    let ci = json!({"k8sGracePeriod": "10s", "timeout": "1h0m0s", "readinessTimeout": "5m0s"});
    assert_eq!(result["CISettings"], ci);
    assert_eq!(result["VersionSettings"], json!({"CheckUpdates": false}));
    assert_eq!(result["AnalyticsOpt"], 1);
    assert_eq!(result["TeamID"], "t");
    assert_eq!(result["Manifests"], Value::Null);
}

#[test]
fn global_ignore_rules_are_not_in_each_resource() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(".tiltignore"), "secret\n").unwrap();
    let text = "watch_settings(ignore='b')\nlocal_resource('a', 'true', deps='.', ignore='own')\n";
    std::fs::write(directory.path().join("Tiltfile"), text).unwrap();
    let result = result(directory.path());
    let tiltignore =
        json!({"LocalPath": "/project", "Source": "/project/.tiltignore", "Patterns": ["secret"]});
    assert_eq!(result["Tiltignore"], tiltignore);
    let own = json!([{"basePath": "/project", "patterns": ["own"]}]);
    assert_eq!(result["Manifests"][0]["DeployTarget"]["FileWatchIgnores"], own);
}

#[test]
fn loaded_files_change_only_the_hash_of_all_files() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("other"), "x = 1\n").unwrap();
    std::fs::write(directory.path().join("Tiltfile"), "load('other', 'x')\n").unwrap();
    let hashes = result(directory.path())["Hashes"].clone();
    assert_ne!(hashes["TiltfileSHA256"], hashes["AllFilesSHA256"]);
    assert_eq!(hashes["AllFilesSHA256"].as_str().map(str::len), Some(64));
}

#[test]
fn secret_values_are_not_in_the_result() {
    let result = result_of(
        "k8s_yaml(encode_yaml({'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'db'}, 'stringData': {'password': 'hunter2hunter2'}}))\n\
         local_resource('a', 'echo hunter2hunter2')\n",
    );
    assert!(!result.to_string().contains("hunter2"), "{result}");
    assert_eq!(result["Secrets"]["[redacted secret db:password]"]["Key"], "password");
}

#[test]
fn names_equal_to_a_secret_are_not_redacted() {
    let result = result_of(
        "k8s_yaml(blob(\"\"\"
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {user: postgres, name: somebody}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: postgres}
spec:
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec: {containers: [{name: postgres, image: postgres, args: [-U, postgres]}]}
\"\"\"))
k8s_resource('postgres', objects=['db:secret'], labels=['postgres'], port_forwards=[port_forward(5432, name='postgres')])
docker_build('postgres', '.', dockerfile_contents='FROM scratch', build_args={'USER': 'postgres'})
local_resource('after', 'psql postgres', dir='postgres', deps=['postgres'], resource_deps=['postgres'])
",
    );
    let redacted = "[redacted secret db:user]";
    assert_eq!(result["EnabledManifests"], json!(["postgres", "after"]));
    let manifest = &result["Manifests"][0];
    assert_eq!(
        (&manifest["Name"], &manifest["Labels"]),
        (&json!("postgres"), &json!({"postgres": "postgres"}))
    );
    assert_eq!(manifest["ImageTargets"][0]["selector"], "postgres");
    assert_eq!(manifest["ImageTargets"][0]["BuildDetails"]["args"], json!([format!("USER={redacted}")]));
    assert_eq!(manifest["DeployTarget"]["portForwardTemplateSpec"]["forwards"][0]["name"], "postgres");
    let yaml = manifest["DeployTarget"]["yaml"].as_str().unwrap();
    let objects: Vec<Value> = lilt_model::yaml::documents(yaml).unwrap();
    let kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let container = &kind("Deployment")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(kind("Deployment")["metadata"]["name"], "postgres");
    assert_eq!(kind("Deployment")["spec"]["selector"]["matchLabels"]["app"], "postgres");
    assert_eq!((&container["name"], &container["image"]), (&json!("postgres"), &json!("postgres")));
    assert_eq!(container["args"], json!(["-U", redacted]));
    for value in
        kind("Secret")["data"].as_object().into_iter().chain(kind("Secret")["stringData"].as_object())
    {
        assert!(
            value.values().all(|value| value.as_str().unwrap().starts_with("[redacted secret db:")),
            "{value:?}"
        );
    }
    let after = &result["Manifests"][1];
    assert_eq!(after["ResourceDependencies"], json!(["postgres"]));
    let target = &after["DeployTarget"];
    assert_eq!(
        (&target["UpdateCmdSpec"]["dir"], &target["Deps"]),
        (&json!("/project/postgres"), &json!(["/project/postgres"]))
    );
    assert!(target["UpdateCmdSpec"]["args"].to_string().contains(redacted), "{target}");
}

#[test]
fn failed_load_has_no_result() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("Tiltfile"), "fail('no')\n").unwrap();
    let loaded = evaluate(directory.path().join("Tiltfile"));
    let failure = tiltfile_result(&loaded, Timestamp::ZERO).unwrap_err();
    assert!(failure.to_string().contains("no"), "{failure}");
}
