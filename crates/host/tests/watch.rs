//! Tests with real files in temporary folders and real inotify.

// clippy.toml restricts these methods to host; these are its tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_host::watch::{Batch, Labelled, Subscription, WatchMode, Watcher};
use lilt_model::files::{ChangedPath, FileSet, IgnoreRule, WatchOptions};
use tempfile::TempDir;
use tokio::time::timeout;

/// Long enough that only a lost event runs into it.
const DEADLINE: Duration = Duration::from_secs(20);

struct Fixture {
    folder: TempDir,
    watcher: Watcher<()>,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture {
            folder: tempfile::tempdir().expect("a temporary folder"),
            watcher: Watcher::start(WatchMode::default()).expect("a watcher"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it exists").join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    fn make(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("a directory");
        path
    }

    async fn watch(&self, roots: &[&str], ignores: Vec<IgnoreRule>) -> Changes {
        let roots = roots.iter().map(|root| self.path(root)).collect();
        let mut subscription =
            self.watcher.subscribe((), FileSet::new(roots, ignores)).expect("a subscription");
        within(subscription.ready()).await.expect("all watches are placed");
        Changes { subscription, seen: BTreeSet::new(), reported: BTreeSet::new() }
    }

    /// Returns the number of watches, after all earlier commands were handled.
    async fn count(&self) -> usize {
        within(self.watcher.watch_count()).await.expect("the watcher runs")
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("in time")
}

struct Changes {
    subscription: Subscription<()>,
    seen: BTreeSet<PathBuf>,
    reported: BTreeSet<PathBuf>,
}

impl Changes {
    /// Collects batches until this path has arrived and returns all new paths. On a busy machine one write may be two
    /// batches: paths that an earlier call has returned are ignored.
    async fn until(&mut self, path: &Path) -> BTreeSet<PathBuf> {
        self.until_all(std::slice::from_ref(&path.to_path_buf())).await
    }

    async fn until_all(&mut self, paths: &[PathBuf]) -> BTreeSet<PathBuf> {
        while !paths.iter().all(|path| self.seen.contains(path)) {
            let batch = timeout(DEADLINE, self.subscription.next()).await;
            let batch = batch.unwrap_or_else(|_| {
                let missing = paths.iter().find(|path| !self.seen.contains(*path));
                panic!(
                    "{missing:?} never came, though {} others did: {:?}",
                    self.seen.len(),
                    self.seen.first()
                )
            });
            let batch = only(batch.expect("the watcher runs"));
            assert_eq!(batch.problem, None);
            assert!(batch.paths.is_sorted() && !batch.paths.is_empty(), "{batch:?}");
            self.seen.extend(batch.paths);
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.retain(|path| !self.reported.contains(path) || paths.contains(path));
        self.reported.extend(seen.iter().cloned());
        seen
    }
}

/// The batch of a subscription without a group.
fn only(batches: Vec<Labelled<()>>) -> Batch {
    let [Labelled { batch, .. }] = <[_; 1]>::try_from(batches).expect("one batch");
    batch
}

fn set<const N: usize>(paths: [&PathBuf; N]) -> BTreeSet<PathBuf> {
    paths.into_iter().cloned().collect()
}

#[tokio::test]
async fn take_over_loses_no_change() {
    let fixture = Fixture::new();
    let folder = fixture.make("folder");
    let files = FileSet::new(vec![folder.clone()], vec![]);
    let mut old = fixture.watcher.subscribe((), files.clone()).expect("a subscription");
    within(old.ready()).await.expect("all watches are placed");
    for round in 0..100 {
        // The request is sometimes answered at the moment of the change.
        let _ = timeout(Duration::from_micros(round * 40), old.next()).await;
        let path = fixture.write(&format!("folder/{round}"), "text");
        let batched = if round % 2 == 0 { vec![] } else { vec![folder.clone()] };
        let options = WatchOptions { batched, ..WatchOptions::default() };
        let mut new = fixture.watcher.subscribe_with((), files.clone(), options).expect("a subscription");
        within(new.ready()).await.expect("all watches are placed");
        let reported = within(new.take_over(old)).await;
        if !reported.is_some_and(|batches| only(batches).paths.contains(&path)) {
            let batch = only(within(new.next()).await.expect("the watcher runs"));
            assert!(batch.paths.contains(&path), "round {round}: {batch:?}");
        }
        old = new;
    }
}

#[tokio::test]
async fn write_is_one_batch() {
    let fixture = Fixture::new();
    let file = fixture.write("a.txt", "1");
    let mut changes = fixture.watch(&[""], vec![]).await;
    fs::write(&file, "2").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));
}

/// Writes a file in pieces, a few milliseconds apart, and keeps it open until the end. Returns the longest pause.
fn write_in_pieces(path: &Path, pieces: usize) -> Duration {
    let mut file = fs::File::create(path).expect("a file");
    let mut longest = Duration::ZERO;
    for _ in 0..pieces {
        let before = Instant::now();
        file.write_all(&[0; 1000]).expect("a write");
        std::thread::sleep(Duration::from_millis(10));
        longest = longest.max(before.elapsed());
    }
    longest
}

#[tokio::test]
async fn file_being_written_is_reported_when_closed() {
    let fixture = Fixture::new();
    let (big, quick) = (fixture.path("big"), fixture.path("quick"));
    let mut changes = fixture.watch(&[""], vec![]).await;
    loop {
        let writer = tokio::task::spawn_blocking({
            let big = big.clone();
            move || write_in_pieces(&big, 30)
        });
        changes.until(&big).await;
        let size = fs::metadata(&big).expect("it is there").len();
        // On a busy machine the writer may have paused for so long that the file was reported meanwhile.
        if writer.await.expect("it was written") < Duration::from_millis(150) {
            assert_eq!(size, 30_000);
            break;
        }
        fs::write(&quick, "").expect("a write");
        changes.until(&quick).await;
    }
}

#[tokio::test]
async fn atomic_save_of_watched_file_is_reported() {
    let fixture = Fixture::new();
    let file = fixture.write("src/a.txt", "1");
    let other = fixture.write("src/b.txt", "1");
    let mut changes = fixture.watch(&["src/a.txt"], vec![]).await;
    for _ in 0..3 {
        fs::write(&other, "not watched").expect("a write");
        let temporary = fixture.write("src/a.txt.tmp", "2");
        fs::rename(&temporary, &file).expect("a rename");
        assert_eq!(changes.until(&file).await, set([&file]));
    }
    fs::remove_file(&file).expect("a removal");
    assert_eq!(changes.until(&file).await, set([&file]));
    fs::write(&file, "again").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));
}

#[tokio::test]
async fn renames_and_deletions_are_reported() {
    let fixture = Fixture::new();
    let inside = fixture.write("watched/a", "1");
    let outside = fixture.write("elsewhere/b", "1");
    let mut changes = fixture.watch(&["watched"], vec![]).await;

    let arrived = fixture.path("watched/b");
    fs::rename(&outside, &arrived).expect("a rename in");
    assert_eq!(changes.until(&arrived).await, set([&arrived]));
    fs::rename(&inside, fixture.path("elsewhere/a")).expect("a rename out");
    assert_eq!(changes.until(&inside).await, set([&inside]));
    fs::remove_file(&arrived).expect("a deletion");
    assert_eq!(changes.until(&arrived).await, set([&arrived]));
}

#[tokio::test]
async fn moved_directories_report_their_files() {
    let fixture = Fixture::new();
    fixture.make("watched/old");
    fixture.write("watched/old/deep/a", "1");
    fixture.write("elsewhere/new/deep/b", "1");
    let mut changes = fixture.watch(&["watched"], vec![]).await;
    // The parent directory of a tree is watched, too.
    assert_eq!(fixture.count().await, 4);

    fs::rename(fixture.path("elsewhere/new"), fixture.path("watched/new")).expect("a rename in");
    let arrived = fixture.path("watched/new/deep/b");
    assert_eq!(changes.until(&arrived).await, set([&arrived]));
    assert_eq!(fixture.count().await, 6);

    fs::rename(fixture.path("watched/old"), fixture.path("elsewhere/old")).expect("a rename out");
    let left = fixture.path("watched/old");
    assert_eq!(changes.until(&left).await, set([&left]));
    assert_eq!(fixture.count().await, 4);

    fixture.write("elsewhere/old/deep/a", "no longer ours");
    fs::rename(fixture.path("watched/new"), fixture.path("watched/newer")).expect("a rename inside");
    let renamed = fixture.path("watched/newer/deep/b");
    assert_eq!(changes.until(&renamed).await, set([&fixture.path("watched/new"), &renamed]));
    fs::write(&renamed, "2").expect("a write under the new name");
    assert_eq!(changes.until(&renamed).await, set([&renamed]));
}

/// The watcher may get the first event only when the second directory is there: the files of the first are deleted all
/// the same.
#[tokio::test]
async fn replaced_directory_is_reported() {
    let fixture = Fixture::new();
    fixture.write("watched/a/old", "1");
    fixture.write("elsewhere/a/new", "1");
    let mut changes = fixture.watch(&["watched"], vec![]).await;
    for round in 0..20 {
        let (here, there, away) =
            (fixture.path("watched/a"), fixture.path("elsewhere/a"), fixture.path("away"));
        fs::rename(&here, &away).expect("a rename out");
        fs::rename(&there, &here).expect("a rename in");
        fs::rename(&away, &there).expect("a rename");
        let arrived = here.join(if round % 2 == 0 { "new" } else { "old" });
        assert_eq!(changes.until_all(&[here.clone(), arrived.clone()]).await, set([&here, &arrived]));
    }
}

#[tokio::test]
async fn files_in_new_directories_are_found() {
    let fixture = Fixture::new();
    let mut changes = fixture.watch(&[""], vec![]).await;
    for round in 0..50 {
        let file = fixture.write(&format!("{round}/a/b/c/file"), "1");
        let mut seen = changes.until(&file).await;
        // On a busy machine they may be reported while they are empty.
        seen.retain(|path| !file.starts_with(path) || *path == file);
        assert_eq!(seen, set([&file]));
        fs::write(&file, "2").expect("a write");
        assert_eq!(changes.until(&file).await, set([&file]));
    }
}

#[tokio::test]
async fn only_empty_directories_are_reported() {
    let fixture = Fixture::new();
    let mut changes = fixture.watch(&["watched"], vec![]).await;
    let empty = fixture.make("watched/outer/empty");
    let mut seen = changes.until(&empty).await;
    seen.remove(&fixture.path("watched/outer"));
    assert_eq!(seen, set([&empty]));
    assert!(seen.iter().all(|path| path.as_os_str().as_encoded_bytes().ends_with(b"/")), "{seen:?}");
    fs::rename(&empty, fixture.path("watched/outer/renamed")).expect("a rename");
    let renamed = fixture.path("watched/outer/renamed");
    assert_eq!(changes.until_all(&[empty.clone(), renamed.clone()]).await, set([&empty, &renamed]));
    fs::remove_dir(&renamed).expect("a removal");
    assert_eq!(changes.until(&renamed).await, set([&renamed]));
}

#[tokio::test]
async fn directory_modes_are_reported_where_watched() {
    let fixture = Fixture::new();
    fixture.make("src/old");
    fixture.make("other");
    let files = FileSet::new(vec![fixture.path("")], Vec::new());
    let options = WatchOptions { modes: vec![fixture.path("src")], ..WatchOptions::default() };
    let mut subscription = fixture.watcher.subscribe_with((), files, options).expect("a subscription");
    within(subscription.ready()).await.expect("all watches are placed");
    let mut changes = Changes { subscription, seen: BTreeSet::new(), reported: BTreeSet::new() };
    let chmod = |name: &str, mode: u32| {
        let path = fixture.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
        path
    };
    let (old, src) = (chmod("src/old", 0o2775), chmod("src", 0o700));
    let reported = changes.until_all(&[old.clone(), src.clone()]).await;
    assert!(reported.iter().all(|path| ChangedPath::takes_no_place(path)), "{reported:?}");

    // A touch is no change of the mode, and modes elsewhere are not watched.
    let now = std::time::SystemTime::now();
    fs::File::open(&old).expect("it is there").set_modified(now).expect("it is ours");
    chmod("src/old", 0o2775);
    chmod("other", 0o700);
    let last = fixture.write("other/last", "");
    assert_eq!(changes.until(&last).await, set([&last]));

    // A new folder is reported with its files, and so is one that replaces another.
    let new = fixture.make("src/new");
    let file = fixture.write("src/new/file", "");
    let reported = changes.until_all(&[new.clone(), file.clone()]).await;
    let of = |reported: &BTreeSet<PathBuf>, path: &PathBuf| reported.get(path).cloned().expect("it was told");
    assert!(ChangedPath::takes_no_place(&of(&reported, &new)), "{reported:?}");
    fs::rename(&new, fixture.path("src/aside")).expect("it is moved");
    fixture.make("src/new");
    let reported = changes.until_all(&[new.clone(), fixture.path("src/aside/file")]).await;
    assert!(!ChangedPath::takes_no_place(&of(&reported, &new)), "{reported:?}");
}

#[tokio::test]
async fn ignored_directories_are_not_watched() {
    let fixture = Fixture::new();
    for name in
        ["src/deep", "node_modules/a/b", "web/node_modules/a/b", "docs/api", "out", ".git/objects", ".idea/x"]
    {
        fixture.make(name);
    }
    let patterns = ["**/node_modules", "docs", "!docs/README.md"].map(str::to_owned).to_vec();
    let rules = vec![IgnoreRule { base: fixture.path(""), patterns }, IgnoreRule::path(fixture.path("out"))];
    let mut changes = fixture.watch(&[""], rules).await;
    // The folder itself and its parent, src, src/deep, web, and docs, where one file is not ignored.
    assert_eq!(fixture.count().await, 6);

    fixture.write("docs/other.md", "1");
    fixture.write("node_modules/x", "1");
    fixture.write("out/x", "1");
    fixture.write(".git/index", "1");
    fixture.write("app/node_modules/x/y", "1");
    let readme = fixture.write("docs/README.md", "1");
    let main = fixture.write("src/deep/main.rs", "1");
    let mut seen = changes.until_all(&[readme.clone(), main.clone()]).await;
    // On a busy machine it may be reported while it is empty.
    seen.remove(&fixture.path("app"));
    assert_eq!(seen, set([&readme, &main]));
    // Plus `app`.
    assert_eq!(fixture.count().await, 7);
}

#[tokio::test]
async fn editors_temporary_files_are_not_reported() {
    let fixture = Fixture::new();
    let mut changes = fixture.watch(&[""], vec![]).await;
    for name in ["4913", "main.rs~", ".main.rs.swp", ".#main.rs", "main.rs___jb_tmp___"] {
        fs::remove_file(fixture.write(name, "1")).expect("a removal");
    }
    let main = fixture.write("main.rs", "1");
    assert_eq!(changes.until(&main).await, set([&main]));
}

#[tokio::test]
async fn only_changes_of_content_and_mode_are_reported() {
    let fixture = Fixture::new();
    let read = fixture.write("read", "1");
    let script = fixture.write("script", "1");
    let directory = fixture.make("directory");
    let mut changes = fixture.watch(&[""], vec![]).await;
    fs::read(&read).expect("a read");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o750)).expect("a mode");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(changes.until(&script).await, set([&script]));
}

#[tokio::test]
async fn missing_root_is_found_when_created() {
    let fixture = Fixture::new();
    let mut changes = fixture.watch(&["not/yet/there"], vec![]).await;
    assert_eq!(fixture.count().await, 1);
    fixture.write("unrelated", "1");
    fixture.make("not");
    fixture.write("not/other", "1");
    let file = fixture.write("not/yet/there/deep/file", "1");
    assert_eq!(changes.until(&file).await, set([&file]));
    fs::write(&file, "2").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));

    let root = fixture.path("not/yet/there");
    fs::remove_dir_all(fixture.path("not")).expect("a removal");
    assert!(changes.until(&root).await.contains(&root));
    let file = fixture.write("not/yet/there/again", "1");
    assert!(changes.until(&file).await.contains(&file));
}

#[tokio::test]
async fn root_moved_away_and_back_is_followed() {
    let fixture = Fixture::new();
    let file = fixture.write("root/file", "1");
    let mut changes = fixture.watch(&["root"], vec![]).await;
    fs::rename(fixture.path("root"), fixture.path("away")).expect("a rename");
    let root = fixture.path("root");
    assert_eq!(changes.until(&root).await, set([&root]));
    fixture.write("away/file", "2");
    fs::rename(fixture.path("away"), fixture.path("root")).expect("a rename back");
    assert_eq!(changes.until(&file).await, set([&file]));
    fs::write(&file, "3").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));
}

#[tokio::test]
async fn roots_may_be_links() {
    let fixture = Fixture::new();
    let first = fixture.write("first/file", "1");
    fixture.write("second/file", "1");
    let config = fixture.write("elsewhere/config.json", "1");
    symlink(fixture.path("first"), fixture.path("current")).expect("a link");
    symlink(&config, fixture.path("config.json")).expect("a link");
    let mut changes = fixture.watch(&["current", "config.json"], vec![]).await;

    fs::write(&first, "2").expect("a write to the target");
    let through = fixture.path("current/file");
    assert_eq!(changes.until(&through).await, set([&through]));
    fs::write(&config, "2").expect("a write to the target");
    assert_eq!(changes.until(&fixture.path("config.json")).await, set([&fixture.path("config.json")]));

    symlink(fixture.path("second"), fixture.path("next")).expect("a link");
    fs::rename(fixture.path("next"), fixture.path("current")).expect("a switch of the link");
    let current = fixture.path("current");
    let replaced = changes.until_all(&[current.clone(), through.clone()]).await;
    assert_eq!(replaced, set([&current, &through]));
    fixture.write("second/more", "1");
    let more = fixture.path("current/more");
    assert_eq!(changes.until(&more).await, set([&more]));
}

#[tokio::test]
async fn subscriptions_share_and_release_watches() {
    let fixture = Fixture::new();
    fixture.make("a/b");
    fixture.make("c");
    let mut first = fixture.watch(&[""], vec![]).await;
    assert_eq!(fixture.count().await, 5);
    let mut second = fixture.watch(&["a"], vec![]).await;
    let third = fixture.watch(&[""], vec![]).await;
    assert_eq!(fixture.count().await, 5);

    let file = fixture.write("a/b/file", "1");
    assert_eq!(first.until(&file).await, set([&file]));
    assert_eq!(second.until(&file).await, set([&file]));

    drop(first);
    assert_eq!(fixture.count().await, 5);
    drop(third);
    assert_eq!(fixture.count().await, 3);
    fs::write(&file, "2").expect("a write");
    assert_eq!(second.until(&file).await, set([&file]));
    drop(second);
    assert_eq!(fixture.count().await, 0);
}

#[tokio::test]
async fn subscription_dropped_at_once_leaves_no_watches() {
    let fixture = Fixture::new();
    fixture.make("a/b/c");
    for _ in 0..100 {
        drop(fixture.watcher.subscribe((), FileSet::new(vec![fixture.path("")], vec![])));
    }
    assert_eq!(fixture.count().await, 0);
}

#[tokio::test]
async fn thousands_of_subscriptions_work_at_once() {
    let fixture = Fixture::new();
    let mut all = Vec::new();
    for number in 0..2_000 {
        fixture.make(&format!("{}", number % 100));
        all.push(fixture.watch(&[&format!("{}", number % 100)], vec![]).await);
    }
    assert_eq!(fixture.count().await, 100 + 1);
    let file = fixture.write("7/file", "1");
    for changes in all.iter_mut().skip(7).step_by(100) {
        assert_eq!(changes.until(&file).await, set([&file]));
    }
    drop(all);
    assert_eq!(fixture.count().await, 0);
}

#[tokio::test]
async fn burst_of_files_is_reported_completely() {
    let fixture = Fixture::new();
    let mut changes = fixture.watch(&[""], vec![]).await;
    let files: Vec<PathBuf> =
        (0..5_000).map(|number| fixture.path(&format!("{}/file{number}", number % 50))).collect();
    let written = files.clone();
    let writer = tokio::task::spawn_blocking(move || {
        for file in &written {
            fs::create_dir_all(file.parent().expect("it has a parent")).expect("a directory");
            fs::write(file, "1").expect("a file");
        }
    });
    let mut seen = changes.until_all(&files).await;
    // A directory that was empty when it was found is reported, too, with a trailing slash.
    seen.retain(|path| !path.as_os_str().as_encoded_bytes().ends_with(b"/"));
    assert_eq!(seen, files.iter().cloned().collect());
    writer.await.expect("it writes");
}

#[tokio::test]
async fn changes_during_busy_receiver_are_one_batch() {
    let fixture = Fixture::new();
    let mut slow = fixture.watch(&[""], vec![]).await;
    let mut quick = fixture.watch(&[""], vec![]).await;
    let files: Vec<PathBuf> = (0..20).map(|number| fixture.path(&format!("{number:02}"))).collect();
    for file in &files {
        fs::write(file, "1").expect("a file");
        quick.until(file).await;
    }
    let batch = only(within(slow.subscription.next()).await.expect("a batch"));
    assert_eq!(batch.paths, files);
}

#[tokio::test]
async fn cancelled_next_loses_no_change() {
    let fixture = Fixture::new();
    let mut changes = fixture.watch(&[""], vec![]).await;
    for round in 0..100 {
        let file = fixture.path(&round.to_string());
        // Requests a batch, then cancels before, while or after the reply arrives.
        let wait = changes.subscription.next();
        let cancelled = timeout(Duration::from_micros(round * 100), async {
            fs::write(&file, "1").expect("a file");
            wait.await
        });
        if let Ok(batches) = cancelled.await {
            changes.seen.extend(only(batches.expect("the watcher runs")).paths);
        }
        changes.until(&file).await;
    }
}

#[tokio::test]
async fn invalid_ignore_pattern_is_user_failure() {
    let fixture = Fixture::new();
    let rule = IgnoreRule { base: fixture.path(""), patterns: vec!["[".into()] };
    let failure = fixture.watcher.subscribe((), FileSet::new(vec![fixture.path("")], vec![rule]));
    let failure = failure.expect_err("a bad pattern");
    assert_eq!(failure.class(), lilt_model::Class::User);
    assert!(failure.message.contains("bad ignore pattern"), "{failure}");
}

#[tokio::test]
async fn subscription_outlives_watcher_handle() {
    let fixture = Fixture::new();
    let mut changes = fixture.watch(&[""], vec![]).await;
    let Fixture { folder, watcher } = fixture;
    drop(watcher);
    let file = folder.path().canonicalize().expect("it exists").join("file");
    fs::write(&file, "1").expect("a file");
    assert_eq!(changes.until(&file).await, set([&file]));
}
