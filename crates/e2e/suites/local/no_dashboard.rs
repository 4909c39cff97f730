//! `--port 0`: a session without dashboard, as in Tilt.

use lilt_e2e::lilt::Start;
use lilt_e2e::tty::Terminal;
use lilt_testbed_env::Project;

fn project() -> Project {
    Project::new(&[("Tiltfile", "local_resource('one', 'echo port=$TILT_PORT')\n")])
}

#[test]
fn port_0_runs_without_dashboard_but_with_the_object_api() {
    let project = project();
    let folder = project.file("dev");
    for start in [
        Start::new(&project, &["up", "--stream", "--port", "0"]),
        Start::new(&project, &["up", "--stream"]).variable("TILT_PORT", "0"),
    ] {
        let lilt = start.variable("TILT_DEV_DIR", &folder).start();
        lilt.wait_for_line("Tilt started (without browser UI)");
        lilt.wait_for_line("one │ port=0");
        let second_command = |arguments: &[&str]| {
            Start::new(&project, arguments).with_home_of(&lilt).variable("TILT_DEV_DIR", &folder).run()
        };
        second_command(&["get", "uiresource", "one", "-o", "name"])
            .expect_clean_exit(0)
            .expect_output("uiresource.tilt.dev/one");
        second_command(&["get", "uiresource", "one", "-o", "name", "--port", "0"]).expect_clean_exit(0);
        let refused = second_command(&["logs"]).expect_clean_exit(1).stderr();
        assert!(refused.contains("it was started with port 0"), "{refused}");
        lilt.quit();
    }
}

#[test]
fn prompt_without_dashboard_does_not_offer_the_browser() {
    let project = project();
    let terminal = Terminal::start(&project, &["up", "--port", "0"]);
    terminal.wait_for("(s) to stream logs");
    terminal.wait_for("1 resource");
    assert!(!terminal.screen_text().contains("to open the browser"), "{}", terminal.screen_text());
    terminal.types(" ");
    terminal.wait_for("There is no browser UI");
    terminal.types("\x03");
    assert_eq!(terminal.ends_clean().code(), Some(0));
}
