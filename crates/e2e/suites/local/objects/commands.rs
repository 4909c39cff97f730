//! `Cmd`, and what starts and stops it.

use std::net::TcpListener;

use lilt_testbed_env::free_port;
use serde_json::{Value, json};

use super::client::{Session, button};

const ONE: (&str, &str) = ("Tiltfile", "local_resource('one', 'true')\n");

#[test]
fn cmd_is_ready_when_probe_succeeds() {
    let session = Session::start(&[ONE]);
    let port = free_port();
    let serve = |probe: Value| {
        json!({"metadata": {"annotations": {"tilt.dev/resource": "one"}},
            "spec": {"args": ["sleep", "1000"], "readinessProbe": probe}})
    };
    session.create("cmds", "tcp", serve(json!({"tcpSocket": {"port": port}, "periodSeconds": 1})));
    session.create(
        "cmds",
        "exec",
        serve(json!({"exec": {"command": ["test", "-e", "ready"]}, "periodSeconds": 1})),
    );
    session.create("cmds", "bad", serve(json!({"httpGet": {"port": 99999}})));
    let runs = |it: &Value| it["status"]["running"]["pid"].as_i64().is_some_and(|pid| pid > 0);
    for name in ["cmds/tcp", "cmds/exec"] {
        let found = session.wait(name, "runs", runs);
        assert_eq!(found["status"]["ready"], Value::Null, "{name}");
    }
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    session.project.write("ready", "");
    for name in ["cmds/tcp", "cmds/exec"] {
        session.wait(name, "is ready", |it| runs(it) && it["status"]["ready"] == true);
    }
    drop(listener);
    session.project.remove("ready");
    session.lilt.wait_for_line("[readiness probe: failure]");
    session.wait("cmds/exec", "is ready no longer", |it| it["status"]["ready"] != true);
    let bad = session.wait("cmds/bad", "has ended", |it| it["status"]["terminated"]["exitCode"] == 1);
    assert_eq!(
        bad["status"]["terminated"]["reason"],
        "Invalid readiness probe: port number out of range: 99999"
    );
    session.lilt.quit();
}

#[test]
fn button_inputs_reach_the_command() {
    let session = Session::start(&[ONE]);
    let inputs = json!([
        {"name": "TEXT", "label": "Text", "text": {"defaultValue": "x"}},
        {"name": "BOOL", "bool": {"trueString": "yes", "falseString": "no"}},
        {"name": "HIDDEN", "hidden": {"value": "secret"}},
        {"name": "CHOICE", "choice": {"choices": ["a", "b"]}},
    ]);
    session.create("uibuttons", "go", button(inputs));
    session.create(
        "cmds",
        "say",
        json!({"metadata": {"annotations": {"tilt.dev/resource": "one"}},
            "spec": {"args": ["sh", "-c", "echo $TEXT $BOOL $HIDDEN $CHOICE"], "startOn": {"uiButtons": ["go"]}}}),
    );
    let waiting = session.get("cmds/say")["status"]["waiting"]["reason"].clone();
    assert_eq!(waiting, "cmd StartOn has not been triggered");
    let entered = json!([
        {"name": "TEXT", "text": {"value": "hello"}},
        {"name": "BOOL", "bool": {"value": true}},
        {"name": "HIDDEN", "hidden": {"value": "inside"}},
        {"name": "CHOICE", "choice": {"value": "b"}},
    ]);
    session.click("go", "2026-01-01T00:00:00.000000Z", entered);
    session.lilt.wait_for_log_line("one", "hello yes inside b");
    session.wait("cmds/say", "has ended", |it| it["status"]["terminated"]["exitCode"] == 0);
    session.lilt.quit();
}

#[test]
fn cmd_restarts_when_resource_files_change() {
    let tiltfile = "local_resource('one', 'true', deps=['src'])\n";
    let session = Session::start(&[("Tiltfile", tiltfile), ("src/a", "1")]);
    let content = json!({"metadata": {"annotations": {"tilt.dev/resource": "one"}},
        "spec": {"args": ["sh", "-c", "echo read $(cat src/a)"], "restartOn": {"fileWatches": ["local:one"]}}});
    session.create("cmds", "reader", content);
    session.lilt.wait_for_log_line("one", "read 1");
    session.wait("filewatches/local:one", "watches", |it| it["status"]["monitorStartTime"].is_string());
    session.project.write("src/a", "2");
    session.lilt.wait_for_log_line("one", "read 2");
    let events = session.get("filewatches/local:one")["status"]["fileEvents"].clone();
    assert!(events[0]["seenFiles"][0].as_str().is_some_and(|path| path.ends_with("src/a")), "{events}");
    session.lilt.quit();
}
