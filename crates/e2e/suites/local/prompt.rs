//! The start prompt of `up`.

use lilt_e2e::tty::Terminal;
use lilt_testbed_env::{Project, eventually};
use nix::sys::signal::Signal;

const TILTFILE: &str = "local_resource('build', 'echo built')\n\
                        local_resource('server', serve_cmd='echo serving; exec sleep 987')\n";

fn up(project: &Project) -> Terminal {
    let terminal = Terminal::start(project, &["up", "--port", "random"]);
    terminal.wait_for("(ctrl-c) to exit");
    terminal
}

#[test]
fn prompt_shows_address_keys_and_status() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let terminal = up(&project);
    terminal.wait_for("2 resources: 2 ready");
    let screen = terminal.screen_text();
    for words in ["Tilt started on http://localhost:", "(space) to open", "(s) to stream logs", "(t) to open"]
    {
        assert!(screen.contains(words), "no {words:?} in:\n{screen}");
    }
    assert!(!screen.contains("serving"), "the logs wait to be asked for:\n{screen}");
    assert!(terminal.is_raw());
    terminal.types("\x03");
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn prompt_updates_errors_in_place() {
    let project = Project::new(&[("Tiltfile", "k8s_yaml('nowhere.yaml')\n")]);
    let terminal = up(&project);
    terminal.wait_for("nowhere.yaml");
    terminal.wait_for("✗ The Tiltfile has an error");
    project.write("Tiltfile", "local_resource('check', 'echo no good >&2; exit 3')\n");
    terminal.wait_for("1 resource: 1 failing");
    terminal.wait_for("✗ check: ");
    assert!(!terminal.screen_text().contains("nowhere.yaml"), "{}", terminal.screen_text());
    project.write("Tiltfile", "local_resource('check', 'true')\n");
    terminal.wait_until("has no error", |screen| {
        screen.contents().contains("1 resource: 1 ready") && !screen.contents().contains('✗')
    });
    assert_eq!(terminal.screen_text().matches("resource: ").count(), 1, "{}", terminal.screen_text());
    terminal.signal(Signal::SIGTERM);
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn prompt_s_streams_from_first_line() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let terminal = up(&project);
    terminal.wait_for("2 ready");
    terminal.types("s");
    terminal.wait_for("│ serving");
    terminal.wait_for("│ built");
    // Nothing reads keys any more, so the terminal is as it was.
    eventually("the terminal is given back", || (!terminal.is_raw()).then_some(()));
    terminal.types("\x03");
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn prompt_t_opens_full_screen() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let terminal = up(&project);
    terminal.types("t");
    terminal.wait_until("is whole", vt100::Screen::alternate_screen);
    terminal.wait_for("? help");
    terminal.types("\x03");
    assert_eq!(terminal.ends_clean().code(), Some(0));
}

#[test]
fn prompt_space_opens_browser() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let script = project.file("browse");
    project.write("browse", &format!("#!/bin/sh\necho \"$1\" > {}\n", project.file("opened").display()));
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let variables = [("BROWSER", script.to_str().unwrap())];
    let terminal = Terminal::start_with(&project, &["up", "--port", "random"], &variables);
    terminal.wait_for("(ctrl-c) to exit");
    terminal.types(" ");
    terminal.wait_for("opened http://localhost:");
    let opened = eventually("the browser was called", || {
        Some(project.exists("opened").then(|| project.read("opened"))?).filter(|text| text.ends_with('\n'))
    });
    assert!(terminal.screen_text().contains(&format!("Tilt started on {}", opened.trim())), "{opened}");
    terminal.types("\x03");
    terminal.ends_clean();
}

#[test]
fn prompt_without_browser_prints_address() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let variables = [("BROWSER", ""), ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")];
    let terminal = Terminal::start_with(&project, &["up", "--port", "random"], &variables);
    terminal.wait_for("(ctrl-c) to exit");
    terminal.types(" ");
    terminal.wait_for("no browser here; open http://localhost:");
    terminal.types("\x03");
    terminal.ends_clean();
}

#[test]
fn dumb_terminal_gets_the_stream() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let terminal =
        Terminal::start_with(&project, &["up", "--legacy", "--port", "random"], &[("TERM", "dumb")]);
    terminal.wait_for("│ serving");
    assert!(!terminal.is_raw());
    terminal.types("\x03");
    terminal.ends_clean();
}

#[test]
fn can_be_suspended_and_resumed() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let terminal = up(&project);
    terminal.wait_for("2 ready");
    terminal.types("\x1a");
    terminal.wait_until_stopped();
    terminal.assert_restored();
    terminal.signal(Signal::SIGCONT);
    eventually("keys are read again", || terminal.is_raw().then_some(()));
    terminal.types("t");
    terminal.wait_for("? help");
    terminal.types("\x03");
    terminal.ends_clean();
}

#[test]
fn prompt_keeps_one_summary_in_narrow_terminal() {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let terminal = up(&project);
    terminal.wait_for("2 ready");
    terminal.resize(30, 24);
    project.write("Tiltfile", &format!("{TILTFILE}local_resource('third', 'true')\n"));
    terminal.wait_for("3 resources: 3 ready");
    terminal.signal(Signal::SIGHUP);
    terminal.ends_clean();
}
