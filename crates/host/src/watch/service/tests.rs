//! What needs the thread to stand still: here the test itself turns its loop.

mod replaced;

use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use inotify::Inotify;
use lilt_model::Failure;
use lilt_model::files::{ChangedPath, FileSet, Manner};
use lilt_model::ignore::Matcher;
use tokio::sync::oneshot;

use super::{BUFFER, Delayed, Report, State, read_events};
use crate::watch::mounts::Choice;
use crate::watch::poll::{Poller, Seen};
use crate::watch::{Batch, Command, SubscriptionId};

struct Bench {
    folder: tempfile::TempDir,
    state: State,
    seen: Receiver<Seen>,
}

impl Bench {
    fn new() -> Bench {
        let inotify = Inotify::init().expect("an inotify instance");
        let (bell, _) = std::os::unix::net::UnixStream::pair().expect("a bell");
        bell.set_nonblocking(true).expect("it is ours");
        let (poller, seen) = Poller::new(bell);
        let state = State::new(Some(inotify), poller, Choice::BySystem);
        let folder = tempfile::tempdir().expect("a temporary folder");
        Bench { folder, state, seen }
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
        self.subscribe_with(name, Manner::default())
    }

    fn subscribe_with(
        &mut self,
        name: &str,
        manner: Manner,
    ) -> (SubscriptionId, oneshot::Receiver<Result<(), Failure>>) {
        self.subscribe_files(FileSet::new(vec![self.path(name)], vec![]), manner)
    }

    fn subscribe_files(
        &mut self,
        files: FileSet,
        manner: Manner,
    ) -> (SubscriptionId, oneshot::Receiver<Result<(), Failure>>) {
        let (id, mut known) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        self.state.obey(Command::Subscribe {
            files,
            matcher: Arc::new(Matcher::default()),
            manner,
            id,
            ready,
        });
        (known.try_recv().expect("it is sent at once"), is_ready)
    }

    /// Reads and walks until nothing is left to do.
    fn turn(&mut self) {
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

    /// Waits for the next thing that a look finds.
    fn look(&mut self) {
        self.turn();
        let seen = self.seen.recv_timeout(DEADLINE).expect("something is seen");
        self.state.looked(seen);
        self.turn();
    }

    fn watches_of_the_kernel(&self) -> usize {
        let info = fs::read_to_string(format!(
            "/proc/self/fdinfo/{}",
            self.state.table.inotify().expect("an instance").as_raw_fd()
        ))
        .expect("Linux");
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
fn region_that_the_kernel_had_no_memory_for_becomes_ready_later() {
    let mut bench = Bench::new();
    let (_, mut ready) = bench.subscribe();
    let region = *bench.state.regions.keys().next().expect("it has a region");
    bench.state.delay(Delayed::Settle(region, Report::Nothing));
    bench.turn();
    bench.state.retry_delayed();
    assert!(ready.try_recv().is_err(), "it is not time yet");
    bench.state.retry = Some(Instant::now());
    bench.state.retry_delayed();
    bench.turn();
    assert_eq!(ready.try_recv(), Ok(Ok(())));
}

/// Files are saved, and before that is told the Tiltfile asks for others, or for another manner.
#[test]
fn what_one_has_seen_is_told_by_another_that_takes_its_place() {
    let mut bench = Bench::new();
    fs::create_dir_all(bench.path("inside")).expect("a directory");
    let (first, _ready) = bench.subscribe();
    bench.turn();
    let inside = bench.write("inside/before");
    bench.write("outside");
    bench.turn();
    let manner = Manner { together: vec![bench.path("inside")], ..Manner::default() };
    let (second, _ready) = bench.subscribe_with("inside", manner);
    bench.turn();
    let (done, mut is_done) = oneshot::channel();
    bench.state.obey(Command::TakeOver { from: first, to: second, done });
    is_done.try_recv().expect("it is done at once");
    let after = bench.write("inside/later");
    bench.turn();
    assert_eq!(bench.take(second).paths, [inside, after]);
    assert!(!bench.state.subscribers.contains_key(&first));
}

/// Two images of one pod, whose steps must find all files of a burst.
#[test]
fn a_group_is_told_of_a_burst_at_once() {
    let mut bench = Bench::new();
    fs::create_dir_all(bench.path("one")).expect("a directory");
    fs::create_dir_all(bench.path("two")).expect("a directory");
    let manner = |name: &str, bench: &Bench| Manner {
        together: vec![bench.path(name)],
        group: Some("pod".into()),
        ..Manner::default()
    };
    let (first, _ready) = bench.subscribe_with("one", manner("one", &bench));
    let (second, _ready) = bench.subscribe_with("two", manner("two", &bench));
    let (alone, _ready) = bench.subscribe_with("two", Manner { group: None, ..manner("two", &bench) });
    bench.turn();
    let (one, two) = (bench.write("one/file"), bench.write("two/file"));
    bench.turn();
    let (reply, mut other) = oneshot::channel();
    bench.state.obey(Command::Take { id: second, reply });
    let batch = |paths: PathBuf, companions| Batch { paths: vec![paths], companions, ..Batch::default() };
    assert_eq!(bench.take(first), batch(one.clone(), 1));
    assert_eq!(other.try_recv().expect("it is told in the same moment"), batch(two.clone(), 1));
    assert_eq!(bench.take(alone), batch(two, 0));

    // Nobody waits for those who have seen nothing.
    fs::write(&one, "other").expect("a write");
    bench.turn();
    assert_eq!(bench.take(first), batch(one, 0));
}

#[test]
fn modes_of_directories_are_seen_where_files_are_looked_at() {
    let mut bench = Bench::new();
    let file = bench.write("src/deep/file");
    let folder = bench.path("src/deep");
    let (id, _ready) =
        bench.subscribe_with("src", Manner { modes: vec![bench.path("src")], ..Manner::default() });
    let (other, _ready) = bench.subscribe_to("src");
    bench.turn();
    let seen = |bench: &mut Bench, modes: &[&PathBuf]| {
        let region = bench.state.by_root[&bench.path("src")][0];
        let modes = modes.iter().map(|path| ((*path).clone(), false)).collect();
        bench.state.looked(Seen { region, paths: vec![], folders: vec![], modes, first: false });
    };
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("it is ours");
    seen(&mut bench, &[&folder]);
    let told = bench.take(id).paths;
    assert_eq!(told, std::slice::from_ref(&folder));
    assert!(ChangedPath::takes_no_place(&told[0]));
    // It is not told again, nor to whom it does not matter.
    seen(&mut bench, &[&folder]);
    fs::write(&file, "other").expect("a write");
    bench.turn();
    assert_eq!((bench.take(id).paths, bench.take(other).paths), (vec![file.clone()], vec![file]));
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

    let Batch { paths, lost: is_told, .. } = bench.take(id);
    assert!(is_told);
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

/// Long enough that only a hang runs into it.
const DEADLINE: Duration = Duration::from_secs(20);

/// Below its own limit and above none of the system's: reaching the real one would disturb the whole machine.
#[test]
fn beyond_the_limit_of_watches_files_are_looked_at() {
    let mut bench = Bench::new();
    let watched = bench.write("file");
    let looked_at = bench.write("deep/down/file");
    bench.state.table.limit = 1;
    let (id, mut ready) = bench.subscribe();
    bench.turn();
    assert!(ready.try_recv().is_err(), "not before the first look");
    bench.look();
    assert_eq!(ready.try_recv(), Ok(Ok(())));
    let notice = bench.take(id).notice.expect("it is said");
    assert!(notice.message.contains("limit of watched directories is reached (1 watched"), "{notice}");
    assert!(notice.hint.expect("a hint").contains("sysctl fs.inotify.max_user_watches"));

    fs::write(&watched, "2").expect("a write");
    bench.turn();
    assert_eq!(bench.take(id), Batch { paths: vec![watched], ..Batch::default() }, "and not said again");
    fs::write(&looked_at, "2").expect("a write");
    let new = bench.write("deep/new/file");
    bench.look();
    assert_eq!(bench.take(id).paths, [looked_at.clone(), new]);
    fs::remove_dir_all(bench.path("deep/down")).expect("a removal");
    bench.look();
    assert_eq!(bench.take(id).paths, [bench.path("deep/down")], "of a folder that is gone, only itself");
    bench.state.obey(Command::Unsubscribe { id });
    assert!(bench.state.regions.is_empty());
}

#[test]
fn without_an_instance_everything_is_looked_at() {
    let mut bench = Bench::new();
    bench.state.table = crate::watch::table::Table::new(None);
    let file = bench.write("a/file");
    let (id, mut ready) = bench.subscribe();
    bench.look();
    assert_eq!(ready.try_recv(), Ok(Ok(())));
    assert!(bench.take(id).notice.expect("it is said").hint.expect("a hint").contains("max_user_instances"));
    fs::write(&file, "2").expect("a write");
    bench.look();
    assert_eq!(bench.take(id).paths, [file]);
}

#[test]
fn the_kernel_keeps_no_watch_that_is_given_up() {
    let mut bench = Bench::new();
    bench.write("a/b/file");
    let (id, _ready) = bench.subscribe();
    bench.turn();
    // Those of the tree, and the directory above it.
    assert_eq!(bench.watches_of_the_kernel(), 4);
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    fs::rename(bench.path("a"), elsewhere.path().join("a")).expect("a move out of sight");
    bench.turn();
    assert_eq!(bench.watches_of_the_kernel(), 2);
    bench.state.obey(Command::Unsubscribe { id });
    assert_eq!(bench.watches_of_the_kernel(), 0);
    assert_eq!(bench.state.table.count(), 0);
}

#[test]
fn few_directories_wait_at_a_time_and_no_region_waits_for_another() {
    let mut bench = Bench::new();
    for index in 0..1000 {
        let name = format!("big/{}/{}/{}", index / 100, index / 10 % 10, index % 10);
        fs::create_dir_all(bench.path(&name)).expect("a directory");
    }
    bench.write("small/inner/file");
    let (_, mut big) = bench.subscribe_to("big");
    let (_, mut small) = bench.subscribe_to("small");
    bench.state.walk_some();
    assert_eq!(small.try_recv(), Ok(Ok(())), "it had its turns");
    assert!(big.try_recv().is_err());
    while bench.state.has_work() {
        let waiting: usize = bench.state.regions.values().map(|region| region.walks.len()).sum();
        assert!(waiting <= 3 * 10, "{waiting} wait: some of each level, not all of one");
        assert_eq!(bench.state.turns.len(), 1, "a region is in line once");
        bench.state.walk_some();
    }
    assert_eq!(big.try_recv(), Ok(Ok(())));
    // Two trees, and the directory above both.
    assert_eq!(bench.state.table.count(), 1 + 10 + 100 + 1000 + 2 + 1);
}

/// Both paths of a directory go at once, and the numbers of their nodes are used again for what is watched instead.
#[test]
fn a_directory_that_is_gone_is_forgotten_by_all_its_paths() {
    let mut bench = Bench::new();
    bench.write("real/file");
    let link = |bench: &Bench| {
        std::os::unix::fs::symlink(bench.path("real"), bench.path("link")).expect("a link");
    };
    link(&bench);
    let (by_path, _ready) = bench.subscribe_to("real");
    let (by_link, _also_ready) = bench.subscribe_to("link");
    bench.turn();
    fs::remove_dir_all(bench.path("real")).expect("a removal");
    bench.turn();
    let file = bench.write("real/again");
    fs::remove_file(bench.path("link")).expect("a removal");
    link(&bench);
    bench.turn();
    assert!(bench.take(by_path).paths.contains(&file));
    assert!(bench.take(by_link).paths.contains(&bench.path("link/again")));
    for id in [by_path, by_link] {
        bench.state.obey(Command::Unsubscribe { id });
    }
    assert_eq!((bench.state.table.count(), bench.watches_of_the_kernel()), (0, 0));
}
