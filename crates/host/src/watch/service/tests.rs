//! Tests that need control over the thread: the test runs its loop step by step.

mod replaced;

use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use inotify::Inotify;
use lilt_model::Failure;
use lilt_model::files::{ChangedPath, Existence, FileSet, WatchOptions};
use lilt_model::ignore::Matcher;
use tokio::sync::oneshot;

use super::{BUFFER, Delayed, Report, State, read_events};
use crate::watch::WatchMode;
use crate::watch::poll::{PollResult, Poller};
use crate::watch::{Batch, Command, Labelled, SubscriptionId};

struct Fixture {
    folder: tempfile::TempDir,
    state: State<&'static str>,
    results: Receiver<PollResult>,
}

impl Fixture {
    fn new() -> Fixture {
        let inotify = Inotify::init().expect("an inotify instance");
        let (waker, _) = std::os::unix::net::UnixStream::pair().expect("a waker");
        waker.set_nonblocking(true).expect("it is ours");
        let (poller, results) = Poller::new(waker);
        let state = State::new(Some(inotify), poller, WatchMode::Auto);
        let folder = tempfile::tempdir().expect("a temporary folder");
        Fixture { folder, state, results }
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
        self.subscribe_to("")
    }

    fn subscribe_to(&mut self, name: &str) -> (SubscriptionId, oneshot::Receiver<Result<(), Failure>>) {
        self.subscribe_with(name, WatchOptions::default())
    }

    fn subscribe_with(
        &mut self,
        name: &str,
        options: WatchOptions,
    ) -> (SubscriptionId, oneshot::Receiver<Result<(), Failure>>) {
        self.subscribe_files(FileSet::new(vec![self.path(name)], vec![]), options)
    }

    fn subscribe_files(
        &mut self,
        files: FileSet,
        options: WatchOptions,
    ) -> (SubscriptionId, oneshot::Receiver<Result<(), Failure>>) {
        let (id, mut known) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        self.state.handle(Command::Subscribe {
            label: "files",
            files,
            matcher: Arc::new(Matcher::default()),
            options,
            id,
            ready,
        });
        (known.try_recv().expect("it is sent at once"), is_ready)
    }

    /// Reads events and walks until nothing is left to do.
    fn run_until_idle(&mut self) {
        let mut buffer = vec![0; BUFFER];
        loop {
            for _ in 0..100 {
                read_events(&mut buffer, &mut self.state).expect("events");
            }
            if !self.state.has_work() {
                return;
            }
            self.state.walk_some();
        }
    }

    /// Waits for the next result of a poll.
    fn await_poll(&mut self) {
        self.run_until_idle();
        let results = self.results.recv_timeout(DEADLINE).expect("something is seen");
        self.state.apply_poll_result(results);
        self.run_until_idle();
    }

    fn kernel_watch_count(&self) -> usize {
        let info = fs::read_to_string(format!(
            "/proc/self/fdinfo/{}",
            self.state.table.inotify().expect("an instance").as_raw_fd()
        ))
        .expect("Linux");
        info.lines().filter(|line| line.starts_with("inotify wd")).count()
    }

    fn take(&mut self, id: SubscriptionId) -> Batch {
        let mut batches = self.take_all(id);
        assert_eq!(batches.len(), 1, "it is delivered alone");
        batches.remove(0).batch
    }

    fn take_all(&mut self, id: SubscriptionId) -> Vec<Labelled<&'static str>> {
        let (reply, mut batches) = oneshot::channel();
        self.state.handle(Command::Take { id, reply });
        self.flush();
        batches.try_recv().expect("there is a batch")
    }

    fn flush(&mut self) {
        while self.state.delivery.next_check().is_some() {
            self.state.delivery.flush();
        }
    }
}

#[test]
fn region_is_ready_after_retry_of_shortage() {
    let mut fixture = Fixture::new();
    let (_, mut ready) = fixture.subscribe();
    let region = *fixture.state.regions.keys().next().expect("it has a region");
    fixture.state.delay(Delayed::SetUp(region, Report::Nothing));
    fixture.run_until_idle();
    fixture.state.retry_delayed();
    assert!(ready.try_recv().is_err(), "it is not time yet");
    fixture.state.retry = Some(Instant::now());
    fixture.state.retry_delayed();
    fixture.run_until_idle();
    assert_eq!(ready.try_recv(), Ok(Ok(())));
}

#[test]
fn batch_tells_which_files_are_new_or_gone() {
    let mut fixture = Fixture::new();
    for name in ["changed", "deleted", "moved", "recreated", "replaced"] {
        fixture.write(name);
    }
    let (id, _ready) = fixture.subscribe();
    fixture.run_until_idle();
    let before = crate::clock::now();
    let paths = |names: &[&str]| names.iter().map(|name| fixture.path(name)).collect::<Vec<_>>();
    for name in ["changed", "created", "later", "recreated", "short"] {
        if name == "recreated" {
            fs::remove_file(fixture.path(name)).expect("a removal");
        }
        fixture.write(name);
    }
    fs::remove_file(fixture.path("deleted")).expect("a removal");
    fs::remove_file(fixture.path("short")).expect("a removal");
    for (from, to) in [("moved", "another"), ("created", "renamed"), ("later", "replaced")] {
        fs::rename(fixture.path(from), fixture.path(to)).expect("a move");
    }
    std::os::unix::fs::symlink("changed", fixture.path("link")).expect("a link");
    fixture.write("created");
    let (created, deleted) = (paths(&["created", "link"]), paths(&["deleted", "moved"]));
    fixture.run_until_idle();
    let existence = fixture.take(id).existence;
    assert_eq!((existence.created, existence.deleted), (created, deleted));
    let since = existence.created_since.expect("some were created");
    assert!(before <= since && since <= crate::clock::now());

    fixture.write("created");
    fixture.run_until_idle();
    assert_eq!(fixture.take(id).existence, Existence::default(), "it was there");
    fs::remove_file(fixture.path("created")).expect("a removal");
    fixture.run_until_idle();
    assert_eq!(fixture.take(id).existence.deleted, [fixture.path("created")]);
}

/// Both subscriptions saw the file: what it was at first, the first one knows.
#[test]
fn take_over_keeps_which_files_are_new() {
    let mut fixture = Fixture::new();
    let file = fixture.write("file");
    let (first, _ready) = fixture.subscribe();
    fixture.run_until_idle();
    fs::remove_file(&file).expect("a removal");
    fixture.run_until_idle();
    let (second, _ready) =
        fixture.subscribe_with("", WatchOptions { group: Some("a".into()), ..WatchOptions::default() });
    fixture.run_until_idle();
    fixture.write("file");
    let created = fixture.write("created");
    fixture.run_until_idle();
    let (done, _is_done) = oneshot::channel();
    fixture.state.handle(Command::TakeOver { from: first, to: second, done });
    let batch = fixture.take(second);
    assert_eq!((batch.paths, batch.existence.created), (vec![created.clone(), file], vec![created]));
}

/// Files are saved, and before the batch is delivered, a Tiltfile reload changes the watched files or the options.
#[test]
fn take_over_delivers_changes_of_replaced_subscription() {
    let mut fixture = Fixture::new();
    fs::create_dir_all(fixture.path("inside")).expect("a directory");
    let (first, _ready) = fixture.subscribe();
    fixture.run_until_idle();
    let inside = fixture.write("inside/before");
    fixture.write("outside");
    fixture.run_until_idle();
    let options = WatchOptions { batched: vec![fixture.path("inside")], ..WatchOptions::default() };
    let (second, _ready) = fixture.subscribe_with("inside", options);
    fixture.run_until_idle();
    let (done, mut is_done) = oneshot::channel();
    fixture.state.handle(Command::TakeOver { from: first, to: second, done });
    is_done.try_recv().expect("it is done at once");
    let after = fixture.write("inside/later");
    fixture.run_until_idle();
    assert_eq!(fixture.take(second).paths, [inside, after]);
    assert!(!fixture.state.subscribers.contains_key(&first));
}

/// Two images of one pod, whose `run` steps need all files of a burst.
fn subscribe_group(fixture: &mut Fixture) -> [SubscriptionId; 3] {
    let options = |name: &str, fixture: &Fixture| WatchOptions {
        batched: vec![fixture.path(name)],
        group: Some("pod".into()),
        ..WatchOptions::default()
    };
    let (first, _) = fixture.subscribe_with("one", options("one", fixture));
    let (second, _) = fixture.subscribe_with("two", options("two", fixture));
    let (alone, _) = fixture.subscribe_with("two", WatchOptions { group: None, ..options("two", fixture) });
    fixture.run_until_idle();
    [first, second, alone]
}

fn paths<'a>(batches: &'a [Labelled<&'static str>]) -> Vec<(SubscriptionId, &'a [PathBuf])> {
    batches.iter().map(|it| (it.id, &it.batch.paths[..])).collect()
}

#[test]
fn group_gets_one_delivery_for_a_burst() {
    let mut fixture = Fixture::new();
    let (one, two) = (fixture.write("one/file"), fixture.write("two/file"));
    let [first, second, alone] = subscribe_group(&mut fixture);
    fs::write(&one, "new").expect("a write");
    fs::write(&two, "new").expect("a write");
    fixture.run_until_idle();
    let (reply, mut other) = oneshot::channel();
    fixture.state.handle(Command::Take { id: second, reply });
    let batches = fixture.take_all(first);
    assert_eq!(paths(&batches), [(first, &[one.clone()][..]), (second, &[two.clone()][..])]);
    other.try_recv().expect_err("the other one goes on waiting");
    assert_eq!(fixture.take(alone).paths, [two]);

    // Members of the group that have seen nothing delay nobody.
    fs::write(&one, "other").expect("a write");
    fixture.run_until_idle();
    assert_eq!(fixture.take(first).paths, [one]);
}

/// The watch of one image is no longer wanted in the moment in which it gets the changes of both.
#[test]
fn undelivered_changes_of_group_go_to_the_others() {
    for is_read in [false, true] {
        let mut fixture = Fixture::new();
        let (one, two) = (fixture.write("one/file"), fixture.write("two/file"));
        let [first, second, _] = subscribe_group(&mut fixture);
        fs::write(&one, "new").expect("a write");
        fs::write(&two, "new").expect("a write");
        fixture.run_until_idle();
        let unread = if is_read {
            fixture.take_all(first)
        } else {
            let (reply, _) = oneshot::channel();
            fixture.state.handle(Command::Take { id: first, reply });
            fixture.flush();
            Vec::new()
        };
        fixture.state.handle(Command::Unsubscribe { id: first, unread });
        assert_eq!(fixture.take(second).paths, std::slice::from_ref(&two));
    }
}

#[test]
fn mode_changes_are_reported_where_files_are_polled() {
    let mut fixture = Fixture::new();
    let file = fixture.write("src/deep/file");
    let folder = fixture.path("src/deep");
    let (id, _ready) = fixture
        .subscribe_with("src", WatchOptions { modes: vec![fixture.path("src")], ..WatchOptions::default() });
    let (other, _ready) = fixture.subscribe_to("src");
    fixture.run_until_idle();
    let results = |fixture: &mut Fixture, modes: &[&PathBuf]| {
        let region = fixture.state.by_root[&fixture.path("src")][0];
        let modes = modes.iter().map(|path| ((*path).clone(), false)).collect();
        fixture.state.apply_poll_result(PollResult {
            region,
            paths: vec![],
            folders: vec![],
            modes,
            first: false,
        });
    };
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("it is ours");
    results(&mut fixture, &[&folder]);
    let reported_reasons = fixture.take(id).paths;
    assert_eq!(reported_reasons, std::slice::from_ref(&folder));
    assert!(ChangedPath::takes_no_place(&reported_reasons[0]));
    // It is reported neither twice nor to other subscriptions.
    results(&mut fixture, &[&folder]);
    fs::write(&file, "other").expect("a write");
    fixture.run_until_idle();
    assert_eq!((fixture.take(id).paths, fixture.take(other).paths), (vec![file.clone()], vec![file]));
}

#[test]
fn overflow_rescans_changed_files() {
    let mut fixture = Fixture::new();
    let (first, second) = (fixture.write("a"), fixture.write("b"));
    let early = fixture.write("deep/early");
    let doomed = fixture.write("doomed/file");
    let (id, _ready) = fixture.subscribe();
    fixture.run_until_idle();

    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("Linux");
    let limit: usize = limit.trim().parse().expect("a number");
    for _ in 0..limit / 2 {
        // Alternating, because the kernel merges equal events; this makes at least four.
        fs::write(&first, "2").expect("a write");
        fs::write(&second, "2").expect("a write");
    }
    let lost = fixture.write("new/lost");
    fs::write(&early, "2").expect("a write");
    fs::remove_file(&doomed).expect("a removal");
    fixture.run_until_idle();

    let Batch { paths, lost: is_told, existence, .. } = fixture.take(id);
    assert!(is_told && existence.is_empty());
    for path in [&first, &second, &lost, &early, &fixture.path("doomed")] {
        assert!(paths.contains(path), "{} is not among {paths:?}", path.display());
    }
    let later = fixture.write("new/later");
    fixture.run_until_idle();
    assert_eq!(fixture.take(id).paths, [later], "the new directory is watched");
}

#[test]
fn overflow_does_not_report_unchanged_files() {
    let fixture = Fixture::new();
    let file = fixture.write("file");
    let now = std::time::SystemTime::now();
    assert!(Report::ChangedSince(now - std::time::Duration::from_secs(60)).includes(&file));
    assert!(!Report::ChangedSince(now + std::time::Duration::from_secs(60)).includes(&file));
    assert!(Report::ChangedSince(now + std::time::Duration::from_secs(60)).includes(&fixture.path("gone")));
}

/// Long enough that only a hang runs into it.
const DEADLINE: Duration = Duration::from_secs(20);

/// Uses a limit of its own: reaching the system's would disturb the whole machine.
#[test]
fn files_beyond_watch_limit_are_polled() {
    let mut fixture = Fixture::new();
    let watched = fixture.write("file");
    let is_polled = fixture.write("deep/down/file");
    fixture.state.table.limit = 1;
    let (id, mut ready) = fixture.subscribe();
    fixture.run_until_idle();
    assert!(ready.try_recv().is_err(), "not before the first look");
    fixture.await_poll();
    assert_eq!(ready.try_recv(), Ok(Ok(())));
    let notice = fixture.take(id).notice.expect("it is said");
    assert!(notice.message.contains("limit of watched directories is reached (1 watched"), "{notice}");
    assert!(notice.hint.expect("a hint").contains("sysctl fs.inotify.max_user_watches"));

    fs::write(&watched, "2").expect("a write");
    fixture.run_until_idle();
    assert_eq!(fixture.take(id), Batch { paths: vec![watched], ..Batch::default() }, "and not said again");
    fs::write(&is_polled, "2").expect("a write");
    let new = fixture.write("deep/new/file");
    fixture.await_poll();
    assert_eq!(fixture.take(id).paths, [is_polled.clone(), new]);
    fs::remove_dir_all(fixture.path("deep/down")).expect("a removal");
    fixture.await_poll();
    assert_eq!(fixture.take(id).paths, [fixture.path("deep/down")], "of a folder that is gone, only itself");
    fixture.state.handle(Command::Unsubscribe { id, unread: Vec::new() });
    assert!(fixture.state.regions.is_empty());
}

#[test]
fn all_files_are_polled_without_inotify_instance() {
    let mut fixture = Fixture::new();
    fixture.state.table = crate::watch::table::Table::new(None);
    let file = fixture.write("a/file");
    let (id, mut ready) = fixture.subscribe();
    fixture.await_poll();
    assert_eq!(ready.try_recv(), Ok(Ok(())));
    assert!(
        fixture.take(id).notice.expect("it is said").hint.expect("a hint").contains("max_user_instances")
    );
    fs::write(&file, "2").expect("a write");
    fixture.await_poll();
    assert_eq!(fixture.take(id).paths, [file]);
}

#[test]
fn released_watches_are_removed_from_kernel() {
    let mut fixture = Fixture::new();
    fixture.write("a/b/file");
    let (id, _ready) = fixture.subscribe();
    fixture.run_until_idle();
    // The tree and its parent directory.
    assert_eq!(fixture.kernel_watch_count(), 4);
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    fs::rename(fixture.path("a"), elsewhere.path().join("a")).expect("a move out of sight");
    fixture.run_until_idle();
    assert_eq!(fixture.kernel_watch_count(), 2);
    fixture.state.handle(Command::Unsubscribe { id, unread: Vec::new() });
    assert_eq!(fixture.kernel_watch_count(), 0);
    assert_eq!(fixture.state.table.count(), 0);
}

#[test]
fn walks_are_fair_and_queue_few_directories() {
    let mut fixture = Fixture::new();
    for index in 0..1000 {
        let name = format!("big/{}/{}/{}", index / 100, index / 10 % 10, index % 10);
        fs::create_dir_all(fixture.path(&name)).expect("a directory");
    }
    fixture.write("small/inner/file");
    let (_, mut big) = fixture.subscribe_to("big");
    let (_, mut small) = fixture.subscribe_to("small");
    fixture.state.walk_some();
    assert_eq!(small.try_recv(), Ok(Ok(())), "it had its turns");
    assert!(big.try_recv().is_err());
    while fixture.state.has_work() {
        let waiting: usize = fixture.state.regions.values().map(|region| region.pending_walks.len()).sum();
        assert!(waiting <= 3 * 10, "{waiting} wait: some of each level, not all of one");
        assert_eq!(fixture.state.turns.len(), 1, "a region is in line once");
        fixture.state.walk_some();
    }
    assert_eq!(big.try_recv(), Ok(Ok(())));
    // Two trees and their common parent directory.
    assert_eq!(fixture.state.table.count(), 1 + 10 + 100 + 1000 + 2 + 1);
}

/// Both paths of a directory are removed at once, and their node ids are reused for the directories watched instead.
#[test]
fn deleted_directory_is_removed_under_all_its_paths() {
    let mut fixture = Fixture::new();
    fixture.write("real/file");
    let link = |fixture: &Fixture| {
        std::os::unix::fs::symlink(fixture.path("real"), fixture.path("link")).expect("a link");
    };
    link(&fixture);
    let (by_path, _ready) = fixture.subscribe_to("real");
    let (by_link, _also_ready) = fixture.subscribe_to("link");
    fixture.run_until_idle();
    fs::remove_dir_all(fixture.path("real")).expect("a removal");
    fixture.run_until_idle();
    let file = fixture.write("real/again");
    fs::remove_file(fixture.path("link")).expect("a removal");
    link(&fixture);
    fixture.run_until_idle();
    assert!(fixture.take(by_path).paths.contains(&file));
    assert!(fixture.take(by_link).paths.contains(&fixture.path("link/again")));
    for id in [by_path, by_link] {
        fixture.state.handle(Command::Unsubscribe { id, unread: Vec::new() });
    }
    assert_eq!((fixture.state.table.count(), fixture.kernel_watch_count()), (0, 0));
}
