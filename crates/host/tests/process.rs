//! Real processes.

// The rule names host as the place for all of this; these are its tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use lilt_host::process::{Exit, Launch, Process, Stream};
use lilt_model::command::Command;
use tokio::time::{Instant, sleep, timeout};

/// Long enough that only a hang runs into it.
const DEADLINE: Duration = Duration::from_secs(20);
/// Longer than any test may take: whoever sleeps this long must be killed to end in time.
const FOR_EVER: &str = "sleep 300";

fn shell(line: &str) -> Launch {
    Launch::from(&Command::shell(line, "/"))
}

/// A process whose output arrives in a channel (unbounded: the tests read all of it).
fn start(launch: &Launch) -> (Process, Output) {
    let (sender, receiver) = mpsc::channel();
    let process = Process::spawn(launch, move |stream, bytes: &[u8]| {
        // The test may have stopped listening.
        let _ = sender.send((stream, bytes.to_vec()));
    });
    (process.expect("it starts"), Output { receiver, text: String::new() })
}

struct Output {
    receiver: mpsc::Receiver<(Stream, Vec<u8>)>,
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
                Ok((_, bytes)) => self.text += &String::from_utf8(bytes).expect("text"),
                Err(_) if Instant::now() > deadline => panic!("no line came, only {:?}", self.text),
                Err(_) => sleep(Duration::from_millis(2)).await,
            }
        }
    }

    fn rest(&self, stream: Stream) -> Vec<u8> {
        self.receiver.try_iter().filter(|(from, _)| *from == stream).flat_map(|(_, bytes)| bytes).collect()
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("in time")
}

/// Whether a process of this id runs (and is not just waiting to be reaped).
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ") && !stat.contains(") X ")
}

async fn until_gone(pid: &str) {
    within(async {
        while runs(pid) {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn tells_how_it_ended() {
    for (line, exit) in [
        ("true", Exit::Code(0)),
        ("exit 3", Exit::Code(3)),
        ("kill -9 $$", Exit::Signal(9)),
        ("kill -15 $$", Exit::Signal(15)),
    ] {
        let (mut process, _output) = start(&shell(line));
        assert_eq!(within(process.wait()).await, exit, "{line}");
        assert_eq!(within(process.wait()).await, exit, "{line}, asked again");
    }
    assert_eq!(Exit::Code(3).to_string(), "exit code 3");
    assert_eq!(Exit::Signal(9).to_string(), "signal KILL");
}

#[tokio::test]
async fn passes_on_both_streams() {
    let (mut process, output) = start(&shell("echo out; echo err >&2; printf unfinished"));
    within(process.wait()).await;
    let pieces: Vec<_> = output.receiver.try_iter().collect();
    let of = |stream| -> Vec<u8> {
        pieces.iter().filter(|(from, _)| *from == stream).flat_map(|(_, bytes)| bytes.clone()).collect()
    };
    assert_eq!(of(Stream::Stdout), b"out\nunfinished");
    assert_eq!(of(Stream::Stderr), b"err\n");
}

#[tokio::test]
async fn passes_on_ten_megabytes() {
    let (mut process, output) = start(&shell("head -c 10000000 /dev/zero | tr '\\0' x; printf end"));
    assert!(within(process.wait()).await.success());
    let bytes = output.rest(Stream::Stdout);
    assert_eq!(bytes.len(), 10_000_003);
    assert!(bytes.ends_with(b"xend") && bytes[..10_000_000].iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn runs_in_its_directory_with_its_environment_and_no_input() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir: PathBuf = folder.path().canonicalize().expect("it exists");
    let mut launch = shell("pwd; echo $LILT_TEST_VALUE; echo ${PATH:+path}; cat");
    launch.dir = dir.clone();
    launch.env = vec![("LILT_TEST_VALUE".into(), "1 2".into())];
    let (mut process, output) = start(&launch);
    assert!(within(process.wait()).await.success());
    let expected = format!("{}\n1 2\npath\n", dir.display());
    assert_eq!(String::from_utf8(output.rest(Stream::Stdout)).expect("text"), expected);
}

#[tokio::test]
async fn says_why_it_did_not_start() {
    let spawn = |launch: &Launch| Process::spawn(launch, |_, _| {}).expect_err("it cannot start");
    let launch = |program: &str, dir: &str| Launch {
        argv: vec![program.into()],
        dir: dir.into(),
        env: vec![],
        unset: vec![],
    };

    let failure = spawn(&launch("no-such-program-of-lilt", "/"));
    assert_eq!(failure.message, "the program `no-such-program-of-lilt` was not found");
    assert!(failure.hint.expect("a hint").contains("PATH"));
    let failure = spawn(&launch("sh", "/no/such/directory"));
    assert_eq!(failure.message, "the directory /no/such/directory does not exist");
    let failure = spawn(&launch("/no/such/program", "/"));
    assert_eq!(failure.message, "the program /no/such/program does not exist");
    let failure = spawn(&launch("/etc/passwd", "/"));
    assert_eq!(failure.message, "the program /etc/passwd may not be run");
    let failure = spawn(&Launch { argv: vec![], dir: "/".into(), env: vec![], unset: vec![] });
    assert_eq!(failure.message, "the command is empty");
}

#[tokio::test]
async fn stop_lets_it_end_by_itself() {
    let (mut process, mut output) =
        start(&shell(&format!("trap 'echo bye; exit 7' TERM; echo ready; {FOR_EVER} & wait")));
    assert_eq!(output.line().await, "ready");
    assert_eq!(within(process.stop(DEADLINE)).await, Exit::Code(7));
    assert_eq!(output.line().await, "bye");
}

#[tokio::test]
async fn stop_kills_what_ignores_the_polite_signal() {
    let (mut process, mut output) =
        start(&shell(&format!("trap '' TERM; echo ready; while true; do {FOR_EVER}; done")));
    assert_eq!(output.line().await, "ready");
    assert_eq!(within(process.stop(Duration::from_millis(100))).await, Exit::Signal(9));
    until_gone(&process.pid().to_string()).await;
}

#[tokio::test]
async fn stop_ends_a_stubborn_child_of_a_polite_leader() {
    let child = format!("(trap '' TERM; echo $(exec sh -c 'echo $PPID'); {FOR_EVER}; {FOR_EVER}) & wait");
    let (mut process, mut output) = start(&shell(&child));
    let pid = output.line().await;
    assert!(runs(&pid));
    assert_eq!(within(process.stop(Duration::from_millis(100))).await, Exit::Signal(15));
    until_gone(&pid).await;
}

#[tokio::test]
async fn stop_ends_what_has_left_the_group() {
    let (mut process, mut output) =
        start(&shell(&format!("setsid sh -c 'trap \"\" TERM; echo $$; {FOR_EVER}; {FOR_EVER}' & wait")));
    let pid = output.line().await;
    assert!(runs(&pid));
    within(process.stop(Duration::from_millis(100))).await;
    until_gone(&pid).await;
}

#[tokio::test]
async fn dropping_it_kills_the_group_and_those_who_left_it() {
    let line = format!("{FOR_EVER} & echo $!; setsid sh -c 'echo $$; {FOR_EVER}' & wait");
    let (process, mut output) = start(&shell(&line));
    let leader = process.pid().to_string();
    let (first, second) = (output.line().await, output.line().await);
    assert!(runs(&leader) && runs(&first) && runs(&second));
    drop(process);
    for pid in [&leader, &first, &second] {
        until_gone(pid).await;
    }
}

#[tokio::test]
async fn a_background_process_that_holds_the_pipes_does_not_hold_up_the_end() {
    let (mut process, mut output) = start(&shell(&format!("{FOR_EVER} & echo $!; echo last; exit 4")));
    assert_eq!(within(process.wait()).await, Exit::Code(4));
    let pid = output.line().await;
    assert_eq!(output.line().await, "last");
    assert!(runs(&pid), "a command may leave something running");
    within(process.stop(Duration::from_millis(500))).await;
    until_gone(&pid).await;
}

#[tokio::test]
async fn a_cancelled_wait_can_be_repeated() {
    let (mut process, mut output) =
        start(&shell("echo ready; read -r never < /dev/null; exec cat /dev/zero > /dev/null"));
    assert_eq!(output.line().await, "ready");
    assert!(timeout(Duration::from_millis(1), process.wait()).await.is_err(), "it runs");
    assert_eq!(within(process.stop(DEADLINE)).await, Exit::Signal(15));
}

/// A daemon (parent gone, own session) comes to us and is reaped when it has ended.
#[tokio::test]
async fn adopted_processes_are_reaped_and_own_ones_are_not() {
    lilt_host::process::become_subreaper().expect("Linux");
    let (mut own, _output) = start(&shell("exit 5"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut launch = shell(
        "(setsid sh -c 'echo $$ > new; mv new pid; exec sleep 0.05' &); until test -e pid; do sleep 0.01; done; cat pid",
    );
    launch.dir = folder.path().to_path_buf();
    let (mut process, mut output) = start(&launch);
    let daemon = output.line().await;
    within(async {
        while Path::new("/proc").join(&daemon).exists() {
            lilt_host::process::reap_adopted();
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(within(process.wait()).await, Exit::Code(0));
    assert_eq!(within(own.wait()).await, Exit::Code(5));
}

#[tokio::test]
async fn a_thousand_in_a_row_leave_nothing() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("Linux").count();
    let (mut first, _output) = start(&shell("true"));
    within(first.wait()).await;
    let before = descriptors();
    for _ in 0..1_000 {
        let launch = Launch { argv: vec!["true".into()], dir: "/".into(), env: vec![], unset: vec![] };
        let mut process = Process::spawn(&launch, |_, _| {}).expect("it starts");
        assert!(within(process.wait()).await.success());
    }
    // Other tests of this program run at the same time; a leak would be a thousand and more.
    assert!(descriptors() < before + 500, "{} descriptors, {before} before", descriptors());
}
