//! `lilt demo`, which needs only the binary.

use std::io::Write as _;
use std::path::Path;

use lilt_e2e::lilt::Start;
use lilt_e2e::page::get;
use lilt_testbed_env::{Project, eventually};

#[test]
fn demo_once_completes_and_leaves_nothing() {
    let project = Project::new(&[]);
    let ended = Start::new(&project, &["demo", "--once", "--port", "random"]).run().expect_clean_exit(0);
    let printed = ended.output();
    // In this order.
    let story = [
        "Tilt started on http://localhost:",
        "The demo project is in ",
        "         lint │ src/theme.txt:2: \"navi\" is not a colour we use",
        "         lint │ ERROR: Build Failed: ",
        "── tour: editing src/theme.txt",
        "         lint │ ok: teal is a colour we use",
        "── tour: editing src/greeting.txt",
        "        build │ building with greeting \"Hello again from lilt\"",
        "── tour: the site shows the new greeting",
        "The tour is over; everything it started has ended.",
    ];
    let mut rest = printed.as_str();
    for words in story {
        let (_, after) =
            rest.split_once(words).unwrap_or_else(|| panic!("no {words:?} where expected in:\n{printed}"));
        rest = after;
    }
    assert!(!printed.contains("reset-visits │ Running"), "nobody pressed its button:\n{printed}");
}

#[test]
fn demo_without_terminal_runs_the_tour() {
    let project = Project::new(&[]);
    Start::new(&project, &["demo", "--port", "random"])
        .run()
        .expect_clean_exit(0)
        .expect_output("The tour is over");
}

/// In a real terminal: `script` makes one, and what it reads is typed there.
#[test]
fn demo_in_terminal_runs_until_ctrl_c() {
    let project = Project::new(&[]);
    // `exec`: a shell that stays between says 130 by itself when Ctrl-C is typed.
    let command = format!("exec '{}' demo --port random", env!("CARGO_BIN_EXE_lilt"));
    let mut demo = Start::program(Path::new("script"), &project, &["-qefc", &command, "/dev/null"])
        .variable("NO_COLOR", "1")
        .with_piped_stdin()
        .start();
    let address = demo.wait_for_line("look at the site again: http://localhost:");
    let digits = address.trim_end().trim_end_matches('/').rsplit(':').next().expect("a port");
    let port: u16 = digits.parse().unwrap_or_else(|_| panic!("no port in {address:?}"));
    eventually("the site is served", || get(port, "/").filter(|page| page.contains("Hello from lilt")));
    assert!(!demo.output().contains("tour"), "{}", demo.output());
    demo.stdin().write_all(b"\x03").expect("the terminal takes what is typed");
    demo.wait_for_exit().expect_clean_exit(0);
    assert_eq!(get(port, "/"), None);
}

#[test]
fn demo_runs_another_tiltfile_or_repository() {
    let project = Project::new(&[("other/Tiltfile", "local_resource('one', 'echo from $PWD')\n")]);
    let refused =
        Start::new(&project, &["demo", "-f", "other/Tiltfile", "--port=random"]).run().expect_clean_exit(1);
    refused.expect_output("add --no-cluster");
    let lilt =
        Start::new(&project, &["demo", "--no-cluster", "-f", "other/Tiltfile", "--port=random"]).start();
    lilt.wait_for_line("one │ from ");
    lilt.quit();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments);
        assert!(command.current_dir(project.file("other")).status().expect("git runs").success());
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    let repository = format!("file://{}", project.file("other").display());
    let arguments = ["demo", "--no-cluster", "--repo", &repository, "--port=random"];
    let lilt = Start::new(&project, &arguments).start();
    lilt.wait_for_line("one │ from ");
    lilt.quit();
    Start::new(&project, &["demo", "--teardown"])
        .run()
        .expect_clean_exit(0)
        .expect_output("Nothing to remove");
}
