//! Tests with real processes.

// clippy.toml restricts these methods to host; these are its tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod guarded;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use lilt_host::process::{Daemons, Exit, Guardian, Launch, Process, Stream};
use lilt_model::command::Command;
use tokio::time::{Instant, sleep, timeout};

/// Long enough that only a hang runs into it.
const DEADLINE: Duration = Duration::from_secs(20);
/// Longer than any test may take: a process that runs this must be killed.
const SLEEP: &str = "sleep 300";

fn shell(line: &str) -> Launch {
    Launch::from(&Command::shell(line, "/"))
}

/// Starts a process whose output arrives in a channel (unbounded: the tests read all of it).
async fn start(launch: &Launch) -> (Process, Output) {
    start_with(&guarded::guardian(), launch).await
}

async fn start_with(guardian: &Guardian, launch: &Launch) -> (Process, Output) {
    let (sender, receiver) = mpsc::channel();
    let process = Process::spawn(guardian, launch, move |bytes: &[u8]| {
        // The test may have stopped listening.
        let _ = sender.send(bytes.to_vec());
    });
    (within(process).await.expect("it starts"), Output { receiver, text: String::new() })
}

struct Output {
    receiver: mpsc::Receiver<Vec<u8>>,
    text: String,
}

impl Output {
    /// Waits for a whole line of output.
    async fn line(&mut self) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some((line, rest)) = self.text.split_once('\n') {
                let line = line.to_owned();
                self.text = rest.to_owned();
                return line;
            }
            match self.receiver.try_recv() {
                Ok(bytes) => self.text += &String::from_utf8(bytes).expect("text"),
                Err(_) if Instant::now() > deadline => panic!("no line came, only {:?}", self.text),
                Err(_) => sleep(Duration::from_millis(2)).await,
            }
        }
    }

    fn rest(&self) -> Vec<u8> {
        self.receiver.try_iter().flatten().collect()
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("in time")
}

/// Returns whether a process is running (and not a zombie).
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ") && !stat.contains(") X ")
}

async fn until_gone(pid: &str) {
    within(async {
        while is_running(pid) {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn wait_returns_exit_code_or_signal() {
    for (line, exit) in [
        ("true", Exit::Code(0)),
        ("exit 3", Exit::Code(3)),
        ("kill -9 $$", Exit::Signal(9)),
        ("kill -15 $$", Exit::Signal(15)),
    ] {
        let (mut process, _output) = start(&shell(line)).await;
        assert_eq!(within(process.wait()).await, exit, "{line}");
        assert_eq!(within(process.wait()).await, exit, "{line}, asked again");
    }
    assert_eq!(Exit::Code(3).to_string(), "exit code 3");
    assert_eq!(Exit::Signal(9).to_string(), "signal KILL");
}

#[tokio::test]
async fn spawn_with_streams_separates_stdout_and_stderr() {
    let (sender, receiver) = mpsc::channel();
    let launch = shell("echo out; echo err >&2; echo more");
    let guardian = guarded::guardian();
    let process = Process::spawn_with_streams(&guardian, &launch, move |stream, bytes| {
        sender.send((stream, String::from_utf8(bytes.to_vec()).expect("text"))).expect("the test listens");
    });
    let mut process = within(process).await.expect("it starts");
    assert_eq!(within(process.wait()).await, Exit::Code(0));
    let (mut output, mut errors) = (String::new(), String::new());
    for (stream, text) in receiver.try_iter() {
        match stream {
            Stream::Output => output += &text,
            Stream::Errors => errors += &text,
        }
    }
    assert_eq!((output.as_str(), errors.as_str()), ("out\nmore\n", "err\n"));
}

#[tokio::test]
async fn spawn_forwards_both_streams_in_order() {
    let line = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done; printf unfinished";
    let (mut process, output) = start(&shell(line)).await;
    within(process.wait()).await;
    let expected: String = (1..10).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(String::from_utf8(output.rest()).expect("text"), expected + "unfinished");
}

#[tokio::test]
async fn spawn_forwards_ten_megabytes() {
    let (mut process, output) = start(&shell("head -c 10000000 /dev/zero | tr '\\0' x; printf end")).await;
    assert!(within(process.wait()).await.success());
    let bytes = output.rest();
    assert_eq!(bytes.len(), 10_000_003);
    assert!(bytes.ends_with(b"xend") && bytes[..10_000_000].iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn spawn_sets_directory_and_environment_without_input() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir: PathBuf = folder.path().canonicalize().expect("it exists");
    let mut launch = shell("pwd; echo $LILT_TEST_VALUE; echo ${PATH:+path}; cat");
    launch.dir = dir.clone();
    launch.env = vec![("LILT_TEST_VALUE".into(), "1 2".into())];
    let (mut process, output) = start(&launch).await;
    assert!(within(process.wait()).await.success());
    let expected = format!("{}\n1 2\npath\n", dir.display());
    assert_eq!(String::from_utf8(output.rest()).expect("text"), expected);
}

#[tokio::test]
async fn failed_start_names_reason() {
    let guardian = guarded::guardian();
    let spawn =
        async |launch: &Launch| Process::spawn(&guardian, launch, |_| {}).await.expect_err("it cannot start");
    let launch = |program: &str, dir: &str| Launch {
        argv: vec![program.into()],
        dir: dir.into(),
        env: vec![],
        unset: vec![],
    };

    let failure = spawn(&launch("no-such-program-of-lilt", "/")).await;
    assert_eq!(failure.message, "the program `no-such-program-of-lilt` was not found");
    assert!(failure.hint.expect("a hint").contains("PATH"));
    let failure = spawn(&launch("sh", "/no/such/directory")).await;
    assert_eq!(failure.message, "the directory /no/such/directory does not exist");
    let failure = spawn(&launch("/no/such/program", "/")).await;
    assert_eq!(failure.message, "the program /no/such/program does not exist");
    let failure = spawn(&launch("/etc/passwd", "/")).await;
    assert_eq!(failure.message, "the program /etc/passwd may not be run");
    let failure = spawn(&Launch { argv: vec![], dir: "/".into(), env: vec![], unset: vec![] }).await;
    assert_eq!(failure.message, "the command is empty");
}

#[tokio::test]
async fn stop_waits_for_process_that_handles_sigterm() {
    let (mut process, mut output) =
        start(&shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do :; done")).await;
    assert_eq!(output.line().await, "ready");
    assert_eq!(within(process.stop(DEADLINE, Daemons::End)).await, Exit::Code(7));
    assert_eq!(output.line().await, "bye");
}

#[tokio::test]
async fn stop_kills_process_that_ignores_sigterm() {
    let (mut process, mut output) =
        start(&shell(&format!("trap '' TERM; echo ready; while true; do {SLEEP}; done"))).await;
    assert_eq!(output.line().await, "ready");
    assert_eq!(within(process.stop(Duration::from_millis(100), Daemons::End)).await, Exit::Signal(9));
    until_gone(&process.pid().to_string()).await;
}

#[tokio::test]
async fn stop_kills_child_that_ignores_sigterm() {
    let child = format!("(trap '' TERM; echo $(exec sh -c 'echo $PPID'); {SLEEP}; {SLEEP}) & wait");
    let (mut process, mut output) = start(&shell(&child)).await;
    let pid = output.line().await;
    assert!(is_running(&pid));
    assert_eq!(within(process.stop(Duration::from_millis(100), Daemons::End)).await, Exit::Signal(15));
    until_gone(&pid).await;
}

#[tokio::test]
async fn stop_kills_child_outside_the_group() {
    let (mut process, mut output) =
        start(&shell(&format!("setsid sh -c 'trap \"\" TERM; echo $$; {SLEEP}; {SLEEP}' & wait"))).await;
    let pid = output.line().await;
    assert!(is_running(&pid));
    within(process.stop(Duration::from_millis(100), Daemons::End)).await;
    until_gone(&pid).await;
}

#[tokio::test]
async fn drop_kills_group_and_children_outside_it() {
    let line = format!("{SLEEP} & echo $!; setsid sh -c 'echo $$; {SLEEP}' & wait");
    let (process, mut output) = start(&shell(&line)).await;
    let leader = process.pid().to_string();
    let (first, second) = (output.line().await, output.line().await);
    assert!(is_running(&leader) && is_running(&first) && is_running(&second));
    drop(process);
    for pid in [&leader, &first, &second] {
        until_gone(pid).await;
    }
}

#[tokio::test]
async fn group_is_killed_when_command_exits() {
    let (mut process, mut output) = start(&shell(&format!("{SLEEP} & echo $!; echo last; exit 4"))).await;
    assert_eq!(within(process.wait()).await, Exit::Code(4));
    let pid = output.line().await;
    assert_eq!(output.line().await, "last");
    until_gone(&pid).await;
}

/// A process that leaves its group and session, and whose parent exits.
fn daemon() -> String {
    let daemon = format!("(setsid sh -c 'echo $$; trap \"\" TERM; {SLEEP}; {SLEEP}' &)");
    // Processes that are still in the group when the command exits are killed with it.
    format!("{daemon} | {{ read -r pid; echo $pid; }}")
}

#[tokio::test]
async fn daemon_of_exited_command_runs_until_guardian_closes() {
    let guardian = guarded::guardian();
    let (mut process, mut output) = start_with(&guardian, &shell(&format!("{}; exit 4", daemon()))).await;
    // It keeps the pipe open, which does not delay the exit.
    assert_eq!(within(process.wait()).await, Exit::Code(4));
    let pid = output.line().await;
    assert!(is_running(&pid), "a command may start a daemon");
    drop(process);
    assert!(is_running(&pid));
    within(guardian.close()).await;
    until_gone(&pid).await;
}

#[tokio::test]
async fn stop_kills_only_daemons_of_the_command() {
    let guardian = guarded::guardian();
    let line = format!("{}; {SLEEP}", daemon());
    let (mut first, mut output) = start_with(&guardian, &shell(&line)).await;
    let daemon = output.line().await;
    let (mut second, mut output) = start_with(&guardian, &shell(&line)).await;
    let other = output.line().await;
    assert!(is_running(&daemon) && is_running(&other));
    within(first.stop(Duration::from_millis(50), Daemons::End)).await;
    until_gone(&daemon).await;
    assert!(is_running(&other));
    within(second.stop(Duration::from_millis(50), Daemons::Leave)).await;
    assert!(is_running(&other));
    drop(guardian);
    drop((first, second));
    until_gone(&other).await;
}

#[tokio::test]
async fn killed_guardian_takes_commands_along_and_is_replaced() {
    let guardian = guarded::guardian();
    let line = format!("{}; sed -n 's/^PPid:.//p' /proc/$$/status; {SLEEP}", daemon());
    let (mut process, mut output) = start_with(&guardian, &shell(&line)).await;
    let lines = [output.line().await, output.line().await];
    let leader = process.pid().to_string();
    let parent = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        status.lines().find_map(|line| line.strip_prefix("PPid:\t")).expect("a parent").to_owned()
    };
    let guardian_pid = parent(&leader);
    let daemon = lines.iter().find(|line| **line != guardian_pid).expect("one is the daemon").clone();
    let guardian_pid: i32 = guardian_pid.parse().expect("a number");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(guardian_pid), nix::sys::signal::Signal::SIGKILL)
        .expect("it runs");
    assert_eq!(within(process.wait()).await, Exit::Lost);
    until_gone(&leader).await;
    until_gone(&daemon).await;
    // A new guardian is started.
    let mut next = Process::spawn(&guardian, &shell("exit 3"), |_| {}).await.expect("it starts");
    assert_eq!(within(next.wait()).await, Exit::Code(3));
    within(guardian.close()).await;
    let failure = Process::spawn(&guardian, &shell("true"), |_| {}).await.expect_err("nobody starts it");
    assert!(failure.message.contains("guards lilt's commands"), "{failure}");
}

#[tokio::test]
async fn cancelled_wait_can_be_repeated() {
    let (mut process, mut output) =
        start(&shell("echo ready; read -r never < /dev/null; exec cat /dev/zero > /dev/null")).await;
    assert_eq!(output.line().await, "ready");
    assert!(timeout(Duration::from_millis(1), process.wait()).await.is_err(), "it runs");
    assert_eq!(within(process.stop(DEADLINE, Daemons::End)).await, Exit::Signal(15));
}

#[tokio::test]
async fn thousand_processes_leak_no_descriptors() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("Linux").count();
    let guardian = guarded::guardian();
    let (mut first, _output) = start_with(&guardian, &shell("true")).await;
    within(first.wait()).await;
    let before = descriptors();
    for _ in 0..1_000 {
        let launch = Launch { argv: vec!["true".into()], dir: "/".into(), env: vec![], unset: vec![] };
        let mut process = Process::spawn(&guardian, &launch, |_| {}).await.expect("it starts");
        assert!(within(process.wait()).await.success());
    }
    // Other tests of this program run at the same time; a leak would be a thousand and more.
    assert!(descriptors() < before + 500, "{} descriptors, {before} before", descriptors());
}

#[tokio::test]
async fn spawn_with_input_feeds_stdin_until_drop() {
    use tokio::io::AsyncWriteExt as _;
    let (sender, receiver) = mpsc::channel();
    let launch = shell("cat; echo complaint >&2");
    let guardian = guarded::guardian();
    let fed = Process::spawn_with_input(&guardian, &launch, move |stream, bytes: &[u8]| {
        // The test may have stopped listening.
        let _ = sender.send((stream, bytes.to_vec()));
    });
    let (mut process, mut input) = within(fed).await.expect("it starts");
    let text = "much\n".repeat(100_000);
    within(input.write_all(text.as_bytes())).await.expect("it reads");
    drop(input);
    assert_eq!(within(process.wait()).await, Exit::Code(0));
    let all = |expected: Stream, found: &[(Stream, Vec<u8>)]| {
        let of_it = found.iter().filter(|(stream, _)| *stream == expected);
        String::from_utf8(of_it.flat_map(|(_, bytes)| bytes.clone()).collect()).expect("text")
    };
    let found: Vec<(Stream, Vec<u8>)> = receiver.try_iter().collect();
    assert_eq!(all(Stream::Output, &found), text);
    assert_eq!(all(Stream::Errors, &found), "complaint\n");
}
