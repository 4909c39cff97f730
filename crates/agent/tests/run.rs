//! Tests of `run`, as the init process of a container, on this machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "clippy.toml's rules are not for tests")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lilt_agent::protocol::Request;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{AgentClient, eventually, home, one};

fn start(program: &Path, options: &[&str], argv: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.arg("run").args(options).arg("--").args(argv).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
}

#[test]
fn run_exits_with_code_or_signal_of_process() {
    let (_home, program) = home();
    for (line, code) in [("exit 0", 0), ("exit 42", 42), ("kill -KILL $$", 137), ("kill -TERM $$", 143)] {
        let mut child = start(&program, &[], &["sh", "-c", line]);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{line}");
    }
    let output = Command::new(&program).args(["run", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(words, "lilt-agent: cannot start /no/such/program: No such file or directory\n");
}

#[test]
fn other_users_cannot_write_to_the_home_once_the_process_runs() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let program = home.join("agent");
    let installed = Command::new(env!("CARGO_BIN_EXE_lilt-agent")).arg("install").arg(&program).status();
    assert!(installed.unwrap().success());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    // Open to all users: the container's user is not known yet.
    assert_eq!((mode(&home), mode(&program)), (0o1777, 0o755));
    let ready = folder.path().join("ready");
    let line = format!("umask 0; echo ready > {}; exec sleep 987", ready.display());
    let mut child = start(&program, &[], &["sh", "-c", &line]);
    eventually("it runs", || read(&ready));
    assert_eq!((mode(&home), mode(&home.join("state/control"))), (0o755, 0o600));
    // The agent ends its process with it; a kill would leave that behind, with the output of this test.
    kill(pid_of(&child), Signal::SIGTERM).unwrap();
    child.wait().unwrap();
}

/// Returns whether tests may switch users.
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The container's user is not the one that installed the agent, so the directory's mode cannot be changed.
#[test]
fn home_of_another_user_keeps_the_state_for_the_container_user() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let home = folder.path().join("home");
    let program = home.join("agent");
    let source = folder.path().join("lilt-agent");
    fs::copy(env!("CARGO_BIN_EXE_lilt-agent"), &source).unwrap();
    let installed = Command::new(&source).uid(65532).gid(65532).arg("install").arg(&program).status();
    assert!(installed.unwrap().success());
    let as_user = |user: u32, line: &str| {
        let status = Command::new("sh").args(["-c", line]).uid(user).gid(user).current_dir(&home).status();
        status.unwrap().success()
    };
    let ready = folder.path().join("ready");
    let line = format!("echo ready > {}; exec sleep 987", ready.display());
    let run = |options: &[&str], argv: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("run").args(options).arg("--").args(argv).stderr(Stdio::piped()).uid(1000).gid(1000);
        command.spawn().unwrap()
    };
    let mut child = run(&[], &["sh", "-c", &line]);
    eventually("it runs", || read(&ready));
    for line in
        ["touch state/kept-list", "mkdir state/kept", "rm state/control", "mv state other", "mv agent other"]
    {
        assert!(!as_user(1001, line), "{line}");
    }
    // The agent ends its process with it; a kill would leave that behind, with the output of this test.
    kill(pid_of(&child), Signal::SIGTERM).unwrap();
    child.wait().unwrap();

    // A state directory of another user is rejected.
    fs::remove_dir_all(home.join("state")).unwrap();
    assert!(as_user(1001, "mkdir -m 777 state"));
    let output = run(&[], &["sh", "-c", "true"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.ends_with("state: another user of the container created it\n"), "{message}");
}

#[test]
fn kept_file_starts_only_if_listed_and_own() {
    let (home, program) = home();
    let tool = home.path().join("tool");
    let kept = home.path().join(format!("state/kept{}", tool.display()));
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    for (path, code) in [(&tool, 3), (&kept, 4)] {
        fs::write(path, format!("#!/bin/sh\nexit {code}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let tool = tool.to_str().unwrap();
    let code = |options: &[&str]| start(&program, options, &[tool]).wait().unwrap().code();
    assert_eq!((code(&["--keep", tool]), code(&[])), (Some(4), Some(3)));
    if is_root() {
        std::os::unix::fs::chown(kept.parent().unwrap(), Some(1001), None).unwrap();
        assert_eq!(code(&["--keep", tool]), Some(3));
    }
}

#[test]
fn process_inherits_stdin_and_stdout() {
    let (_home, program) = home();
    let mut child = start(&program, &[], &["cat"]);
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"through\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"through\n");
}

/// Also after a restart, when the old process was in the foreground.
#[test]
fn process_gets_terminal_also_after_restart() {
    let (home, program) = home();
    let file = home.path().join("again");
    let line = format!(
        "{} run --restart-file {} --wait -- sh -c 'test -t 0 && test -t 1 && read line && echo got $line from $PPID; exit 3'",
        program.display(),
        file.display()
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut wait_for = |words: &str| {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            let read = std::io::BufRead::read_line(&mut output, &mut line).unwrap();
            assert!(read > 0, "it ended without {words:?}");
        }
        line
    };
    let mut agent = String::new();
    for word in ["one", "two"] {
        std::io::Write::write_all(&mut stdin, format!("{word}\n").as_bytes()).unwrap();
        agent = wait_for(&format!("got {word} from "));
        wait_for("waiting for the next update");
        fs::write(&file, word).unwrap();
    }
    let agent = agent.split_whitespace().last().unwrap().parse().unwrap();
    kill(Pid::from_raw(agent), Signal::SIGTERM).unwrap();
    child.wait().unwrap();
}

#[test]
fn signals_are_forwarded_to_process() {
    let (home, program) = home();
    let (ready, received) = (home.path().join("ready"), home.path().join("heard"));
    let line = format!(
        "trap 'echo USR1 > {0}' USR1; trap 'exit 9' TERM; echo ready > {1}; while :; do sleep 0.05; done",
        received.display(),
        ready.display()
    );
    let mut child = start(&program, &[], &["sh", "-c", &line]);
    eventually("it is ready", || read(&ready));
    kill(pid_of(&child), Signal::SIGUSR1).unwrap();
    eventually("it heard the signal", || read(&received));
    kill(pid_of(&child), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn orphans_are_reaped() {
    let (home, program) = home();
    let orphan = home.path().join("orphan");
    let line = format!("(sh -c 'echo $$ > {}; exec sleep 0.1' &) ; exec sleep 100", orphan.display());
    let mut child = start(&program, &[], &["sh", "-c", &line]);
    let pid = eventually("there is an orphan", || read(&orphan));
    eventually("it is gone, not a zombie", || (!Path::new("/proc").join(pid.trim()).exists()).then_some(()));
    kill(pid_of(&child), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn restart_starts_updated_copy() {
    let (home, program) = home();
    let (tool, log) = (home.path().join("tool"), home.path().join("log"));
    let script = |words: &str| format!("#!/bin/sh\necho {words} $1 >> {}\nexec sleep 100\n", log.display());
    fs::write(&tool, script("first")).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let tool = tool.to_str().unwrap();
    let mut child = start(&program, &["--keep", tool], &[tool, "argument"]);
    eventually("it has begun", || read(&log).filter(|text| text == "first argument\n"));

    // Its own path counts as read-only: the update is stored in the volume and started from there.
    let mut agent = AgentClient::start(&program);
    let (mut update, contents) = one(Path::new(tool), script("second").as_bytes());
    if let lilt_agent::protocol::Kind::File { mode, .. } = &mut update.entries[0].kind {
        *mode = 0o755;
    }
    agent.update(&update, &contents).unwrap();
    assert!(fs::read_to_string(tool).unwrap().contains("first"));
    agent.send(&Request::Restart);
    agent.outcome().unwrap();
    eventually("the new one has begun", || read(&log).filter(|text| text.ends_with("second argument\n")));
    agent.send(&Request::Restart);
    agent.outcome().unwrap();
    eventually("and again", || read(&log).filter(|text| text.lines().count() == 3));
    assert_eq!(child.try_wait().unwrap(), None);
    kill(pid_of(&child), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    // The container has ended, and so does the connection.
    agent.send(&Request::Restart);
    assert_eq!(agent.reply(), None);
}

#[test]
fn debugger_argument_is_replaced_by_updated_copy() {
    let (home, program) = home();
    let (tool, log) = (home.path().join("tool"), home.path().join("log"));
    let script = |words: &str| format!("echo {words} $1 >> {}\nexec sleep 100\n", log.display());
    fs::write(&tool, script("first")).unwrap();
    let tool = tool.to_str().unwrap();
    // The shell is the debugger.
    let mut child = start(&program, &["--keep", tool], &["sh", tool, "argument"]);
    eventually("it has begun", || read(&log).filter(|text| text == "first argument\n"));
    let mut agent = AgentClient::start(&program);
    let (update, contents) = one(Path::new(tool), script("second").as_bytes());
    agent.update(&update, &contents).unwrap();
    agent.send(&Request::Restart);
    agent.outcome().unwrap();
    eventually("the new one has begun", || read(&log).filter(|text| text.ends_with("second argument\n")));
    kill(pid_of(&child), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// As with `ENTRYPOINT ["./manager"]` in `/`.
#[test]
fn updated_copy_is_started_for_relative_program() {
    let (home, program) = home();
    let (tool, log) = (home.path().join("tool"), home.path().join("log"));
    let script = |words: &str| format!("#!/bin/sh\necho {words} $0 >> {}\nexec sleep 100\n", log.display());
    fs::write(&tool, script("first")).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    for words in [&["./tool"][..], &["sh", "tool"]] {
        let _ = fs::remove_dir_all(home.path().join("state/kept"));
        let _ = fs::remove_file(&log);
        let mut command = Command::new(&program);
        command.args(["run", "--keep", tool.to_str().unwrap(), "--"]).args(words);
        let mut child = command.current_dir(home.path()).spawn().unwrap();
        eventually("it has begun", || read(&log));
        let mut agent = AgentClient::start(&program);
        let (mut update, contents) = one(&tool, script("second").as_bytes());
        if let lilt_agent::protocol::Kind::File { mode, .. } = &mut update.entries[0].kind {
            *mode = 0o755;
        }
        agent.update(&update, &contents).unwrap();
        agent.send(&Request::Restart);
        agent.outcome().unwrap();
        eventually("the new one has begun", || read(&log).filter(|text| text.contains("second")));
        kill(pid_of(&child), Signal::SIGTERM).unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn missing_restart_file_directory_is_ignored() {
    let (home, program) = home();
    let file = home.path().join("no-such-folder/restart");
    let options = ["--restart-file", file.to_str().unwrap()];
    let mut child = start(&program, &options, &["sh", "-c", "exit 7"]);
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn crash_after_restart_ends_container() {
    let (home, program) = home();
    let marker = home.path().join("marker");
    let line = format!("test -e {0} && exit 3; echo begun > {0}; exec sleep 100", marker.display());
    let mut child = start(&program, &[], &["sh", "-c", &line]);
    eventually("it has begun", || read(&marker));
    let mut agent = AgentClient::start(&program);
    agent.send(&Request::Restart);
    agent.outcome().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// The requester gets the error before the container ends.
#[test]
fn failed_restart_ends_container_unless_waiting() {
    let (home, program) = home();
    let script = home.path().join("script");
    let write = |mode: u32| {
        let (aside, file) = (home.path().join("aside"), format!("#!/bin/sh\nexec sleep 10{mode}\n"));
        fs::write(&aside, file).unwrap();
        fs::set_permissions(&aside, fs::Permissions::from_mode(mode)).unwrap();
        fs::rename(&aside, &script).unwrap();
    };
    let words = format!("the container's process: cannot start {}: Permission denied", script.display());
    for options in [&["--wait"][..], &[]] {
        write(0o755);
        let mut child = start(&program, options, &[script.to_str().unwrap()]);
        let mut agent = eventually("it listens", || {
            // The socket's file exists shortly before it accepts connections.
            UnixStream::connect(home.path().join("state/control")).ok().map(|_| AgentClient::start(&program))
        });
        write(0o644);
        agent.send(&Request::Restart);
        assert_eq!(agent.outcome(), Err(words.clone()), "{options:?}");
        if options.is_empty() {
            assert_eq!(child.wait().unwrap().code(), Some(127));
        } else {
            // It waits for an update that can be started.
            write(0o755);
            agent.send(&Request::Restart);
            agent.outcome().unwrap();
            kill(pid_of(&child), Signal::SIGTERM).unwrap();
            child.wait().unwrap();
            fs::remove_file(home.path().join("state/control")).unwrap();
        }
    }
}

#[test]
fn wait_option_restarts_on_request_and_restart_file() {
    let (home, program) = home();
    let (log, file) = (home.path().join("log"), home.path().join("restart"));
    let line = format!("echo run >> {}", log.display());
    let options = ["--wait", "--restart-file", file.to_str().unwrap()];
    let mut child = start(&program, &options, &["sh", "-c", &line]);
    let runs = |count: usize| {
        eventually("it ran", || read(&log).filter(|text| text.lines().count() == count));
    };
    runs(1);
    let mut agent = AgentClient::start(&program);
    agent.send(&Request::Restart);
    agent.outcome().unwrap();
    runs(2);
    fs::write(&file, "now").unwrap();
    runs(3);
    assert_eq!(child.try_wait().unwrap(), None);
    kill(pid_of(&child), Signal::SIGTERM).unwrap();
    let status = child.wait().unwrap();
    assert!(status.code().is_some() && status.signal().is_none(), "{status:?}");
}
