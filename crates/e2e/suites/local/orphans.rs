//! `kill -9` of lilt at any time: no process that it started is left.

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::processes::runs;
use lilt_testbed_env::{Project, eventually};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A process that leaves group, session and parent, clears its environment, and ignores SIGTERM.
const DAEMON: &str = r#"(env -i PATH="$PATH" setsid sh -c 'trap "" TERM HUP INT PIPE
echo $$ > "$0"; while true; do sleep 987; done' "$1" &)
until test -s "$1"; do sleep 0.01; done
"#;

fn project() -> Project {
    let tiltfile = "\
local_resource('server', serve_cmd='sh daemon.sh server.pid; sh stay.sh & echo up; exec sleep 987')
local_resource('command', 'sh daemon.sh command.pid; echo running; exec sleep 987', allow_parallel=True)
local_resource('done', 'sh daemon.sh done.pid; echo done', allow_parallel=True)
";
    let stay =
        "trap '' TERM HUP INT PIPE; setsid sh -c 'sleep 987; sleep 987' & while true; do sleep 987; done";
    Project::new(&[("Tiltfile", tiltfile), ("daemon.sh", DAEMON), ("stay.sh", stay)])
}

fn daemons(project: &Project) -> Vec<i32> {
    let files = ["server.pid", "command.pid", "done.pid"];
    let pids = files.iter().filter_map(|file| std::fs::read_to_string(project.file(file)).ok());
    pids.filter_map(|pid| pid.trim().parse().ok()).collect()
}

fn up(project: &Project) -> (Lilt, Vec<i32>) {
    let lilt = Start::up(project).start();
    lilt.wait_for_log_line("server", "up");
    lilt.wait_for_log_line("command", "running");
    lilt.wait_for_log_line("done", "done");
    let daemons = daemons(project);
    assert_eq!(daemons.len(), 3);
    assert!(daemons.iter().all(|pid| runs(*pid)), "what a command that ended left stays");
    (lilt, daemons)
}

fn until_gone(daemons: &[i32]) {
    eventually("every daemon is gone", || daemons.iter().all(|pid| !runs(*pid)).then_some(()));
}

#[test]
fn no_process_outlives_killed_lilt() {
    let project = project();
    let (lilt, daemons) = up(&project);
    lilt.signal(Signal::SIGKILL);
    lilt.wait_for_exit().leaves_no_process();
    until_gone(&daemons);
}

/// As a test harness or a terminal does.
#[test]
fn no_process_outlives_killed_group() {
    let project = project();
    let (lilt, daemons) = up(&project);
    killpg(Pid::from_raw(lilt.pid()), Signal::SIGKILL).expect("it runs");
    lilt.wait_for_exit().leaves_no_process();
    until_gone(&daemons);
}

#[test]
fn no_process_outlives_normal_exit() {
    let project = project();
    let (lilt, daemons) = up(&project);
    lilt.ctrl_c();
    lilt.wait_for_exit().expect_clean_exit(0);
    assert!(daemons.iter().all(|pid| !runs(*pid)), "not even for a moment");
}

/// Also of the commands that only load a Tiltfile.
#[test]
fn no_process_outlives_killed_load() {
    let tiltfile = "local('sh daemon.sh server.pid; exec sleep 987')";
    for arguments in [&["alpha", "tiltfile-result"][..], &["down"]] {
        let project = Project::new(&[("Tiltfile", tiltfile), ("daemon.sh", DAEMON)]);
        let lilt = Start::new(&project, arguments).start();
        let started = || Some(daemons(&project)).filter(|daemons| !daemons.is_empty());
        let daemons = eventually("its command runs", started);
        lilt.signal(Signal::SIGKILL);
        lilt.wait_for_exit().leaves_no_process();
        until_gone(&daemons);
    }
}

/// Whatever happens to run at that moment; and the next session clears away what the killed one left.
#[test]
fn lilt_killed_at_random_times_leaves_no_process() {
    let project = project();
    let home = Project::new(&[]);
    let moments =
        ["Tilt started on", "Loading Tiltfile", "Successfully loaded", "Running cmd", "running", "up"];
    for (round, moment) in moments.into_iter().cycle().take(18).enumerate() {
        for file in ["server.pid", "command.pid", "done.pid"] {
            let _ = std::fs::remove_file(project.file(file));
        }
        let lilt = Start::up(&project).variable("XDG_CACHE_HOME", home.path()).start();
        lilt.wait_for_line(moment);
        // Some moments later, without a clock: as many as it takes to look at a few files.
        for _ in 0..round * 40 {
            let _ = std::fs::read_to_string("/proc/self/status");
        }
        lilt.signal(Signal::SIGKILL);
        lilt.wait_for_exit().leaves_no_process();
        until_gone(&daemons(&project));
    }
    let empty = Project::new(&[("Tiltfile", "")]);
    let last = Start::ci(&empty);
    let last = last.variable("XDG_CACHE_HOME", home.path()).run();
    assert_eq!(last.code(), Some(0));
    let left = std::fs::read_dir(home.file("lilt/sessions")).expect("it was made").count();
    assert_eq!(left, 0, "folders of killed sessions");
}

#[test]
fn daemonized_server_is_ended_before_the_next_starts() {
    let tiltfile = "local_resource('server', serve_cmd='rm -f server.pid; sh daemon.sh server.pid; cat text; exec sleep 987', deps=['text'])\n";
    let project = Project::new(&[
        ("Tiltfile", tiltfile),
        ("daemon.sh", &DAEMON.replace("env -i PATH=\"$PATH\"", "")),
        ("text", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("server", "one");
    let first = daemons(&project);
    project.write("text", "two\n");
    lilt.wait_for_log_line("server", "two");
    assert_ne!(daemons(&project), first);
    assert!(!runs(first[0]), "it ended before the next began");
    lilt.quit();
}

/// Until the session ends, it stays, as under Tilt.
#[test]
fn daemons_of_tiltfile_end_with_lilt() {
    let background = "sleep 986 > /dev/null 2>&1 & echo $! > background.pid";
    let project = Project::new(&[
        ("Tiltfile", "local('sh background.sh')\nlocal('sh foreground.sh')\n"),
        ("background.sh", background),
        ("foreground.sh", "trap '' TERM HUP INT; echo $$ > foreground.pid; while true; do sleep 987; done"),
    ]);
    let read = |name: &str| std::fs::read_to_string(project.file(name)).ok()?.trim().parse::<i32>().ok();
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        for file in ["background.pid", "foreground.pid"] {
            let _ = std::fs::remove_file(project.file(file));
        }
        let lilt = Start::up(&project).start();
        let pids = eventually("both run", || Some([read("background.pid")?, read("foreground.pid")?]));
        assert!(pids.iter().all(|pid| runs(*pid)));
        lilt.signal(signal);
        lilt.wait_for_exit().leaves_no_process();
        until_gone(&pids);
    }
}
