//! A restart ends all that the container's process has started, and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lilt_agent::protocol::{Answer, Request};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{Serving, eventually, home};

fn start(program: &Path, options: &[&str], line: &str) -> Child {
    let mut command = Command::new(program);
    command.arg("run").args(options).args(["--", "bash", "-c", line]).stdin(Stdio::null());
    command.spawn().unwrap()
}

fn end(mut child: Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    child.wait().unwrap();
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
}

/// Waits for so many lines.
fn lines(path: &Path, count: usize) -> Vec<String> {
    let text = eventually("it has begun", || read(path).filter(|text| text.lines().count() >= count));
    text.lines().map(str::to_owned).collect()
}

fn restart(program: &Path) {
    let mut agent = Serving::start(program);
    agent.say(&Request::Restart);
    agent.outcome().unwrap();
}

fn is_there(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

/// Two servers would fight for a port.
#[test]
fn what_the_process_left_has_ended_before_it_is_started_anew() {
    // In a group of its own, in a session of its own, and as nobody's child: each says who it is, and each new one whether its
    // predecessor is still there.
    let servers = [
        "set -m; bash -c 'serve' & wait",
        "setsid bash -c 'serve' & wait",
        "(setsid bash -c '(serve) & wait' &); exec sleep 1000",
    ];
    for server in servers {
        let (home, program) = home();
        let log = home.path().join("log");
        let serve = format!(
            "serve() {{ for old in $(cat {0}); do test -e /proc/$old && echo twice >> {0}; done; \
             echo $BASHPID >> {0}; exec sleep 1000; }}; export -f serve; touch {0}; ",
            log.display()
        );
        let child = start(&program, &[], &format!("{serve}{server}"));
        let first = lines(&log, 1);
        restart(&program);
        assert!(!is_there(&first[0]), "{server}");
        let all = lines(&log, 2);
        assert!(!all.contains(&"twice".to_owned()), "{server}: {all:?}");
        restart(&program);
        assert!(!is_there(&all[1]), "{server}");
        let last = lines(&log, 3).pop().unwrap();
        end(child);
        // The end of a container would end it; here nobody does.
        let _ = kill(Pid::from_raw(last.parse().unwrap()), Signal::SIGKILL);
    }
}

#[test]
fn who_does_not_end_is_killed_when_the_grace_is_over() {
    const GRACE: Duration = Duration::from_millis(300);
    let stubborn = "trap '' TERM; echo $BASHPID >> LOG; while :; do sleep 0.05; done";
    for line in [stubborn.to_owned(), format!("set -m; ({stubborn}) & wait")] {
        let (home, program) = home();
        let log = home.path().join("log");
        let line = line.replace("LOG", log.to_str().unwrap());
        let child = start(&program, &["--grace", &GRACE.as_millis().to_string()], &line);
        let first = lines(&log, 1).remove(0);
        let begin = Instant::now();
        restart(&program);
        let took = begin.elapsed();
        assert!((GRACE..GRACE + Duration::from_secs(5)).contains(&took), "{line}: {took:?}");
        assert!(!is_there(&first), "{line}");
        let second = lines(&log, 2).remove(1);
        kill(Pid::from_raw(second.parse().unwrap()), Signal::SIGKILL).unwrap();
        end(child);
    }
}

/// The first process of a container gets all orphans, also those of others who came in.
#[test]
fn what_a_step_left_in_the_background_outlives_a_restart() {
    if !nix::unistd::geteuid().is_root() {
        // Only root can make a process the first one; `make test` runs as root, and there it counts.
        return;
    }
    let (home, program) = home();
    let log = home.path().join("log");
    let line = format!("echo $BASHPID >> {}; set -m; sleep 1000 & wait", log.display());
    let mut container = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc", "setsid"])
        .arg(&program)
        .args(["run", "--", "bash", "-c", &line])
        .spawn()
        .unwrap();
    assert_eq!(lines(&log, 1).len(), 1);
    let first = eventually("it has a first process", || {
        let children = format!("/proc/{0}/task/{0}/children", container.id());
        fs::read_to_string(children).ok().filter(|pids| !pids.is_empty())
    });
    let mut serve = Command::new("nsenter");
    serve.args(["--target", first.trim(), "--pid", "--mount", "setsid"]).arg(&program).arg("serve");
    let mut agent = Serving::start_with(&mut serve);
    let mut run = |words: &[&str]| {
        agent.say(&Request::Run(words.iter().map(ToString::to_string).collect()));
        let mut printed = Vec::new();
        loop {
            match agent.answer() {
                Some(Answer::Stdout(bytes)) => printed.extend(bytes),
                Some(Answer::Exited(0)) => return String::from_utf8(printed).unwrap().trim().to_owned(),
                other => panic!("{words:?}: {other:?}"),
            }
        }
    };
    let left = run(&["bash", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!"]);
    let parent = format!("grep PPid /proc/{left}/status");
    assert_eq!(run(&["bash", "-c", &parent]), "PPid:\t1", "it is an orphan");
    agent.say(&Request::Restart);
    agent.outcome().unwrap();
    assert_eq!(lines(&log, 2).len(), 2);
    let mut run = |words: &[&str]| {
        agent.say(&Request::Run(words.iter().map(ToString::to_string).collect()));
        agent.answer()
    };
    assert_eq!(run(&["test", "-e", &format!("/proc/{left}")]), Some(Answer::Exited(0)));
    // All of it ends with its first process.
    drop(agent);
    kill(Pid::from_raw(first.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
    container.wait().unwrap();
}
