//! A process without free descriptors. There is only one test, because the limit applies to the whole process.
#![allow(
    clippy::disallowed_methods,
    reason = "clippy.toml restricts these methods to host; these are its tests"
)]

mod guarded;

use std::fs::{self, File};
use std::time::Duration;

use lilt_host::process::{Exit, Launch, Process};
use lilt_host::watch::{WatchMode, Watcher};
use lilt_host::{files, limits};
use lilt_model::Unreachable;
use lilt_model::command::Command;
use lilt_model::files::FileSet;
use lilt_model::os_error::is_shortage;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Long enough that only a lost event runs into it.
const DEADLINE: Duration = Duration::from_secs(60);
const LIMIT: u64 = 128;

/// Opens files until no descriptor is left.
fn exhaust() -> Vec<File> {
    let taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!limits::has_spare_files());
    taken
}

#[tokio::test]
async fn watch_and_commands_recover_from_shortage_of_descriptors() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT), ..getrlimit(Resource::Nofile) })
        .expect("a limit");
    assert_eq!(limits::open_files(), Some(LIMIT));
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("it exists");
    let source =
        tempfile::NamedTempFile::new_in(folder.path().parent().expect("its parent")).expect("a file");
    let watcher = Watcher::<()>::start(WatchMode::default()).expect("a watcher");
    let mut watched = watcher
        .subscribe((), FileSet { roots: vec![root.clone()], ..FileSet::default() })
        .expect("a subscription");
    watched.ready().await.expect("all watches are placed");
    let guardian = guarded::guardian();
    let launch = Launch::from(&Command::shell("true", "/"));

    let taken = exhaust();
    // Neither of these needs a descriptor here.
    fs::create_dir(root.join("new")).expect("a folder");
    fs::hard_link(source.path(), root.join("new/file")).expect("a file");
    let failure = Process::spawn(&guardian, &launch, |_| {}).await.expect_err("there is no descriptor");
    assert_eq!(failure.unreachable(), Some(&Unreachable::Machine), "{failure}");
    assert!(is_shortage(&files::read_entry(source.path()).expect_err("there is no descriptor")));

    drop(taken);
    assert!(limits::has_spare_files());
    let mut process = Process::spawn(&guardian, &launch, |_| {}).await.expect("it starts now");
    assert_eq!(process.wait().await, Exit::Code(0));
    let seen = async {
        loop {
            let batches = watched.next().await.expect("the watch goes on");
            if batches[0].batch.paths.contains(&root.join("new/file")) {
                break;
            }
        }
    };
    tokio::time::timeout(DEADLINE, seen).await.expect("the file in the new folder is seen");
    guardian.close().await;
}
