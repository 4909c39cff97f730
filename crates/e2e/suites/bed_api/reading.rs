//! What is served.

use std::os::unix::fs::PermissionsExt as _;

use lilt_api::check::check;
use lilt_api::kinds::{Kind, kinds};
use serde_json::Value;

use crate::client::Session;

const TILTFILE: &str = "\
local_resource('one', 'true', serve_cmd='exec sleep 1000', deps=['a.txt'], labels=['front'])
local_resource('two', 'true', resource_deps=['one'])
v1alpha1.ui_button(name='press', text='Press', location=v1alpha1.ui_component_location('one', 'Resource'))
";

fn session() -> Session {
    let session = Session::start(&[("Tiltfile", TILTFILE), ("a.txt", "")]);
    session.lilt.wait_until_ready("two");
    session
}

#[test]
fn kubectl_finds_every_kind() {
    let session = session();
    let listed = session.kubectl(&["api-resources", "--no-headers", "-o", "name"]);
    let mut listed: Vec<&str> = listed.lines().map(|line| line.trim_end_matches(".tilt.dev")).collect();
    listed.sort_unstable();
    let mut known: Vec<&str> = kinds().all().iter().map(|kind| kind.plural).collect();
    known.sort_unstable();
    assert_eq!(listed, known);
    session.kubectl(&["get", &known.join(",")]);
    for kind in known {
        session.kubectl(&["explain", kind]);
    }
    assert!(session.kubectl(&["explain", "uibutton.spec.inputs"]).contains("choice"));
    session.lilt.quit();
}

#[test]
fn served_objects_have_only_fields_of_tilt() {
    let session = session();
    let all: Vec<&str> = kinds().all().iter().map(|kind| kind.plural).collect();
    let list = session.get(&all.join(","));
    let objects = list["items"].as_array().expect("a list");
    assert!(objects.len() > 5, "{list}");
    for object in objects {
        let is_its = |kind: &&Kind| object["kind"] == kind.name;
        let kind = kinds().all().iter().find(is_its).expect("what is served has a kind that is known");
        let violations = check(kind, object);
        assert!(violations.is_empty(), "{} {object}: {violations:?}", kind.name);
    }
    session.lilt.quit();
}

#[test]
fn ui_resources_and_session_report_state() {
    let session = session();
    let table = session.kubectl(&["get", "uiresources"]);
    let row = |name: &str| -> Vec<&str> {
        table.lines().find(|line| line.starts_with(name)).expect("a row").split_whitespace().take(3).collect()
    };
    assert_eq!(row("one"), ["one", "ok", "ok"]);
    assert_eq!(row("two"), ["two", "ok", "not_applicable"]);
    session.kubectl(&["wait", "--for=condition=Ready", "uiresource/one", "uiresource/two", "--timeout=30s"]);
    let targets = session.get("session/Tiltfile")["status"]["targets"].clone();
    let names: Vec<&str> =
        targets.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["tiltfile:update", "one:update", "one:serve", "two:update"]);
    assert_eq!(session.get("configmap/one-disable")["data"]["isDisabled"], "false");
    assert_eq!(session.get("uibutton/press")["spec"]["text"], "Press");
    session.lilt.quit();
}

#[test]
fn list_supports_selectors_and_pages() {
    let session = session();
    let names = |arguments: &[&str]| -> Vec<String> {
        let words: Vec<&str> =
            ["get", "uiresources", "-o", "name"].iter().chain(arguments).copied().collect();
        session
            .kubectl(&words)
            .lines()
            .map(|line| line.trim_start_matches("uiresource.tilt.dev/").to_owned())
            .collect()
    };
    assert_eq!(names(&["-l", "front"]), ["one"]);
    assert_eq!(names(&["--field-selector", "metadata.name=two"]), ["two"]);
    assert_eq!(names(&["--chunk-size", "1"]), ["(Tiltfile)", "one", "two"]);
    let page: Value = serde_json::from_str(&session.kubectl(&[
        "get",
        "--raw",
        "/apis/tilt.dev/v1alpha1/uiresources?limit=1",
    ]))
    .expect("JSON");
    assert_eq!(
        (page["items"].as_array().map(Vec::len), &page["metadata"]["remainingItemCount"]),
        (Some(1), &2.into())
    );
    session.lilt.quit();
}

#[test]
fn api_requires_credentials() {
    let session = session();
    let mode = std::fs::metadata(session.config()).expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let refused = session.try_kubectl(&["get", "uiresources", "--token=wrong"], "");
    assert!(
        refused.as_ref().is_err_and(|words| words.contains("Unauthorized") || words.contains("logged in")),
        "{refused:?}"
    );
    let config = session.config().clone();
    let context = session.context();
    assert!(std::fs::read_to_string(&config).expect("readable").contains(&context));
    let Session { lilt, .. } = session;
    lilt.quit();
    let left = std::fs::read_to_string(&config).unwrap_or_default();
    assert!(!left.contains(&context), "the entry goes with the session: {left}");
}
