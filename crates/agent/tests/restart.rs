//! A restart stops all that the container's process has started, and nothing else.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "clippy.toml's rules are not for tests")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lilt_agent::protocol::{Reply, Request};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{AgentClient, eventually, home};

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

/// Waits until a file has that many lines.
fn lines(path: &Path, count: usize) -> Vec<String> {
    let text = eventually("it has begun", || read(path).filter(|text| text.lines().count() >= count));
    text.lines().map(str::to_owned).collect()
}

fn restart(program: &Path) {
    let mut agent = AgentClient::start(program);
    agent.send(&Request::Restart);
    agent.outcome().unwrap();
}

fn is_there(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

/// Two servers would fight for a port.
#[test]
fn restart_waits_until_all_descendants_have_exited() {
    // Each server runs in its own group, in its own session, or as an orphan. It logs its pid, and whether a
    // predecessor is still running.
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
        // The end of a container would kill it; here the test must.
        let _ = kill(Pid::from_raw(last.parse().unwrap()), Signal::SIGKILL);
    }
}

#[test]
fn restart_kills_stubborn_process_after_grace() {
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

/// Pid 1 of a container adopts all orphans, also those of execs into it.
#[test]
fn background_process_of_exec_survives_restart() {
    if !nix::unistd::geteuid().is_root() {
        // Only root can create a pid namespace; `make test` runs as root.
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
    let mut agent = AgentClient::start_with(&mut serve);
    let mut run = |words: &[&str]| {
        agent.send(&Request::Run(words.iter().map(ToString::to_string).collect()));
        let mut printed = Vec::new();
        loop {
            match agent.reply() {
                Some(Reply::Stdout(bytes)) => printed.extend(bytes),
                Some(Reply::Exited(0)) => return String::from_utf8(printed).unwrap().trim().to_owned(),
                other => panic!("{words:?}: {other:?}"),
            }
        }
    };
    let background = run(&["bash", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!"]);
    let parent = format!("grep PPid /proc/{background}/status");
    assert_eq!(run(&["bash", "-c", &parent]), "PPid:\t1", "it is an orphan");
    agent.send(&Request::Restart);
    agent.outcome().unwrap();
    assert_eq!(lines(&log, 2).len(), 2);
    let mut run = |words: &[&str]| {
        agent.send(&Request::Run(words.iter().map(ToString::to_string).collect()));
        agent.reply()
    };
    assert_eq!(run(&["test", "-e", &format!("/proc/{background}")]), Some(Reply::Exited(0)));
    // All processes of the namespace end with pid 1.
    drop(agent);
    kill(Pid::from_raw(first.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
    container.wait().unwrap();
}
