//! What needs the thread to stand still: here the test itself turns its loop.

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;

use inotify::Inotify;
use lilt_model::Failure;
use lilt_model::files::FileSet;
use lilt_model::ignore::Matcher;
use tokio::sync::oneshot;

use super::{BUFFER, Report, State, read_events};
use crate::watch::region::watch_failure;
use crate::watch::{Batch, Command, SubscriptionId};

struct Bench {
    folder: tempfile::TempDir,
    inotify: Inotify,
    state: State,
}

impl Bench {
    fn new() -> Bench {
        let inotify = Inotify::init().expect("an inotify instance");
        let state = State::new(inotify.watches());
        Bench { folder: tempfile::tempdir().expect("a temporary folder"), inotify, state }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it exists").join(name)
    }

    fn write(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
        fs::write(&path, "text").expect("a file");
        path
    }

    fn subscribe(&mut self) -> (SubscriptionId, oneshot::Receiver<Result<(), Failure>>) {
        let files = FileSet { roots: vec![self.path("")], ignores: vec![] };
        let (id, mut known) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        self.state.obey(Command::Subscribe { files, matcher: Arc::new(Matcher::default()), id, ready });
        (known.try_recv().expect("it is sent at once"), is_ready)
    }

    /// Reads and walks until nothing is left to do.
    fn turn(&mut self) {
        let mut buffer = vec![0; BUFFER];
        loop {
            for _ in 0..100 {
                read_events(&mut self.inotify, &mut buffer, &mut self.state).expect("events");
            }
            if !self.state.has_work() {
                return;
            }
            self.state.walk_some();
        }
    }

    fn watches_of_the_kernel(&self) -> usize {
        let info =
            fs::read_to_string(format!("/proc/self/fdinfo/{}", self.inotify.as_raw_fd())).expect("Linux");
        info.lines().filter(|line| line.starts_with("inotify wd")).count()
    }

    fn take(&mut self, id: SubscriptionId) -> Batch {
        let (reply, mut batch) = oneshot::channel();
        self.state.obey(Command::Take { id, reply });
        while self.state.delivery.wake().is_some() {
            self.state.delivery.flush();
        }
        batch.try_recv().expect("there is a batch")
    }
}

#[test]
fn events_that_the_kernel_drops_are_made_up_for() {
    let mut bench = Bench::new();
    let (first, second) = (bench.write("a"), bench.write("b"));
    let early = bench.write("deep/early");
    let doomed = bench.write("doomed/file");
    let (id, _ready) = bench.subscribe();
    bench.turn();

    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("Linux");
    let limit: usize = limit.trim().parse().expect("a number");
    for _ in 0..limit / 2 {
        // In turns, because the kernel merges equal events; at least four come of this.
        fs::write(&first, "2").expect("a write");
        fs::write(&second, "2").expect("a write");
    }
    let lost = bench.write("new/lost");
    fs::write(&early, "2").expect("a write");
    fs::remove_file(&doomed).expect("a removal");
    bench.turn();

    let paths = bench.take(id).paths;
    for path in [&first, &second, &lost, &early, &bench.path("doomed")] {
        assert!(paths.contains(path), "{} is not among {paths:?}", path.display());
    }
    let later = bench.write("new/later");
    bench.turn();
    assert_eq!(bench.take(id).paths, [later], "the new directory is watched");
}

#[test]
fn what_was_not_touched_is_not_reported_after_a_loss() {
    let bench = Bench::new();
    let file = bench.write("file");
    let now = std::time::SystemTime::now();
    assert!(Report::ChangedSince(now - std::time::Duration::from_secs(60)).wants(&file));
    assert!(!Report::ChangedSince(now + std::time::Duration::from_secs(60)).wants(&file));
    assert!(Report::ChangedSince(now + std::time::Duration::from_secs(60)).wants(&bench.path("gone")));
}

#[test]
fn the_limit_of_watches_is_told_once_and_with_the_remedy() {
    let mut bench = Bench::new();
    let (early, mut ready) = bench.subscribe();
    let region = *bench.state.regions.keys().next().expect("one region");
    bench.turn();
    assert_eq!(ready.try_recv(), Ok(Ok(())));

    // ENOSPC, as inotify_add_watch gives it; reaching the real limit would disturb the whole machine.
    let failure = watch_failure(&bench.path("x"), &io::Error::from_raw_os_error(28), 5);
    assert!(
        failure.hint.as_ref().expect("a hint").contains("sysctl fs.inotify.max_user_watches"),
        "{failure}"
    );
    bench.state.fail(region, failure.clone());
    bench.state.fail(region, Failure::environment("another"));
    let (_late, mut ready) = bench.subscribe();
    assert_eq!(ready.try_recv(), Ok(Err(failure.clone())), "who comes later is told at once");

    assert_eq!(bench.take(early).problem, Some(failure));
    let file = bench.write("file");
    bench.turn();
    assert_eq!(bench.take(early), Batch { paths: vec![file], problem: None }, "the rest goes on");
}

#[test]
fn the_kernel_keeps_no_watch_that_is_given_up() {
    let mut bench = Bench::new();
    bench.write("a/b/file");
    let (id, _ready) = bench.subscribe();
    bench.turn();
    assert_eq!(bench.watches_of_the_kernel(), 3);
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    fs::rename(bench.path("a"), elsewhere.path().join("a")).expect("a move out of sight");
    bench.turn();
    assert_eq!(bench.watches_of_the_kernel(), 1);
    bench.state.obey(Command::Unsubscribe { id });
    assert_eq!(bench.watches_of_the_kernel(), 0);
    assert_eq!(bench.state.table.count(), 0);
}
