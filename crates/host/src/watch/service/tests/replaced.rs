//! Roots that are replaced by a file, a directory, a link or nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use lilt_model::files::{FileSet, WatchOptions};
use tokio::sync::oneshot;

use super::Fixture;
use crate::watch::{Command, Labelled, SubscriptionId};

const NOTHING: [PathBuf; 0] = [];

impl Fixture {
    /// Subscribes to one path, without what is below it.
    fn subscribe_entry(&mut self, name: &str) -> SubscriptionId {
        let files = FileSet { entries: [self.path(name)].into(), ..FileSet::default() };
        let (id, mut ready) = self.subscribe_files(files, WatchOptions::default());
        self.run_until_idle();
        assert_eq!(ready.try_recv(), Ok(Ok(())));
        id
    }

    fn subscribe_root(&mut self, name: &str) -> SubscriptionId {
        let (id, mut ready) = self.subscribe_to(name);
        self.run_until_idle();
        assert_eq!(ready.try_recv(), Ok(Ok(())));
        id
    }

    fn reported(&mut self, id: SubscriptionId) -> Vec<PathBuf> {
        let [paths] = self.reported_to([id]);
        paths
    }

    /// Returns the paths reported so far to each subscription.
    fn reported_to<const N: usize>(&mut self, ids: [SubscriptionId; N]) -> [Vec<PathBuf>; N] {
        self.run_until_idle();
        let replies = ids.map(|id| {
            let (reply, batch) = oneshot::channel::<Vec<Labelled<_>>>();
            self.state.handle(Command::Take { id, reply });
            batch
        });
        while self.state.delivery.next_check().is_some() {
            self.state.delivery.flush();
        }
        replies.map(|mut batch| {
            batch.try_recv().map(|mut batches| batches.remove(0).batch.paths).unwrap_or_default()
        })
    }
}

fn make_directory(path: &Path) {
    fs::create_dir(path).expect("a directory");
}

fn retarget(target: &Path, link: &Path) {
    let new = link.with_extension("new");
    symlink(target, &new).expect("a link");
    fs::rename(new, link).expect("a rename");
}

#[test]
fn entry_is_reported_each_time_it_changes_its_type() {
    let mut fixture = Fixture::new();
    let file = fixture.write("Tiltfile");
    let id = fixture.subscribe_entry("Tiltfile");
    for _ in 0..3 {
        fs::remove_file(&file).expect("a removal");
        assert_eq!(fixture.reported(id), from_ref(&file));
        make_directory(&file);
        assert_eq!(fixture.reported(id), from_ref(&file));
        fs::remove_dir(&file).expect("a removal");
        assert_eq!(fixture.reported(id), from_ref(&file));
        fixture.write("Tiltfile");
        assert_eq!(fixture.reported(id), from_ref(&file));
    }
}

#[test]
fn entry_that_is_a_directory_when_subscribed_is_reported_as_a_file() {
    let mut fixture = Fixture::new();
    let path = fixture.path("Tiltfile");
    make_directory(&path);
    let id = fixture.subscribe_entry("Tiltfile");
    fs::remove_dir(&path).expect("a removal");
    fixture.write("Tiltfile");
    assert_eq!(fixture.reported(id), [path]);
}

#[test]
fn entry_that_is_a_directory_does_not_watch_its_content() {
    let mut fixture = Fixture::new();
    fixture.write("folder/deep/file");
    let id = fixture.subscribe_entry("folder");
    assert_eq!(fixture.kernel_watch_count(), 1);
    fixture.write("folder/deep/file");
    fixture.write("folder/other");
    assert_eq!(fixture.reported(id), NOTHING);
    // The same path as a tree is another subscription.
    let tree = fixture.subscribe_root("folder");
    let file = fixture.write("folder/other");
    assert_eq!(fixture.reported_to([tree, id]), [vec![file], vec![]]);
}

#[test]
fn root_is_reported_each_time_it_changes_its_type() {
    let mut fixture = Fixture::new();
    let inner = fixture.write("root/file");
    let root = fixture.path("root");
    let id = fixture.subscribe_root("root");
    for _ in 0..3 {
        fs::remove_dir_all(&root).expect("a removal");
        assert!(fixture.reported(id).contains(&root));
        fixture.write("root");
        assert_eq!(fixture.reported(id), from_ref(&root));
        fs::write(&root, "other").expect("a write");
        assert_eq!(fixture.reported(id), from_ref(&root));
        fs::remove_file(&root).expect("a removal");
        assert_eq!(fixture.reported(id), from_ref(&root));
        fixture.write("root/file");
        assert_eq!(fixture.reported(id), from_ref(&inner));
        fs::write(&inner, "other").expect("a write");
        assert_eq!(fixture.reported(id), from_ref(&inner));
    }
}

/// The watcher gets the first event when the second change is done already.
#[test]
fn root_that_changes_its_type_at_once_is_reported() {
    let mut fixture = Fixture::new();
    let root = fixture.write("root");
    let id = fixture.subscribe_root("root");
    fs::remove_file(&root).expect("a removal");
    make_directory(&root);
    assert_eq!(fixture.reported(id), from_ref(&root), "an empty directory in the place of the file");
    fs::remove_dir(&root).expect("a removal");
    fixture.write("root");
    assert_eq!(fixture.reported(id), from_ref(&root));
    fs::write(&root, "other").expect("a write");
    assert_eq!(fixture.reported(id), [root]);
}

#[test]
fn root_that_takes_the_place_of_another_directory_is_reported() {
    let mut fixture = Fixture::new();
    fixture.write("root/old");
    let new = fixture.write("next/new");
    let root = fixture.path("root");
    let id = fixture.subscribe_root("root");
    fs::rename(&root, fixture.path("aside")).expect("a rename");
    fs::rename(fixture.path("next"), &root).expect("a rename");
    assert_eq!(fixture.reported(id), [root.clone(), root.join(new.file_name().expect("a name"))]);
}

/// The kernel reports the deletion of a directory only when no process uses it, such as a server that runs in it.
#[test]
fn root_that_is_recreated_while_a_process_uses_the_old_one_is_followed() {
    let mut fixture = Fixture::new();
    let file = fixture.write("root/file");
    let root = fixture.path("root");
    let in_use = fs::File::open(&root).expect("a directory");
    let id = fixture.subscribe_root("root");
    fs::remove_dir_all(&root).expect("a removal");
    assert!(fixture.reported(id).contains(&file));
    fixture.write("root/file");
    assert!(fixture.reported(id).contains(&file));
    fs::write(&file, "other").expect("a write");
    assert_eq!(fixture.reported(id), [file]);
    drop(in_use);
}

#[test]
fn link_in_a_chain_is_followed_when_it_is_retargeted() {
    let mut fixture = Fixture::new();
    let (one, two) = (fixture.write("one/file"), fixture.write("two/file"));
    let (data, config) = (fixture.path("data"), fixture.path("etc/config"));
    retarget(&fixture.path("one"), &data);
    make_directory(&fixture.path("etc"));
    symlink("../data/file", &config).expect("a link");
    let id = fixture.subscribe_entry("etc/config");
    fs::write(&one, "other").expect("a write");
    assert_eq!(fixture.reported(id), from_ref(&config));
    retarget(&fixture.path("two"), &data);
    assert_eq!(fixture.reported(id), from_ref(&config));
    fs::write(&one, "no longer ours").expect("a write");
    assert_eq!(fixture.reported(id), NOTHING);
    fs::write(&two, "other").expect("a write");
    assert_eq!(fixture.reported(id), from_ref(&config));
    // A file in the place of the link, and a link in the place of the file.
    fs::remove_file(&config).expect("a removal");
    fixture.write("etc/config");
    assert_eq!(fixture.reported(id), from_ref(&config));
    fs::write(&two, "no longer ours").expect("a write");
    assert_eq!(fixture.reported(id), NOTHING);
    retarget(&two, &config);
    assert_eq!(fixture.reported(id), [config]);
}

#[test]
fn link_above_a_root_is_followed_when_it_is_retargeted() {
    let mut fixture = Fixture::new();
    fixture.write("one/src/file");
    fixture.write("two/src/file");
    let current = fixture.path("current");
    retarget(&fixture.path("one"), &current);
    let tree = fixture.subscribe_root("current/src");
    let entry = fixture.subscribe_entry("current/src/file");
    let file = current.join("src/file");
    retarget(&fixture.path("two"), &current);
    let both = [vec![current.join("src"), file.clone()], vec![file.clone()]];
    assert_eq!(fixture.reported_to([tree, entry]), both);
    fixture.write("two/src/file");
    assert_eq!(fixture.reported_to([tree, entry]), [vec![file.clone()], vec![file]]);
}

#[test]
fn link_whose_target_is_missing_for_a_while_is_followed() {
    let mut fixture = Fixture::new();
    fixture.write("real/src/file");
    symlink(fixture.path("real/src"), fixture.path("link")).expect("a link");
    let id = fixture.subscribe_root("link");
    fs::remove_dir_all(fixture.path("real")).expect("a removal");
    assert!(fixture.reported(id).contains(&fixture.path("link")));
    fixture.write("real/src/file");
    assert_eq!(fixture.reported(id), [fixture.path("link/file")]);
}

#[test]
fn project_that_is_moved_away_and_back_is_followed() {
    let mut fixture = Fixture::new();
    let (tiltfile, source) = (fixture.write("project/Tiltfile"), fixture.write("project/src/file"));
    let entry = fixture.subscribe_entry("project/Tiltfile");
    let tree = fixture.subscribe_root("project/src");
    for _ in 0..3 {
        fs::rename(fixture.path("project"), fixture.path("away")).expect("a rename");
        let gone = [vec![tiltfile.clone()], vec![fixture.path("project/src")]];
        assert_eq!(fixture.reported_to([entry, tree]), gone);
        fixture.write("away/src/file");
        assert_eq!(fixture.reported_to([entry, tree]), [const { Vec::<PathBuf>::new() }; 2]);
        fs::rename(fixture.path("away"), fixture.path("project")).expect("a rename");
        let back = [vec![tiltfile.clone()], vec![source.clone()]];
        assert_eq!(fixture.reported_to([entry, tree]), back);
        fs::write(&source, "other").expect("a write");
        assert_eq!(fixture.reported_to([entry, tree]), [vec![], vec![source.clone()]]);
    }
}

#[test]
fn thousand_type_changes_leave_no_watches() {
    let mut fixture = Fixture::new();
    fixture.write("other/deep/file");
    let root = fixture.write("root");
    let (tree, entry) = (fixture.subscribe_root("root"), fixture.subscribe_entry("root"));
    let at_first = (fixture.state.table.count(), fixture.kernel_watch_count());
    for round in 0..1000 {
        fs::remove_file(&root).expect("a removal");
        match round % 3 {
            0 => {
                fixture.write("root/deep/file");
                fixture.run_until_idle();
                fs::remove_dir_all(&root).expect("a removal");
            }
            1 => {
                symlink(fixture.path("other"), &root).expect("a link");
                fixture.run_until_idle();
                fs::remove_file(&root).expect("a removal");
            }
            _ => {
                make_directory(&root);
                fixture.run_until_idle();
                fs::rename(&root, fixture.path("aside")).expect("a rename");
                fs::remove_dir(fixture.path("aside")).expect("a removal");
            }
        }
        fixture.run_until_idle();
        fixture.write("root");
        fixture.run_until_idle();
    }
    assert_eq!((fixture.state.table.count(), fixture.kernel_watch_count()), at_first);
    assert!(fixture.reported_to([tree, entry]).iter().all(|paths| paths.contains(&root)));
    for id in [tree, entry] {
        fixture.state.handle(Command::Unsubscribe { id, unread: Vec::new() });
    }
    assert_eq!((fixture.state.table.count(), fixture.kernel_watch_count()), (0, 0));
}

#[test]
fn path_that_changes_its_type_is_reported_where_files_are_polled() {
    let mut fixture = Fixture::new();
    fixture.state.table = crate::watch::table::Table::new(None);
    let file = fixture.write("folder/file");
    let (id, _ready) = fixture.subscribe_to("folder");
    fixture.await_poll();
    assert!(fixture.take(id).notice.is_some());
    fs::remove_file(&file).expect("a removal");
    make_directory(&file);
    fixture.await_poll();
    assert_eq!(fixture.take(id).paths, from_ref(&file));
    fs::remove_dir(&file).expect("a removal");
    fixture.write("folder/file");
    fixture.await_poll();
    assert_eq!(fixture.take(id).paths, [file]);
}
