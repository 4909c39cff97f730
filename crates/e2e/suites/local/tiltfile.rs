//! Changes of the Tiltfile, and invalid ones.

use std::fs;

use lilt_e2e::lilt::Start;
use lilt_e2e::processes::runs;
use lilt_testbed_env::{Project, eventually};
use serde_json::Value;

const TILTFILE: &str = "(Tiltfile)";

fn pid(resource: &Value) -> i32 {
    let pid = resource["status"]["localResourceInfo"]["pid"].as_i64().unwrap_or(0);
    i32::try_from(pid).expect("process ids are small")
}

fn has_failed(tiltfile: &Value) -> bool {
    tiltfile["status"]["updateStatus"] == "error"
}

#[test]
fn tiltfile_edit_updates_only_changed_resources() {
    let server = |name: &str, text: &str| {
        format!("local_resource('{name}', serve_cmd='echo {text}; exec sleep 987')\n")
    };
    let once = "local_resource('once', 'echo once')\n";
    let before = format!("{once}{}{}{}", server("keeps", "k"), server("changes", "one"), server("goes", "g"));
    let project = Project::new(&[("Tiltfile", &before)]);
    let lilt = Start::up(&project).start();
    let keeps = pid(&lilt.wait_until_ready("keeps"));
    let changes = pid(&lilt.wait_until_ready("changes"));
    let goes = pid(&lilt.wait_until_ready("goes"));
    assert!(runs(keeps) && runs(changes) && runs(goes));

    let after = format!("{}{}{once}{}", server("comes", "c"), server("changes", "two"), server("keeps", "k"));
    project.write("Tiltfile", &after);
    lilt.wait_for_line("1 File Changed: [Tiltfile]");
    lilt.wait_until_ready("comes");
    lilt.wait_for_log_line("changes", "two");
    let changed =
        pid(&lilt.wait_until("changes", "has another process", |it| ![0, changes].contains(&pid(it))));
    eventually("the one that is no longer named has ended", || (!runs(goes)).then_some(()));
    assert!(runs(changed) && !runs(changes));
    assert_eq!(pid(&lilt.wait_until_ready("keeps")), keeps, "the unchanged one goes on");
    assert!(runs(keeps));
    lilt.has_lines("keeps │ Running cmd:", 1);
    lilt.has_lines("once │ Running cmd:", 1);

    // It would be on a page that is opened now, if it were there.
    project.write("Tiltfile", &format!("{after}local_resource('goes', 'echo back')\n"));
    lilt.wait_for_log_line("goes", "back");
    lilt.quit();
}

#[test]
fn tiltfile_that_was_a_directory_is_reloaded() {
    let text = |word: &str| format!("print('loaded {word}')\nread_file('settings')\n");
    let project = Project::new(&[("Tiltfile", &text("one")), ("settings", "")]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_line("loaded one");
    let tiltfile = project.file("Tiltfile");
    for word in ["two", "three"] {
        let output_end = lilt.output_end();
        fs::remove_file(&tiltfile).expect("it is a file");
        fs::create_dir(&tiltfile).expect("nothing is there");
        lilt.wait_for_line_after(output_end, "Tiltfile is a directory, not a file");
        lilt.wait_until(TILTFILE, "has failed", has_failed);
        fs::remove_dir(&tiltfile).expect("it is empty");
        fs::write(&tiltfile, text(word)).expect("nothing is there");
        lilt.wait_for_line_after(output_end, &format!("loaded {word}"));
        lilt.wait_until(TILTFILE, "is loaded", |it| it["status"]["updateStatus"] == "ok");
    }
    // The same for a file that it reads.
    let (settings, output_end) = (project.file("settings"), lilt.output_end());
    fs::remove_file(&settings).expect("it is a file");
    fs::create_dir(&settings).expect("nothing is there");
    lilt.wait_for_line_after(output_end, "settings is a directory, not a file");
    let output_end = lilt.output_end();
    fs::remove_dir(&settings).expect("it is empty");
    fs::write(&settings, "").expect("nothing is there");
    lilt.wait_for_line_after(output_end, "loaded three");
    lilt.wait_until(TILTFILE, "is loaded", |it| it["status"]["updateStatus"] == "ok");
    lilt.quit();
}

#[test]
fn endless_tiltfile_names_line_and_save_reloads() {
    let endless = "def spin():\n    while True:\n        x = 1\n";
    let project = Project::new(&[("Tiltfile", "load('lib', 'spin')\nspin()\n"), ("lib", endless)]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_line(&format!("Still loading after 1s: {}:3", project.file("lib").display()));
    lilt.wait_until(TILTFILE, "says what it does", |it| {
        it["metadata"]["annotations"]["lilt.dev/hold"].as_str().is_some_and(|hold| hold.contains("lib:3"))
    });
    project.write("lib", "def spin():\n    print('fixed')\n");
    lilt.wait_for_line("fixed");

    project.write("Tiltfile", "local('exec sleep 987')\n");
    lilt.wait_for_line(&format!("{}:1 is running exec sleep 987", project.file("Tiltfile").display()));
    let command = lilt.processes();
    assert!(!command.is_empty());
    project.write("Tiltfile", "print('without the command')\n");
    lilt.wait_for_line("without the command");
    assert!(command.iter().all(|pid| !runs(*pid)));

    project.write("Tiltfile", "local('exec sleep 986')\n");
    lilt.wait_for_line("is running exec sleep 986");
    let command = lilt.processes();
    lilt.quit();
    assert!(command.iter().all(|pid| !runs(*pid)));
}

#[test]
fn changed_command_reruns() {
    let project = Project::new(&[("Tiltfile", "local_resource('a', 'echo one')\n")]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("a", "one");
    lilt.wait_until_ready("a");
    project.write("Tiltfile", "local_resource('a', 'echo two')\n");
    lilt.wait_for_log_line("a", "two");
    lilt.quit();
}

#[test]
fn syntax_error_has_location_and_session_continues() {
    let good = "local_resource('server', serve_cmd='echo up; exec sleep 987')\n\
                local_resource('copy', 'cat text', deps=['text'])\n";
    let project = Project::new(&[("Tiltfile", good), ("text", "one\n")]);
    let lilt = Start::up(&project).start();
    let server = pid(&lilt.wait_until_ready("server"));
    lilt.wait_until_ready("copy");

    let output_end = lilt.output_end();
    project.write("Tiltfile", &format!("{good}local_resource('new', 'echo new'\nprint('x')\n"));
    let file = project.file("Tiltfile");
    let error =
        lilt.wait_for_line_after(output_end, &format!("ERROR: {}:4:1: syntax error: ", file.display()));
    assert!(error.contains("expected symbol ')'"), "{error}");
    lilt.wait_for_line_after(output_end, "4 | print('x')");
    lilt.wait_for_line_after(output_end, "hint: ");
    lilt.wait_until(TILTFILE, "has failed", has_failed);
    // The rest goes on, and takes changes.
    assert!(runs(server));
    project.write("text", "two\n");
    lilt.wait_for_log_line("copy", "two");

    project.write("Tiltfile", &format!("{good}local_resource('new', 'echo new')\n"));
    lilt.wait_for_log_line("new", "new");
    lilt.wait_until_ready(TILTFILE);
    assert_eq!(pid(&lilt.wait_until_ready("server")), server, "it was never touched");
    lilt.quit();
}

#[test]
fn error_at_start_is_fixed_by_next_save() {
    let project = Project::new(&[("Tiltfile", "load('./lib.tilt', 'start')\nstart('a')\n")]);
    project.write("lib.tilt", "def start(name):\n    local_resource(name, 'echo ' + nam)\n");
    let lilt = Start::up(&project).start();
    let library = project.file("lib.tilt");
    lilt.wait_for_line(&format!("ERROR: {}:2:36: undefined: nam", library.display()));
    lilt.wait_for_line("local_resource(name, 'echo ' + nam)");
    lilt.wait_for_line("hint: did you mean name?");
    project.write("lib.tilt", "def start(name):\n    local_resource(name, 'echo ' + name)\n");
    lilt.wait_for_log_line("a", "a");
    lilt.quit();
}

#[test]
fn missing_file_is_named_and_its_creation_reloads() {
    let project = Project::new(&[(
        "Tiltfile",
        "text = str(read_file('settings.txt')).strip()\nlocal_resource('a', 'echo ' + text)\n",
    )]);
    let lilt = Start::up(&project).start();
    let file = project.file("Tiltfile");
    lilt.wait_for_line(&format!("ERROR: {}:1:12: no such file: settings.txt", file.display()));
    lilt.wait_for_line("1 | text = str(read_file('settings.txt')).strip()");
    lilt.wait_for_line(&format!("hint: relative paths count from {}", project.path().display()));
    lilt.wait_until(TILTFILE, "has failed", has_failed);
    project.write("settings.txt", "here\n");
    lilt.wait_for_line("1 File Changed: [settings.txt]");
    lilt.wait_for_log_line("a", "here");
    lilt.quit();
}

#[test]
fn tiltfile_created_later_is_loaded() {
    let project = Project::new(&[]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_line("ERROR: no such file: Tiltfile");
    lilt.wait_until(TILTFILE, "has failed", has_failed);
    project.write("Tiltfile", "local_resource('a', 'echo here')\n");
    lilt.wait_for_log_line("a", "here");
    lilt.quit();
}

#[test]
fn save_during_load_is_loaded() {
    let wait = "local('echo loading; until test -e go; do sleep 0.02; done')\n";
    let project = Project::new(&[("Tiltfile", wait)]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_line("Loading Tiltfile at:");
    lilt.wait_until(TILTFILE, "is loading", |it| it["status"]["updateStatus"] == "in_progress");
    project.write("Tiltfile", &format!("{wait}local_resource('a', 'echo newer')\n"));
    project.write("go", "");
    lilt.wait_for_log_line("a", "newer");
    lilt.quit();
}
