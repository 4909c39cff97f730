//! Objects that act.

use lilt_testbed_env::eventually;
use serde_json::Value;

use crate::client::Session;

fn click(session: &Session, button: &str, at: &str, name: &str) {
    let status = format!(
        r#"{{"status":{{"lastClickedAt":"{at}","inputs":[{{"name":"WHO","text":{{"value":"{name}"}}}}]}}}}"#
    );
    session.kubectl(&["patch", "uibutton", button, "--subresource=status", "--type=merge", "-p", &status]);
}

fn running(session: &Session, command: &str) -> Option<u64> {
    session.get(&format!("cmd/{command}"))["status"]["running"]["pid"].as_u64()
}

#[test]
fn cmd_starts_on_button_click_and_stops_when_deleted() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    session.apply(
        "{apiVersion: tilt.dev/v1alpha1, kind: UIButton, metadata: {name: greet}, spec: {text: Greet,
          location: {componentID: one, componentType: Resource}, inputs: [{name: WHO, text: {}}]}}",
    );
    session.apply(
        "{apiVersion: tilt.dev/v1alpha1, kind: Cmd, metadata: {name: greeter, annotations: {tilt.dev/resource: one}},
          spec: {args: [sh, -c, 'echo hello $WHO; exec sleep 1000'], startOn: {uiButtons: [greet]}}}",
    );
    assert_eq!(running(&session, "greeter"), None);
    click(&session, "greet", "2026-01-01T00:00:00.000000Z", "you");
    session.lilt.wait_for_log_line("one", "hello you");
    let first = eventually("the command runs", || running(&session, "greeter"));
    click(&session, "greet", "2026-01-01T00:00:01.000000Z", "them");
    session.lilt.wait_for_log_line("one", "hello them");
    let second = eventually("another one runs", || running(&session, "greeter").filter(|pid| *pid != first));
    let runs = |pid: u64| lilt_e2e::processes::runs(i32::try_from(pid).expect("a pid"));
    assert!(!runs(first) && runs(second));
    session.kubectl(&["delete", "cmd", "greeter"]);
    eventually("it ends with its object", || (!runs(second)).then_some(()));
    session.lilt.quit();
}

#[test]
fn cmd_restarts_on_file_change_and_follows_disable_source() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n"), ("watched/a", "1")]);
    let apply = |disabled: bool| {
        session.apply(&format!(
            "{{apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, metadata: {{name: switch}}, data: {{paused: '{disabled}'}}}}"
        ))
    };
    apply(false);
    session.apply("{apiVersion: tilt.dev/v1alpha1, kind: FileWatch, metadata: {name: files}, spec: {watchedPaths: [watched]}}");
    session.apply(
        "{apiVersion: tilt.dev/v1alpha1, kind: Cmd, metadata: {name: reader},
          spec: {args: [cat, watched/a], restartOn: {fileWatches: [files]},
                 disableSource: {configMap: {name: switch, key: paused}}}}",
    );
    let status = |pointer: &str| -> Option<Value> { session.get("cmd/reader").pointer(pointer).cloned() };
    let first = eventually("it has run", || status("/status/terminated/startedAt"));
    eventually("the files are watched", || {
        session.get("fw/files")["status"]["monitorStartTime"].as_str().map(str::to_owned)
    });
    session.write("watched/a", "2");
    let again =
        eventually("it ran again", || status("/status/terminated/startedAt").filter(|at| *at != first));
    let events = session.get("fw/files")["status"]["fileEvents"].clone();
    assert!(events[0]["seenFiles"][0].as_str().is_some_and(|path| path.ends_with("watched/a")), "{events}");
    apply(true);
    eventually("it is switched off", || {
        status("/status/disableStatus/state").filter(|state| state == "Disabled")
    });
    assert_eq!(status("/status/terminated"), None);
    apply(false);
    eventually("it ran once more", || status("/status/terminated/startedAt").filter(|at| *at != again));
    session.lilt.quit();
}

#[test]
fn config_map_disables_resource_and_changes_tiltfile_args() {
    let tiltfile = "config.define_string('word')\nword = config.parse().get('word', 'none')\n\
                    local_resource('one', 'echo word ' + word, serve_cmd='exec sleep 1000')\n";
    let session = Session::start(&[("Tiltfile", tiltfile)]);
    session.lilt.wait_until_ready("one");
    let switch = |off: &str| {
        let data = format!(r#"{{"data":{{"isDisabled":"{off}"}}}}"#);
        session.kubectl(&["patch", "cm", "one-disable", "--type=merge", "-p", &data]);
    };
    switch("true");
    assert_eq!(session.get("uiresource/one")["status"]["disableStatus"]["state"], "Disabled");
    assert_eq!(session.get("cm/one-disable")["data"]["isDisabled"], "true");
    switch("false");
    session.lilt.wait_until_ready("one");
    let args = r#"{"spec":{"args":["--word=other"]}}"#;
    session.kubectl(&["patch", "tiltfile", "(Tiltfile)", "--type=merge", "-p", args]);
    session.lilt.wait_for_log_line("one", "word other");
    session.lilt.quit();
}
