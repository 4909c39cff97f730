//! Concurrent sessions, and the selection of one by commands.

use std::os::unix::fs::PermissionsExt as _;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::tty::Terminal;
use lilt_testbed_env::Project;
use nix::sys::signal::Signal;
use serde_json::Value;

fn project(name: &str) -> Project {
    let tiltfile = format!(
        "local_resource('{name}', 'echo ran {name}', labels=['{name}-label'])\n\
         local_resource('second', 'true')\n"
    );
    Project::new(&[("Tiltfile", &tiltfile), ("below/deeper/.keep", "")])
}

fn up(project: &Project, with_home_of: Option<&Lilt>) -> Lilt {
    let start = Start::up(project);
    let lilt = match with_home_of {
        Some(other) => start.with_home_of(other).start(),
        None => start.start(),
    };
    lilt.wait_until_ready("second");
    lilt
}

fn runs_of(lilt: &Lilt, name: &str) -> usize {
    lilt.count(&format!("│ ran {name}"))
}

#[test]
fn command_selects_session_of_its_folder() {
    let (one, two) = (project("one"), project("two"));
    let first = up(&one, None);
    let second = up(&two, Some(&first));
    let output_end = first.output_end();
    let said = Start::new(&one, &["trigger", "one"])
        .with_home_of(&first)
        .in_folder(&one.file("below/deeper"))
        .run()
        .expect_clean_exit(0)
        .stdout();
    assert_eq!(said, "Successfully triggered update for resource: \"one\"\n");
    first.wait_for_line_after(output_end, "│ ran one");
    assert_eq!(runs_of(&second, "one"), 0);

    let output_end = second.output_end();
    Start::new(&two, &["trigger", "two"]).with_home_of(&first).run().expect_clean_exit(0);
    second.wait_for_line_after(output_end, "│ ran two");

    // Neither is nearer to a third folder.
    let third = project("third");
    let complaint =
        Start::new(&third, &["trigger", "one"]).with_home_of(&first).run().expect_clean_exit(1).stderr();
    for port in [first.port(), second.port()] {
        assert!(complaint.contains(&format!("port {port}")), "{complaint}");
    }
    assert!(complaint.contains("--port"), "{complaint}");

    // A port decides, given either way.
    let port = second.port().to_string();
    for start in [
        Start::new(&third, &["trigger", "two", "--port", &port]),
        Start::new(&third, &["trigger", "two"]).variable("TILT_PORT", &port),
    ] {
        let output_end = second.output_end();
        start.with_home_of(&first).run().expect_clean_exit(0);
        second.wait_for_line_after(output_end, "│ ran two");
    }
    second.quit();

    // Now there is only one.
    let output_end = first.output_end();
    Start::new(&third, &["trigger", "one"]).with_home_of(&first).run().expect_clean_exit(0);
    first.wait_for_line_after(output_end, "│ ran one");
    first.quit();
}

/// Session records are readable for the user only.
#[test]
fn session_record_is_private() {
    let one = project("one");
    let lilt = up(&one, None);
    let folder = lilt.home().join("cache/lilt/sessions");
    let entries = std::fs::read_dir(folder)
        .expect("there are sessions")
        .map(|entry| entry.expect("it is there").path());
    let file =
        entries.map(|path| path.join("session.json")).find(|path| path.exists()).expect("it told of itself");
    assert_eq!(file.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    let message = std::fs::read_to_string(file).expect("it is text");
    let message: Value = serde_json::from_str(&message).expect("it is JSON");
    assert_eq!(message["pid"], lilt.pid());
    assert_eq!(message["port"], lilt.port());
    lilt.quit();
}

#[test]
fn local_host_flag_still_finds_session_of_folder() {
    let one = project("one");
    let lilt = up(&one, None);
    for host in ["localhost", "127.0.0.1"] {
        let output_end = lilt.output_end();
        Start::new(&one, &["trigger", "one"])
            .with_home_of(&lilt)
            .variable("TILT_HOST", host)
            .run()
            .expect_clean_exit(0);
        lilt.wait_for_line_after(output_end, "│ ran one");
    }
    lilt.quit();
}

#[test]
fn invalid_tilt_port_is_reported() {
    let one = project("one");
    for arguments in [&["trigger", "one"][..], &["up"], &["ci"]] {
        let complaint =
            Start::new(&one, arguments).variable("TILT_PORT", "many").run().expect_clean_exit(1).stderr();
        assert!(complaint.starts_with("Error: invalid TILT_PORT \"many\""), "{complaint}");
    }
}

#[test]
fn killed_session_is_not_found() {
    let one = project("one");
    let first = up(&one, None);
    let dead = up(&one, Some(&first));
    dead.signal(Signal::SIGKILL);
    assert_eq!(dead.wait_for_exit().code(), None);
    let output_end = first.output_end();
    Start::new(&one, &["trigger", "one"]).with_home_of(&first).run().expect_clean_exit(0);
    first.wait_for_line_after(output_end, "│ ran one");
    first.quit();
}

#[test]
fn command_without_session_hints_at_up() {
    let one = project("one");
    for arguments in [&["trigger", "one"][..], &["enable", "--all"], &["dump", "webview"]] {
        // Nobody listens on port 1.
        let start = Start::new(&one, arguments).argument("--port=1");
        let complaint = start.run().expect_clean_exit(1).stderr();
        assert!(complaint.contains("no session answers on http://localhost:1/"), "{complaint}");
        assert!(complaint.contains("lilt up"), "{complaint}");
    }
}

#[test]
fn port_in_use_names_session_and_auto_takes_next() {
    let one = project("one");
    let first = up(&one, None);
    let port = first.port().to_string();
    let complaint =
        Start::new(&one, &["up", "--port", &port]).with_home_of(&first).run().expect_clean_exit(1).stderr();
    assert!(complaint.contains(&format!("already have another process on port {port}\n")), "{complaint}");
    let tiltfile = one.file("Tiltfile").canonicalize().expect("it is there");
    assert!(complaint.contains(&format!("lilt up of {}", tiltfile.display())), "{complaint}");
    assert!(complaint.contains(&format!("process {}", first.pid())), "{complaint}");
    assert!(complaint.contains("--port=auto"), "{complaint}");

    // Both may run at once, whatever else holds ports.
    let autos = [0, 1].map(|_| Start::new(&one, &["up", "--port=auto"]).with_home_of(&first).start());
    let ports = autos.each_ref().map(Lilt::port);
    assert!(ports.iter().all(|port| *port >= 10350), "{ports:?}");
    assert_ne!(ports[0], ports[1]);
    for lilt in autos {
        lilt.wait_until_ready("one");
        lilt.quit();
    }
    first.quit();
}

#[test]
fn second_up_of_a_tiltfile_warns_a_script_and_starts() {
    let one = project("one");
    let first = up(&one, None);
    let second = Start::up(&one).with_home_of(&first).start();
    let warning = second.wait_for_line("warning: this Tiltfile is already running");
    assert!(warning.contains(&format!("port {}, process {}", first.port(), first.pid())), "{warning}");
    assert!(warning.contains(&format!("(http://localhost:{}/)", first.port())), "{warning}");
    second.wait_until_ready("second");
    second.quit();
    // Another Tiltfile of the same folder is another project.
    one.write("other.star", "local_resource('one', 'true')\n");
    let other = Start::up(&one).with_home_of(&first).argument("-f").argument("other.star").start();
    other.wait_until_ready("one");
    assert!(!other.output().contains("already running"), "{}", other.output());
    other.quit();
    first.quit();
}

#[test]
fn up_and_ci_of_a_tiltfile_warn_of_each_other() {
    let one = project("one");
    let first = up(&one, None);
    let ci = Start::ci(&one).with_home_of(&first).start();
    let warning = ci.wait_for_line("warning: this Tiltfile is already running");
    assert!(warning.contains(&format!("lilt up of {}", one.file("Tiltfile").display())), "{warning}");
    ci.wait_for_exit().expect_clean_exit(0);
    first.quit();

    let slow = Project::new(&[("Tiltfile", "local_resource('slow', 'echo begun; exec sleep 987')\n")]);
    let ci = Start::ci(&slow).start();
    ci.wait_for_line("begun");
    let second = Start::up(&slow).with_home_of(&ci).start();
    let warning = second.wait_for_line("warning: this Tiltfile is already running");
    assert!(warning.contains("lilt ci of "), "{warning}");
    second.wait_for_line("begun");
    second.quit();
    ci.ctrl_c();
    ci.wait_for_exit().expect_clean_exit(1);
}

#[test]
fn second_up_of_a_tiltfile_asks_in_a_terminal() {
    let one = project("one");
    let first = up(&one, None);
    let home = first.home().display().to_string();
    let cache = first.home().join("cache").display().to_string();
    let variables = [("HOME", home.as_str()), ("XDG_CACHE_HOME", cache.as_str())];
    let ask = || {
        let terminal = Terminal::start_with(&one, &["up", "--port", "random"], &variables);
        terminal.wait_for("Start another one? [y/N]");
        assert!(
            terminal.screen_text().contains(&format!("port {}", first.port())),
            "{}",
            terminal.screen_text()
        );
        terminal
    };
    for answer in ["\n", "no\n"] {
        let terminal = ask();
        terminal.types(answer);
        terminal.wait_for("Not started. `lilt open` opens the page");
        assert_eq!(terminal.ends_clean().code(), Some(0));
    }
    // Nothing has to be stopped yet.
    let terminal = ask();
    terminal.types("\x03");
    assert!(!terminal.ends_clean().success());
    let terminal = ask();
    terminal.types("y\n");
    terminal.wait_for("(ctrl-c) to exit");
    terminal.types("\x03");
    assert_eq!(terminal.ends_clean().code(), Some(0));
    first.quit();
}

#[test]
fn dump_webview_prints_page_state() {
    let one = project("one");
    let lilt = up(&one, None);
    lilt.wait_for_log_line("one", "ran one");
    let text = Start::new(&one, &["dump", "webview"]).with_home_of(&lilt).run().expect_clean_exit(0).stdout();
    let view: Value = serde_json::from_str(&text).expect("it is JSON");
    let names: Vec<&str> = view["uiResources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, ["(Tiltfile)", "one", "second"]);
    assert_eq!(view["isComplete"], true);
    let segments = view["logList"]["segments"].as_array().expect("a list");
    let line = segments.iter().find(|it| it["text"] == "ran one\n").expect("every line is there");
    let span = line["spanId"].as_str().expect("it has a span");
    assert_eq!(view["logList"]["spans"][span]["manifestName"], "one");
    lilt.quit();
}

#[test]
fn unknown_resources_cannot_be_disabled() {
    let one = project("one");
    let lilt = up(&one, None);
    for (arguments, words) in [
        (&["enable"][..], "must specify at least one resource"),
        (&["enable", "--all", "one"], "cannot use --all with resource names"),
        (&["enable", "--all", "--only"], "cannot use --all with --only"),
        (&["disable", "absent"], "no such resource \"absent\""),
        (&["disable", "(Tiltfile)"], "(Tiltfile) cannot be enabled or disabled"),
        (&["disable", "-l", "nothing"], "no resource has the label \"nothing\""),
        (&["trigger", "absent"], "there is no resource named \"absent\""),
    ] {
        let complaint = Start::new(&one, arguments).with_home_of(&lilt).run().expect_clean_exit(1).stderr();
        assert!(complaint.starts_with(&format!("Error: {words}")), "{arguments:?}: {complaint}");
    }
    lilt.quit();
}
