//! The end of a session at any time: no process or file is left, and the exit code is right.
//!
//! Processes that do not end by themselves sleep longer than any test waits.

use std::path::Path;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::page::Page;
use lilt_e2e::processes::runs;
use lilt_testbed_env::{Project, eventually};
use nix::sys::signal::Signal;

/// Ignores SIGTERM, like its child and another one that left group and session.
const STUBBORN: &str = r#"trap '' TERM HUP INT
setsid sh -c 'trap "" TERM HUP INT; echo left the group; sleep 987; sleep 987' &
sh -c 'trap "" TERM HUP INT; echo child; sleep 987; sleep 987' &
echo leader
while true; do sleep 987; done
"#;

fn stubborn() -> (Project, Lilt) {
    let tiltfile = "local_resource('stubborn', serve_cmd='exec sh stubborn.sh')\n\
                    local_resource('polite', serve_cmd='echo polite; exec sleep 987')\n\
                    local_resource('command', 'echo running; exec sh stubborn.sh', allow_parallel=True)\n";
    let project = Project::new(&[("Tiltfile", tiltfile), ("stubborn.sh", STUBBORN)]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("polite", "polite");
    for name in ["stubborn", "command"] {
        for words in ["leader", "child", "left the group"] {
            lilt.wait_for_log_line(name, words);
        }
    }
    (project, lilt)
}

#[test]
fn ctrl_c_kills_command_that_ignores_sigterm() {
    let (_project, lilt) = stubborn();
    // Leaders, children, those who left, and their sleeps, which come a moment after what they said.
    let processes =
        eventually("all processes are there", || Some(lilt.processes()).filter(|all| all.len() >= 13));
    // A page that looks on does not hold it up.
    let _page = Page::open(lilt.port());
    lilt.ctrl_c();
    let ended = lilt.wait_for_exit().expect_clean_exit(0);
    assert!(processes.iter().all(|pid| !runs(*pid)));
    assert_eq!(ended.stderr(), "");
}

#[test]
fn sigterm_ends_session() {
    let (_project, lilt) = stubborn();
    lilt.signal(Signal::SIGTERM);
    lilt.wait_for_exit().expect_clean_exit(0);
}

/// As when the terminal window is closed.
#[test]
fn sighup_ends_session() {
    let (_project, lilt) = stubborn();
    lilt.signal(Signal::SIGHUP);
    lilt.wait_for_exit().expect_clean_exit(0);
}

/// A background job of a script ignores SIGINT and SIGQUIT, and `nohup` adds SIGHUP.
#[test]
fn ignored_sigint_is_restored_and_ignored_sighup_kept() {
    // The last digit of the mask is for SIGHUP, SIGINT and SIGQUIT.
    let serve = "sed -n \\'s/^SigIgn:.*\\\\(.\\\\)$/mask \\\\1/p\\' /proc/self/status; sleep 987";
    let project = Project::new(&[("Tiltfile", &format!("local_resource('server', serve_cmd='{serve}')\n"))]);
    let lilt = env!("CARGO_BIN_EXE_lilt");
    let arguments = ["--ignore-signal=HUP,INT,QUIT", lilt, "up", "--stream", "--port", "random"];
    let lilt = Start::program(Path::new("env"), &project, &arguments).start();
    // Commands have the default dispositions.
    lilt.wait_for_log_line("server", "mask 0");
    lilt.signal(Signal::SIGHUP);
    let updates = |it: &serde_json::Value| it["status"]["buildHistory"].as_array().map_or(0, Vec::len);
    lilt.click("server");
    lilt.wait_until("server", "has run again", |it| updates(it) > 1);
    lilt.ctrl_c();
    lilt.wait_for_exit().expect_clean_exit(0);
}

#[test]
fn server_can_handle_sigterm() {
    let serve = "trap \"echo goodbye; exit 0\" TERM; echo up; while true; do sleep 0.05; done";
    let project =
        Project::new(&[("Tiltfile", &format!("local_resource('server', serve_cmd='''{serve}''')\n"))]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("server", "up");
    lilt.ctrl_c();
    lilt.wait_for_exit().expect_clean_exit(0).expect_output("       server │ goodbye\n");
}

#[test]
fn ctrl_c_ends_endless_tiltfile() {
    let project = Project::new(&[("Tiltfile", "print('begun')\nwhile True:\n    pass\n")]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_line("begun");
    lilt.quit();
}

#[test]
fn ctrl_c_ends_command_of_tiltfile() {
    let stubborn =
        "trap '' TERM INT\nsh -c 'sleep 987; sleep 987' &\ntouch begun\nwhile true; do sleep 987; done\n";
    let project = Project::new(&[("stubborn.sh", stubborn), ("Tiltfile", "local('exec sh stubborn.sh')\n")]);
    for (arguments, code) in
        [(&["up", "--port=random"][..], 0), (&["ci", "--port=random"], 1), (&["down"], 1)]
    {
        let lilt = Start::new(&project, arguments).start();
        eventually("the command runs", || {
            (project.exists("begun") && lilt.processes().len() >= 4).then_some(())
        });
        lilt.ctrl_c();
        lilt.wait_for_exit().expect_clean_exit(code);
        project.remove("begun");
    }
}

#[test]
fn ctrl_c_ends_endless_evaluations_of_ci_and_down() {
    let project = Project::new(&[("Tiltfile", "print('begun')\nwhile True:\n    pass\n")]);
    for arguments in [&["ci", "--port", "random"][..], &["down"]] {
        let lilt = Start::new(&project, arguments).start();
        lilt.wait_for_line("begun");
        lilt.ctrl_c();
        lilt.wait_for_exit().expect_clean_exit(1).expect_output("interrupted");
    }
}

/// From the very first line on, and whatever happens to run at that moment.
#[test]
fn ctrl_c_at_random_times_leaves_no_process() {
    let project = Project::new(&[(
        "Tiltfile",
        "print('evaluated')\n\
         local_resource('command', 'echo command; sleep 987')\n\
         local_resource('server', serve_cmd='echo server; sleep 987')\n",
    )]);
    let moments =
        ["Tilt started on", "lilt v", "Loading Tiltfile", "evaluated", "Successfully loaded", "Running cmd"];
    for moment in moments.into_iter().cycle().take(24) {
        let lilt = Start::up(&project).start();
        lilt.wait_for_line(moment);
        lilt.quit();
    }
}

/// Nothing was started yet: the signal may end it before it can do so itself.
#[test]
fn ctrl_c_at_start_leaves_no_process() {
    let project = Project::new(&[("Tiltfile", "local_resource('server', serve_cmd='sleep 987')\n")]);
    for _ in 0..8 {
        let lilt = Start::up(&project).start();
        lilt.ctrl_c();
        let ended = lilt.wait_for_exit();
        let code = ended.code();
        assert!(matches!(code, None | Some(0)), "{code:?}: {}", ended.output());
        ended.leaves_nothing();
    }
}

#[test]
fn a_second_ctrl_c_changes_nothing() {
    let (_project, lilt) = stubborn();
    lilt.ctrl_c();
    lilt.ctrl_c();
    lilt.wait_for_exit().expect_clean_exit(0);
}
