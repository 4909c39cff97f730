//! Decisions of the engine, seen from outside: disabling, cancelling, holds, restarts, timelines.

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::page::{get, post};
use lilt_e2e::processes::runs;
use lilt_testbed_env::Project;
use serde_json::{Value, json};

fn ask(lilt: &Lilt, request: &Value) {
    let (status, words) = post(lilt.port(), "/api/request", request);
    assert_eq!(status, 200, "{words}");
}

fn pid(resource: &Value) -> i32 {
    let pid = resource["status"]["localResourceInfo"]["pid"].as_i64().unwrap_or(0);
    i32::try_from(pid).expect("process ids are small")
}

fn is_disabled(resource: &Value) -> bool {
    resource["status"]["disableStatus"]["state"] == "Disabled"
}

#[test]
fn disabled_resource_is_shown_and_can_be_enabled() {
    let project = Project::new(&[(
        "Tiltfile",
        "config.set_enabled_resources(['a'])\n\
         local_resource('a', 'echo a')\n\
         local_resource('web', serve_cmd='echo up; exec sleep 987', links=['http://localhost:1234'])\n",
    )]);
    let lilt = Start::up(&project).start();
    lilt.wait_until_ready("a");
    let web = lilt.wait_until("web", "is disabled", is_disabled);
    assert_eq!(web["status"]["disableStatus"]["sources"][0]["configMap"]["name"], "web-disable");
    assert_eq!(
        (&web["status"]["updateStatus"], &web["status"]["runtimeStatus"]),
        (&json!("none"), &json!("none"))
    );
    assert_eq!(web["status"]["endpointLinks"], Value::Null);

    ask(&lilt, &json!({"type": "switch", "enable": ["web"], "disable": []}));
    lilt.wait_for_log_line("web", "up");
    let server = pid(&lilt.wait_until_ready("web"));
    assert!(runs(server));
    // A reload that changes nothing about it leaves it as it is.
    project.write("Tiltfile", &(project.read("Tiltfile") + "print('again')\n"));
    lilt.wait_for_line("again");
    lilt.wait_for_line("Successfully loaded Tiltfile");
    assert_eq!(pid(&lilt.wait_until_ready("web")), server);

    ask(&lilt, &json!({"type": "switch", "enable": [], "disable": ["web", "a"]}));
    lilt.wait_until("web", "is disabled", is_disabled);
    lilt_testbed_env::eventually("its server is gone", || (!runs(server)).then_some(()));
    lilt.has_lines("web │ up", 1);
    lilt.quit();
}

#[test]
fn arguments_select_enabled_resources() {
    let project =
        Project::new(&[("Tiltfile", "local_resource('a', 'echo a')\nlocal_resource('b', 'echo b')\n")]);
    let lilt = Start::up(&project).argument("--").argument("a").start();
    lilt.wait_until_ready("a");
    lilt.wait_until("b", "is disabled", is_disabled);
    let (status, words) = post(lilt.port(), "/api/set_tiltfile_args", &json!(["b"]));
    assert_eq!(status, 200, "{words}");
    lilt.wait_for_line("Tiltfile Args Changed: [b]");
    lilt.wait_until_ready("b");
    lilt.wait_until("a", "is disabled", is_disabled);
    lilt.quit();
}

#[test]
fn update_can_be_cancelled() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "local_resource('slow', 'cat x; exec sleep 987', deps=['x'])\nlocal_resource('next', 'true')\n",
        ),
        ("x", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("slow", "one");
    ask(&lilt, &json!({"type": "cancel", "resource": "slow"}));
    lilt.wait_for_log_line("slow", "ERROR: Build Failed: build canceled");
    lilt.wait_until("slow", "is shown as cancelled", |it| {
        it["status"]["updateStatus"] == "error"
            && it["status"]["buildHistory"][0]["error"] == "build canceled"
    });
    lilt.wait_until_ready("next");
    project.write("x", "two\n");
    lilt.wait_for_log_line("slow", "two");
    lilt.quit();
}

#[test]
fn command_that_writes_watched_files_is_held() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('gen', 'mkdir -p src && date +%N > src/out.txt && echo ran', deps=['src'])\n",
    )]);
    let lilt = Start::up(&project).start();
    let hold = "gen │ WARNING: held: 8 updates in a row changed files that it watches (src/out.txt); name them in \
                ignore=[…], then trigger it or save another file";
    lilt.wait_for_line(hold);
    let output_end = lilt.output_end();
    project.write("src/other.txt", "somebody is at work\n");
    lilt.wait_for_log_line_after(output_end, "gen", "ran");
    lilt.quit();
}

#[test]
fn local_resource_restart_restarts_server() {
    let project =
        Project::new(&[("Tiltfile", "local_resource('web', serve_cmd='echo up; exit 5', restart=True)\n")]);
    let lilt = Start::up(&project).start();
    lilt.has_lines("web │ up", 2);
    lilt.quit();
}

#[test]
fn removed_variables_cause_a_warning() {
    let project = Project::new(&[("Tiltfile", "")]);
    let ended = Start::ci(&project)
        .variable("LILT_DRIFT", "correct")
        .variable("LILT_WATCH", "poll")
        .run()
        .expect_clean_exit(0);
    ended
        .expect_output("warning: LILT_DRIFT is no longer read: use update_settings(drift='correct')")
        .expect_output("warning: LILT_WATCH is no longer read: use --watch-mode");
}

#[test]
fn exited_server_is_not_restarted() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('web', serve_cmd='echo up; kill -9 $$')\nlocal_resource('later', 'sleep 2', resource_deps=['web'])\n",
    )]);
    let lilt = Start::up(&project).start();
    lilt.wait_until("web", "has ended", |it| {
        let words = it["metadata"]["annotations"]["lilt.dev/runtime-message"].as_str().unwrap_or_default();
        it["status"]["runtimeStatus"] == "error" && words.starts_with("server was ended by signal 9, SIGKILL")
    });
    lilt.has_lines("web │ up", 1);
    lilt.quit();
}

#[test]
fn local_resource_cascade_updates_dependent() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "local_resource('lib', 'cat x', deps=['x'])\n\
             local_resource('app', 'echo built', resource_deps=['lib'], cascade=True)\n",
        ),
        ("x", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("app", "built");
    lilt.wait_until_ready("app");
    project.write("x", "two\n");
    lilt.wait_for_log_line("app", "Dependencies Updated: [lib]");
    lilt.quit();
}

#[test]
fn timeline_and_engine_dump_are_served() {
    let project =
        Project::new(&[("Tiltfile", "local_resource('a', 'true')\nlocal_resource('b', 'exit 3')\n")]);
    let lilt = Start::up(&project).start();
    lilt.wait_until("b", "has failed", |it| it["status"]["updateStatus"] == "error");
    let answer = get(lilt.port(), "/api/timeline?resource=b").expect("it answers");
    let timeline: Value = serde_json::from_str(&answer).expect("it is JSON");
    let update = &timeline["resources"][0]["updates"][0];
    assert_eq!((&update["cause"], &update["outcome"]), (&json!("Initial Build"), &json!("failed")));
    let stages: Vec<&str> = update["stages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|stage| stage["stage"].as_str())
        .collect();
    assert_eq!(stages.last(), Some(&"run"), "{update}");
    assert!(get(lilt.port(), "/api/timeline?resource=nobody").is_none());

    let port = lilt.port().to_string();
    let shown = Start::new(&project, &["timeline", "b", "--port", &port]).run().expect_clean_exit(0).stdout();
    assert!(shown.contains("b: Initial Build (failed, "), "{shown}");
    assert!(shown.contains("run exit 3"), "{shown}");

    let engine: Value =
        serde_json::from_str(&get(lilt.port(), "/api/dump/engine").expect("it answers")).expect("it is JSON");
    assert_eq!(engine["resources"]["b"]["history"][0]["failure"]["kind"], "user");
    lilt.quit();
}

/// A replay of a recording results in the same objects, and the recording contains no secrets.
#[test]
fn recorded_session_can_be_replayed() {
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2hunter2}\n";
    let project = Project::new(&[
        (
            "Tiltfile",
            "local_resource('a', 'echo hello', deps=['x'])\nlocal_resource('b', 'exit 3', resource_deps=['a'])\n\
             local_resource('c', serve_cmd='exec sleep 987')\nk8s_yaml('secret.yaml')\n\
             config.set_enabled_resources(['a', 'b', 'c'])\n",
        ),
        ("x", ""),
        ("secret.yaml", secret),
    ]);
    let lilt = Start::up(&project).argument("--record=record.jsonl").start();
    lilt.wait_until("b", "has failed", |it| it["status"]["updateStatus"] == "error");
    lilt.wait_until_ready("c");
    let names = ["(Tiltfile)", "a", "b", "c"];
    let shown: Vec<Value> = names.iter().map(|name| lilt.wait_until(name, "is shown", |_| true)).collect();
    let text = project.read("record.jsonl");
    assert!(!text.contains("hunter2hunter2") && text.contains("[redacted secret s:password]"), "{text}");
    let replayed = Start::new(&project, &["replay", "record.jsonl"]).run().expect_clean_exit(0).stdout();
    let replayed: Value = serde_json::from_str(&replayed).expect("it is JSON");
    let resources = replayed["uiResources"].as_array().expect("a list");
    for (name, shown) in names.iter().zip(shown) {
        let found = resources.iter().find(|it| it["metadata"]["name"] == *name).expect("it is there");
        assert_eq!(*found, shown, "{name}");
    }
    lilt.quit();
}

#[test]
fn ci_waits_for_servers_but_not_for_manual_resources() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('web', serve_cmd='exec sleep 987')\n\
         local_resource('by-hand', serve_cmd='false', auto_init=False)\n",
    )]);
    Start::ci(&project).run().expect_clean_exit(0).expect_output("SUCCESS. All workloads are healthy.");
    // A server that exits within a second was never ready.
    project.write("Tiltfile", "local_resource('web', serve_cmd='sleep 0.3; echo gave up; exit 4')\n");
    Start::ci(&project).run().expect_clean_exit(1).expect_output("Error: web: server exited with code 4");
}

#[test]
fn ci_settings_timeout_limits_ci() {
    let project = Project::new(&[(
        "Tiltfile",
        "ci_settings(timeout='300ms')\nlocal_resource('slow', 'exec sleep 987')\n\
         local_resource('next', 'true', resource_deps=['slow'])\n",
    )]);
    let ended = Start::ci(&project).run().expect_clean_exit(1);
    ended
        .expect_output("Timeout after 300ms: 2 resources were not ready")
        .expect_output("  next: waiting for slow")
        .expect_output("  slow: updating: run exec sleep 987");
}
