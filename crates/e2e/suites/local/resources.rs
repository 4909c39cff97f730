//! Local resources in `lilt up`.

use std::path::Path;

use lilt_e2e::lilt::Start;
use lilt_e2e::page::post;
use lilt_e2e::processes::runs;
use lilt_testbed_env::{Project, eventually};
use serde_json::json;

fn pid(resource: &serde_json::Value) -> i32 {
    let pid = resource["status"]["localResourceInfo"]["pid"].as_i64().unwrap_or(0);
    i32::try_from(pid).expect("process ids are small")
}

/// Times and folders differ from run to run.
fn normalized(output: &str, project: &Project) -> String {
    let folder = project.path().display().to_string();
    let mut lines = Vec::new();
    for line in output.lines() {
        lines.push(match line.split_once("Successfully loaded Tiltfile (") {
            Some((before, _)) => format!("{before}Successfully loaded Tiltfile (TIME)"),
            None => line.replace(&folder, "FOLDER"),
        });
    }
    lines.join("\n")
}

/// The whole of it: prefixes, headlines and order are what scripts match.
#[test]
fn stream_has_the_format_scripts_match() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "print('hello from tiltfile')\n\
             local_resource('loc', 'cat x.txt', deps=['x.txt'])\n\
             local_resource('thirteenchars', 'echo exact', resource_deps=['loc'])\n\
             local_resource('web-with-a-very-long-name', 'echo long; exit 3', resource_deps=['thirteenchars'])\n",
        ),
        ("x.txt", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    let failed = "web-with-a-v… │ ERROR: Build Failed: Command \"echo long; exit 3\" failed: exit status 3";
    lilt.wait_for_line(failed);
    let output_end = lilt.output_end();
    project.write("x.txt", "two\n");
    lilt.wait_for_log_line_after(output_end, "loc", "two");

    let expected = format!(
        "Initial Build\n\
         Loading Tiltfile at: FOLDER/Tiltfile\n\
         hello from tiltfile\n\
         Successfully loaded Tiltfile (TIME)\n\
        \u{20}         loc │ \n\
        \u{20}         loc │ Initial Build\n\
        \u{20}         loc │ Running cmd: cat x.txt\n\
        \u{20}         loc │ one\n\
         thirteenchars │ \n\
         thirteenchars │ Initial Build\n\
         thirteenchars │ Running cmd: echo exact\n\
         thirteenchars │ exact\n\
         web-with-a-v… │ \n\
         web-with-a-v… │ Initial Build\n\
         web-with-a-v… │ Running cmd: echo long; exit 3\n\
         web-with-a-v… │ long\n\
         {failed}\n\
        \u{20}         loc │ \n\
        \u{20}         loc │ 1 File Changed: [x.txt]\n\
        \u{20}         loc │ Running cmd: cat x.txt\n\
        \u{20}         loc │ two"
    );
    let printed = normalized(&lilt.output(), &project);
    let (greeting, story) = printed.split_once("\n\n").expect("an empty line after the greeting");
    assert_eq!(story, expected);
    let greeting: Vec<&str> = greeting.lines().collect();
    assert_eq!(greeting[0], format!("Tilt started on http://localhost:{}/", lilt.port()));
    assert_eq!(greeting.len(), 2, "{greeting:?}");
    lilt.quit();
}

#[test]
fn command_reruns_when_files_are_added_changed_or_removed() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "local_resource('list', 'ls -R in; cat in/first in/deep/second || true', deps=['in'], ignore=['in/ignored'])\n",
        ),
        ("in/first", "1\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_until_ready("list");
    let update = |file: &str, change: &dyn Fn()| {
        let output_end = lilt.output_end();
        change();
        lilt.wait_for_log_line_after(output_end, "list", &format!("1 File Changed: [in/{file}]"));
        lilt.wait_until_ready("list");
    };
    update("deep/second", &|| project.write("in/deep/second", "2\n"));
    update("first", &|| project.write("in/first", "one\n"));
    lilt.wait_for_log_line("list", "one");
    update("first", &|| project.remove("in/first"));
    lilt.has_lines("list │ Running cmd:", 4);
    project.write("in/ignored", "x");
    update("last", &|| project.write("in/last", "x"));
    // The ignored file runs nothing.
    lilt.has_lines("list │ Running cmd:", 5);
    lilt.quit();
}

#[test]
fn dependents_wait_for_dependencies() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('first', 'until test -e go; do sleep 0.02; done; echo first is done')\n\
         local_resource('server', serve_cmd='echo serving; exec sleep 987', resource_deps=['first'])\n\
         local_resource('last', 'echo last', resource_deps=['server'])\n",
    )]);
    let lilt = Start::up(&project).start();
    lilt.wait_until("first", "is running", |it| it["status"]["updateStatus"] == "in_progress");
    for (name, on) in [("server", "first"), ("last", "server")] {
        lilt.wait_until(name, "says what it waits for", |it| {
            it["status"]["waiting"]["reason"] == "waiting-for-dep"
                && it["status"]["waiting"]["on"][0]["name"] == on
        });
    }
    project.write("go", "");
    lilt.wait_for_log_line("last", "last");
    let printed = lilt.output();
    let at = |words: &str| printed.find(words).unwrap_or_else(|| panic!("no {words:?} in:\n{printed}"));
    assert!(at("first is done") < at("server │ Initial Build"), "{printed}");
    assert!(at("Running cmd: echo serving") < at("last │ Initial Build"), "{printed}");
    lilt.quit();
}

#[test]
fn server_restarts_when_files_change() {
    let project = Project::new(&[
        ("Tiltfile", "local_resource('server', serve_cmd='cat text; exec sleep 987', deps=['text'])\n"),
        ("text", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("server", "one");
    let first = pid(&lilt.wait_until_ready("server"));
    assert!(runs(first) && lilt.processes().contains(&first));
    project.write("text", "two\n");
    lilt.wait_for_log_line("server", "two");
    let second = pid(&lilt.wait_until("server", "has another process", |it| ![0, first].contains(&pid(it))));
    assert!(runs(second) && !runs(first), "one ends before the next begins");
    lilt.quit();
}

#[test]
fn exited_server_is_an_error_until_triggered() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('server', serve_cmd='echo up; until test -e end; do sleep 0.02; done; exit 3')\n",
    )]);
    let lilt = Start::up(&project).start();
    lilt.wait_until_ready("server");
    project.write("end", "");
    lilt.wait_for_log_line("server", "ERROR: server exited: exit status 3");
    lilt.wait_until("server", "is broken", |it| it["status"]["runtimeStatus"] == "error");
    project.remove("end");
    let output_end = lilt.output_end();
    lilt.click("server");
    lilt.wait_for_log_line_after(output_end, "server", "up");
    lilt.wait_until_ready("server");
    lilt.quit();
}

#[test]
fn trigger_works_over_api_and_page() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('by-hand', 'echo pressed', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)\n\
         local_resource('other', 'echo other')\n",
    )]);
    let lilt = Start::up(&project).start();
    lilt.wait_until_ready("other");
    lilt.wait_until("by-hand", "waits for a trigger", |it| {
        it["metadata"]["annotations"]["lilt.dev/hold"] == "waiting for a trigger"
            && it["status"]["updateStatus"] == "none"
    });
    let trigger = |name: &str| {
        let body = json!({"manifest_names": [name], "build_reason": 16});
        post(lilt.port(), "/api/trigger", &body)
    };
    assert_eq!(trigger("by-hand").0, 200);
    lilt.wait_for_log_line("by-hand", "pressed");
    lilt.wait_until_ready("by-hand");
    let output_end = lilt.output_end();
    lilt.click("by-hand");
    lilt.wait_for_log_line_after(output_end, "by-hand", "pressed");

    let (status, words) = trigger("nobody");
    assert_eq!((status, words.as_str()), (404, "there is no resource named \"nobody\"\n"));
    lilt.has_lines("by-hand │ pressed", 2);
    lilt.has_lines("other │ other", 1);
    lilt.quit();
}

#[test]
fn manual_resource_collects_changes_until_triggered() {
    let project = Project::new(&[
        ("Tiltfile", "local_resource('by-hand', 'cat x', deps=['x'], trigger_mode=TRIGGER_MODE_MANUAL)\n"),
        ("x", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("by-hand", "one");
    lilt.wait_until_ready("by-hand");
    project.write("x", "two\n");
    lilt.wait_until("by-hand", "has pending changes", |it| it["status"]["hasPendingChanges"] == true);
    lilt.has_lines("Running cmd:", 1);
    lilt.click("by-hand");
    lilt.wait_for_log_line("by-hand", "two");
    lilt.wait_until("by-hand", "is up to date", |it| it["status"]["hasPendingChanges"] != true);
    lilt.quit();
}

#[test]
fn changes_during_update_are_not_lost() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "local_resource('slow', 'cat x; echo begun; until test -e go; do sleep 0.02; done', deps=['x'])\n",
        ),
        ("x", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("slow", "begun");
    project.write("x", "two\n");
    lilt.wait_until("slow", "has pending changes", |it| it["status"]["hasPendingChanges"] == true);
    lilt.has_lines("slow │ begun", 1);
    project.write("go", "");
    lilt.wait_for_log_line("slow", "1 File Changed: [x]");
    lilt.wait_for_log_line("slow", "two");
    lilt.quit();
}

#[test]
fn failed_command_shows_cause_and_next_save_recovers() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "local_resource('check', 'grep good text || { echo no good >&2; exit 7; }', deps=['text'])\n\
             local_resource('after', 'echo after', resource_deps=['check'])\n\
             local_resource('other', 'echo other')\n\
             local_resource('missing', ['no-such-program', 'x'])\n",
        ),
        ("text", "bad\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("check", "no good");
    let failure = lilt.wait_for_line("check │ ERROR: Build Failed: Command ");
    assert!(failure.ends_with("failed: exit status 7"), "{failure}");
    lilt.wait_for_log_line("missing", "ERROR: Build Failed: the program `no-such-program` was not found");
    lilt.wait_for_line("missing │ hint: it is in none of the folders of PATH");
    lilt.wait_until("check", "has failed", |it| {
        let error = it["status"]["buildHistory"][0]["error"].as_str().unwrap_or_default();
        it["status"]["updateStatus"] == "error" && error.contains("exit status 7")
    });
    lilt.wait_until_ready("other");
    lilt.has_lines("after │ Initial Build", 0);

    project.write("text", "good\n");
    lilt.wait_for_log_line("check", "good");
    lilt.wait_until_ready("check");
    lilt.wait_for_log_line("after", "after");
    lilt.has_lines("other │ Running cmd:", 1);
    lilt.quit();
}

#[test]
fn commands_get_session_variables_and_directory() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "local_resource('env', 'echo $TILT_HOST $TILT_PORT $MINE; pwd', dir='sub', env={'MINE': 'yes'})\n",
        ),
        ("sub/x", ""),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("env", &format!("localhost {} yes", lilt.port()));
    lilt.wait_for_log_line("env", &project.file("sub").display().to_string());
    lilt.quit();
}

#[test]
fn page_is_served_on_loopback_only() {
    let project = Project::new(&[("Tiltfile", "local_resource('a', 'true')")]);
    let lilt = Start::up(&project).start();
    lilt.wait_until_ready("a");
    let port = lilt.port();
    // Every listening socket of lilt is on the loopback address.
    let sockets = eventually("the kernel lists the socket", || {
        let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
        let ours: Vec<String> = table
            .lines()
            .filter(|line| line.contains(&format!(":{port:04X} 00000000:0000 0A")))
            .map(String::from)
            .collect();
        (!ours.is_empty()).then_some(ours)
    });
    assert!(sockets.iter().all(|socket| socket.contains(" 0100007F:")), "{sockets:?}");
    lilt.quit();
}

#[test]
fn own_output_in_watched_folder_is_no_change() {
    let project = Project::new(&[
        ("Tiltfile", "local_resource('all', 'cat word', deps=['.'])\n"),
        ("word", "one"),
        ("up.log", ""),
    ]);
    let command = format!("exec {} up --stream --port random 2>up.log", env!("CARGO_BIN_EXE_lilt"));
    let lilt = Start::program(Path::new("/bin/sh"), &project, &["-c", &command]).start();
    lilt.wait_until_ready("all");
    project.write("up.log", "a line\n");
    project.write("word", "two");
    lilt.wait_for_log_line("all", "two");
    lilt.wait_until_ready("all");
    lilt.has_lines("all │ 1 File Changed: [word]", 1);
    lilt.has_lines("up.log", 0);
    lilt.quit();
}
