//! Real files in temporary folders, real inotify.

// The rule names host as the place for all of this; these are its tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_host::watch::{Subscription, Watcher};
use lilt_model::files::{ChangedPath, FileSet, IgnoreRule, Manner};
use tempfile::TempDir;
use tokio::time::timeout;

/// Long enough that only a lost event runs into it.
const DEADLINE: Duration = Duration::from_secs(20);

struct Bench {
    folder: TempDir,
    watcher: Watcher,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            folder: tempfile::tempdir().expect("a temporary folder"),
            watcher: Watcher::start().expect("a watcher"),
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
        let mut subscription = self.watcher.subscribe(FileSet::new(roots, ignores)).expect("a subscription");
        within(subscription.ready()).await.expect("all watches are placed");
        Changes { subscription, seen: BTreeSet::new(), told: BTreeSet::new() }
    }

    /// Waits until the thread has taken back watches that were given up.
    async fn count(&self) -> usize {
        within(self.watcher.watch_count()).await.expect("the watcher runs")
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("in time")
}

struct Changes {
    subscription: Subscription,
    seen: BTreeSet<PathBuf>,
    told: BTreeSet<PathBuf>,
}

impl Changes {
    /// Collects batches until this path has come, and gives all that came; the next call starts anew. On a busy
    /// machine one write may be two batches: what an earlier call has given does not count when it comes late.
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
            let batch = batch.expect("the watcher runs");
            assert_eq!(batch.problem, None);
            assert!(batch.paths.is_sorted() && !batch.paths.is_empty(), "{batch:?}");
            self.seen.extend(batch.paths);
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.retain(|path| !self.told.contains(path) || paths.contains(path));
        self.told.extend(seen.iter().cloned());
        seen
    }
}

fn set<const N: usize>(paths: [&PathBuf; N]) -> BTreeSet<PathBuf> {
    paths.into_iter().cloned().collect()
}

#[tokio::test]
async fn no_save_is_lost_while_one_watch_takes_the_place_of_another() {
    let bench = Bench::new();
    let folder = bench.make("folder");
    let files = FileSet::new(vec![folder.clone()], vec![]);
    let mut old = bench.watcher.subscribe(files.clone()).expect("a subscription");
    within(old.ready()).await.expect("all watches are placed");
    for round in 0..100 {
        // What is asked for is sometimes answered in the very moment of the change.
        let _ = timeout(Duration::from_micros(round * 40), old.next()).await;
        let path = bench.write(&format!("folder/{round}"), "text");
        let together = if round % 2 == 0 { vec![] } else { vec![folder.clone()] };
        let manner = Manner { together, ..Manner::default() };
        let mut new = bench.watcher.subscribe_with(files.clone(), manner).expect("a subscription");
        within(new.ready()).await.expect("all watches are placed");
        let told = within(new.take_over(old)).await;
        if !told.is_some_and(|batch| batch.paths.contains(&path)) {
            let batch = within(new.next()).await.expect("the watcher runs");
            assert!(batch.paths.contains(&path), "round {round}: {batch:?}");
        }
        old = new;
    }
}

#[tokio::test]
async fn a_write_is_one_batch() {
    let bench = Bench::new();
    let file = bench.write("a.txt", "1");
    let mut changes = bench.watch(&[""], vec![]).await;
    fs::write(&file, "2").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));
}

/// Writes a file in pieces, a few milliseconds apart, and keeps it open until the end. How long the longest pause was.
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
async fn a_file_that_is_being_written_is_told_when_it_is_closed() {
    let bench = Bench::new();
    let (big, quick) = (bench.path("big"), bench.path("quick"));
    let mut changes = bench.watch(&[""], vec![]).await;
    loop {
        let writer = tokio::task::spawn_blocking({
            let big = big.clone();
            move || write_in_pieces(&big, 30)
        });
        changes.until(&big).await;
        let size = fs::metadata(&big).expect("it is there").len();
        // On a busy machine the writer may have paused for so long that it was told meanwhile.
        if writer.await.expect("it was written") < Duration::from_millis(150) {
            assert_eq!(size, 30_000);
            break;
        }
        fs::write(&quick, "").expect("a write");
        changes.until(&quick).await;
    }
}

#[tokio::test]
async fn an_atomic_save_of_a_watched_file_is_seen() {
    let bench = Bench::new();
    let file = bench.write("src/a.txt", "1");
    let other = bench.write("src/b.txt", "1");
    let mut changes = bench.watch(&["src/a.txt"], vec![]).await;
    for _ in 0..3 {
        fs::write(&other, "not watched").expect("a write");
        let temporary = bench.write("src/a.txt.tmp", "2");
        fs::rename(&temporary, &file).expect("a rename");
        assert_eq!(changes.until(&file).await, set([&file]));
    }
    fs::remove_file(&file).expect("a removal");
    assert_eq!(changes.until(&file).await, set([&file]));
    fs::write(&file, "again").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));
}

#[tokio::test]
async fn renames_into_and_out_of_a_directory_and_deletions_are_seen() {
    let bench = Bench::new();
    let inside = bench.write("watched/a", "1");
    let outside = bench.write("elsewhere/b", "1");
    let mut changes = bench.watch(&["watched"], vec![]).await;

    let arrived = bench.path("watched/b");
    fs::rename(&outside, &arrived).expect("a rename in");
    assert_eq!(changes.until(&arrived).await, set([&arrived]));
    fs::rename(&inside, bench.path("elsewhere/a")).expect("a rename out");
    assert_eq!(changes.until(&inside).await, set([&inside]));
    fs::remove_file(&arrived).expect("a deletion");
    assert_eq!(changes.until(&arrived).await, set([&arrived]));
}

#[tokio::test]
async fn directories_moved_in_and_out_take_their_contents_along() {
    let bench = Bench::new();
    bench.make("watched/old");
    bench.write("watched/old/deep/a", "1");
    bench.write("elsewhere/new/deep/b", "1");
    let mut changes = bench.watch(&["watched"], vec![]).await;
    // Of a tree, the directory above it is watched, too.
    assert_eq!(bench.count().await, 4);

    fs::rename(bench.path("elsewhere/new"), bench.path("watched/new")).expect("a rename in");
    let arrived = bench.path("watched/new/deep/b");
    assert_eq!(changes.until(&arrived).await, set([&arrived]));
    assert_eq!(bench.count().await, 6);

    fs::rename(bench.path("watched/old"), bench.path("elsewhere/old")).expect("a rename out");
    let left = bench.path("watched/old");
    assert_eq!(changes.until(&left).await, set([&left]));
    assert_eq!(bench.count().await, 4);

    bench.write("elsewhere/old/deep/a", "no longer ours");
    fs::rename(bench.path("watched/new"), bench.path("watched/newer")).expect("a rename inside");
    let renamed = bench.path("watched/newer/deep/b");
    assert_eq!(changes.until(&renamed).await, set([&bench.path("watched/new"), &renamed]));
    fs::write(&renamed, "2").expect("a write under the new name");
    assert_eq!(changes.until(&renamed).await, set([&renamed]));
}

/// The watcher may hear of the first only when the second is there: what the first held is gone all the same.
#[tokio::test]
async fn a_directory_that_takes_the_place_of_another_is_told() {
    let bench = Bench::new();
    bench.write("watched/a/old", "1");
    bench.write("elsewhere/a/new", "1");
    let mut changes = bench.watch(&["watched"], vec![]).await;
    for round in 0..20 {
        let (here, there, away) = (bench.path("watched/a"), bench.path("elsewhere/a"), bench.path("away"));
        fs::rename(&here, &away).expect("a rename out");
        fs::rename(&there, &here).expect("a rename in");
        fs::rename(&away, &there).expect("a rename");
        let arrived = here.join(if round % 2 == 0 { "new" } else { "old" });
        assert_eq!(changes.until_all(&[here.clone(), arrived.clone()]).await, set([&here, &arrived]));
    }
}

#[tokio::test]
async fn files_in_directories_made_a_moment_ago_are_found() {
    let bench = Bench::new();
    let mut changes = bench.watch(&[""], vec![]).await;
    for round in 0..50 {
        let file = bench.write(&format!("{round}/a/b/c/file"), "1");
        let mut seen = changes.until(&file).await;
        // On a busy machine they may be seen before anything is in them.
        seen.retain(|path| !file.starts_with(path) || *path == file);
        assert_eq!(seen, set([&file]));
        fs::write(&file, "2").expect("a write");
        assert_eq!(changes.until(&file).await, set([&file]));
    }
}

#[tokio::test]
async fn directories_are_told_if_nothing_in_them_is() {
    let bench = Bench::new();
    let mut changes = bench.watch(&["watched"], vec![]).await;
    let empty = bench.make("watched/outer/empty");
    let mut seen = changes.until(&empty).await;
    seen.remove(&bench.path("watched/outer"));
    assert_eq!(seen, set([&empty]));
    assert!(seen.iter().all(|path| path.as_os_str().as_encoded_bytes().ends_with(b"/")), "{seen:?}");
    fs::rename(&empty, bench.path("watched/outer/renamed")).expect("a rename");
    let renamed = bench.path("watched/outer/renamed");
    assert_eq!(changes.until_all(&[empty.clone(), renamed.clone()]).await, set([&empty, &renamed]));
    fs::remove_dir(&renamed).expect("a removal");
    assert_eq!(changes.until(&renamed).await, set([&renamed]));
}

#[tokio::test]
async fn modes_of_directories_are_told_where_they_count() {
    let bench = Bench::new();
    bench.make("src/old");
    bench.make("other");
    let files = FileSet::new(vec![bench.path("")], Vec::new());
    let manner = Manner { modes: vec![bench.path("src")], ..Manner::default() };
    let mut subscription = bench.watcher.subscribe_with(files, manner).expect("a subscription");
    within(subscription.ready()).await.expect("all watches are placed");
    let mut changes = Changes { subscription, seen: BTreeSet::new(), told: BTreeSet::new() };
    let chmod = |name: &str, mode: u32| {
        let path = bench.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
        path
    };
    let (old, src) = (chmod("src/old", 0o2775), chmod("src", 0o700));
    let told = changes.until_all(&[old.clone(), src.clone()]).await;
    assert!(told.iter().all(|path| ChangedPath::takes_no_place(path)), "{told:?}");

    // A touch is none, nor is what lies elsewhere.
    let now = std::time::SystemTime::now();
    fs::File::open(&old).expect("it is there").set_modified(now).expect("it is ours");
    chmod("src/old", 0o2775);
    chmod("other", 0o700);
    let last = bench.write("other/last", "");
    assert_eq!(changes.until(&last).await, set([&last]));

    // A new one is told with what is in it, and so is one that takes the place of another, as such.
    let new = bench.make("src/new");
    let file = bench.write("src/new/file", "");
    let told = changes.until_all(&[new.clone(), file.clone()]).await;
    let of = |told: &BTreeSet<PathBuf>, path: &PathBuf| told.get(path).cloned().expect("it was told");
    assert!(ChangedPath::takes_no_place(&of(&told, &new)), "{told:?}");
    fs::rename(&new, bench.path("src/aside")).expect("it is moved");
    bench.make("src/new");
    let told = changes.until_all(&[new.clone(), bench.path("src/aside/file")]).await;
    assert!(!ChangedPath::takes_no_place(&of(&told, &new)), "{told:?}");
}

#[tokio::test]
async fn ignored_directories_are_not_watched() {
    let bench = Bench::new();
    for name in
        ["src/deep", "node_modules/a/b", "web/node_modules/a/b", "docs/api", "out", ".git/objects", ".idea/x"]
    {
        bench.make(name);
    }
    let patterns = ["**/node_modules", "docs", "!docs/README.md"].map(str::to_owned).to_vec();
    let rules = vec![IgnoreRule { base: bench.path(""), patterns }, IgnoreRule::path(bench.path("out"))];
    let mut changes = bench.watch(&[""], rules).await;
    // The folder itself and the one above, src, src/deep, web, and docs, where one file may come back.
    assert_eq!(bench.count().await, 6);

    bench.write("docs/other.md", "1");
    bench.write("node_modules/x", "1");
    bench.write("out/x", "1");
    bench.write(".git/index", "1");
    bench.write("app/node_modules/x/y", "1");
    let readme = bench.write("docs/README.md", "1");
    let main = bench.write("src/deep/main.rs", "1");
    let mut seen = changes.until_all(&[readme.clone(), main.clone()]).await;
    // On a busy machine it may be seen before anything is in it.
    seen.remove(&bench.path("app"));
    assert_eq!(seen, set([&readme, &main]));
    // And app.
    assert_eq!(bench.count().await, 7);
}

#[tokio::test]
async fn editors_temporary_files_are_not_reported() {
    let bench = Bench::new();
    let mut changes = bench.watch(&[""], vec![]).await;
    for name in ["4913", "main.rs~", ".main.rs.swp", ".#main.rs", "main.rs___jb_tmp___"] {
        fs::remove_file(bench.write(name, "1")).expect("a removal");
    }
    let main = bench.write("main.rs", "1");
    assert_eq!(changes.until(&main).await, set([&main]));
}

#[tokio::test]
async fn only_changes_of_content_and_mode_are_reported() {
    let bench = Bench::new();
    let read = bench.write("read", "1");
    let script = bench.write("script", "1");
    let directory = bench.make("directory");
    let mut changes = bench.watch(&[""], vec![]).await;
    fs::read(&read).expect("a read");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o750)).expect("a mode");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(changes.until(&script).await, set([&script]));
}

#[tokio::test]
async fn a_root_that_does_not_exist_yet_is_found_when_it_appears() {
    let bench = Bench::new();
    let mut changes = bench.watch(&["not/yet/there"], vec![]).await;
    assert_eq!(bench.count().await, 1);
    bench.write("unrelated", "1");
    bench.make("not");
    bench.write("not/other", "1");
    let file = bench.write("not/yet/there/deep/file", "1");
    assert_eq!(changes.until(&file).await, set([&file]));
    fs::write(&file, "2").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));

    let root = bench.path("not/yet/there");
    fs::remove_dir_all(bench.path("not")).expect("a removal");
    assert!(changes.until(&root).await.contains(&root));
    let file = bench.write("not/yet/there/again", "1");
    assert!(changes.until(&file).await.contains(&file));
}

#[tokio::test]
async fn a_root_that_is_moved_away_and_back_is_followed() {
    let bench = Bench::new();
    let file = bench.write("root/file", "1");
    let mut changes = bench.watch(&["root"], vec![]).await;
    fs::rename(bench.path("root"), bench.path("away")).expect("a rename");
    let root = bench.path("root");
    assert_eq!(changes.until(&root).await, set([&root]));
    bench.write("away/file", "2");
    fs::rename(bench.path("away"), bench.path("root")).expect("a rename back");
    assert_eq!(changes.until(&file).await, set([&file]));
    fs::write(&file, "3").expect("a write");
    assert_eq!(changes.until(&file).await, set([&file]));
}

#[tokio::test]
async fn roots_may_be_links() {
    let bench = Bench::new();
    let first = bench.write("first/file", "1");
    bench.write("second/file", "1");
    let config = bench.write("elsewhere/config.json", "1");
    symlink(bench.path("first"), bench.path("current")).expect("a link");
    symlink(&config, bench.path("config.json")).expect("a link");
    let mut changes = bench.watch(&["current", "config.json"], vec![]).await;

    fs::write(&first, "2").expect("a write to the target");
    let through = bench.path("current/file");
    assert_eq!(changes.until(&through).await, set([&through]));
    fs::write(&config, "2").expect("a write to the target");
    assert_eq!(changes.until(&bench.path("config.json")).await, set([&bench.path("config.json")]));

    symlink(bench.path("second"), bench.path("next")).expect("a link");
    fs::rename(bench.path("next"), bench.path("current")).expect("a switch of the link");
    let current = bench.path("current");
    let replaced = changes.until_all(&[current.clone(), through.clone()]).await;
    assert_eq!(replaced, set([&current, &through]));
    bench.write("second/more", "1");
    let more = bench.path("current/more");
    assert_eq!(changes.until(&more).await, set([&more]));
}

#[tokio::test]
async fn subscriptions_share_watches_and_give_them_back() {
    let bench = Bench::new();
    bench.make("a/b");
    bench.make("c");
    let mut first = bench.watch(&[""], vec![]).await;
    assert_eq!(bench.count().await, 5);
    let mut second = bench.watch(&["a"], vec![]).await;
    let third = bench.watch(&[""], vec![]).await;
    assert_eq!(bench.count().await, 5);

    let file = bench.write("a/b/file", "1");
    assert_eq!(first.until(&file).await, set([&file]));
    assert_eq!(second.until(&file).await, set([&file]));

    drop(first);
    assert_eq!(bench.count().await, 5);
    drop(third);
    assert_eq!(bench.count().await, 3);
    fs::write(&file, "2").expect("a write");
    assert_eq!(second.until(&file).await, set([&file]));
    drop(second);
    assert_eq!(bench.count().await, 0);
}

#[tokio::test]
async fn a_subscription_dropped_at_once_leaves_nothing() {
    let bench = Bench::new();
    bench.make("a/b/c");
    for _ in 0..100 {
        drop(bench.watcher.subscribe(FileSet::new(vec![bench.path("")], vec![])));
    }
    assert_eq!(bench.count().await, 0);
}

#[tokio::test]
async fn thousands_of_subscriptions_work_at_once() {
    let bench = Bench::new();
    let mut all = Vec::new();
    for number in 0..2_000 {
        bench.make(&format!("{}", number % 100));
        all.push(bench.watch(&[&format!("{}", number % 100)], vec![]).await);
    }
    assert_eq!(bench.count().await, 100 + 1);
    let file = bench.write("7/file", "1");
    for changes in all.iter_mut().skip(7).step_by(100) {
        assert_eq!(changes.until(&file).await, set([&file]));
    }
    drop(all);
    assert_eq!(bench.count().await, 0);
}

#[tokio::test]
async fn a_burst_of_files_misses_none() {
    let bench = Bench::new();
    let mut changes = bench.watch(&[""], vec![]).await;
    let files: Vec<PathBuf> =
        (0..5_000).map(|number| bench.path(&format!("{}/file{number}", number % 50))).collect();
    let written = files.clone();
    let writer = tokio::task::spawn_blocking(move || {
        for file in &written {
            fs::create_dir_all(file.parent().expect("it has a parent")).expect("a directory");
            fs::write(file, "1").expect("a file");
        }
    });
    let mut seen = changes.until_all(&files).await;
    // A directory that is still empty when it is reported comes, too, with a slash at its end.
    seen.retain(|path| !path.as_os_str().as_encoded_bytes().ends_with(b"/"));
    assert_eq!(seen, files.iter().cloned().collect());
    writer.await.expect("it writes");
}

#[tokio::test]
async fn what_comes_while_the_receiver_is_busy_is_one_batch() {
    let bench = Bench::new();
    let mut slow = bench.watch(&[""], vec![]).await;
    let mut quick = bench.watch(&[""], vec![]).await;
    let files: Vec<PathBuf> = (0..20).map(|number| bench.path(&format!("{number:02}"))).collect();
    for file in &files {
        fs::write(file, "1").expect("a file");
        quick.until(file).await;
    }
    let batch = within(slow.subscription.next()).await.expect("a batch");
    assert_eq!(batch.paths, files);
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let bench = Bench::new();
    let mut changes = bench.watch(&[""], vec![]).await;
    for round in 0..100 {
        let file = bench.path(&round.to_string());
        // Asks, then gives up before, while or after the answer comes.
        let wait = changes.subscription.next();
        let cancelled = timeout(Duration::from_micros(round * 100), async {
            fs::write(&file, "1").expect("a file");
            wait.await
        });
        if let Ok(batch) = cancelled.await {
            changes.seen.extend(batch.expect("the watcher runs").paths);
        }
        changes.until(&file).await;
    }
}

#[tokio::test]
async fn a_bad_pattern_is_the_users_failure() {
    let bench = Bench::new();
    let rule = IgnoreRule { base: bench.path(""), patterns: vec!["[".into()] };
    let failure = bench.watcher.subscribe(FileSet::new(vec![bench.path("")], vec![rule]));
    let failure = failure.expect_err("a bad pattern");
    assert_eq!(failure.class(), lilt_model::Class::User);
    assert!(failure.message.contains("bad ignore pattern"), "{failure}");
}

#[tokio::test]
async fn a_subscription_outlives_its_watcher_handle() {
    let bench = Bench::new();
    let mut changes = bench.watch(&[""], vec![]).await;
    let Bench { folder, watcher } = bench;
    drop(watcher);
    let file = folder.path().canonicalize().expect("it exists").join("file");
    fs::write(&file, "1").expect("a file");
    assert_eq!(changes.until(&file).await, set([&file]));
}
