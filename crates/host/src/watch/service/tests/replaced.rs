//! Roots that become something else: a file, a directory, a link, nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use lilt_model::files::{FileSet, Manner};
use tokio::sync::oneshot;

use super::Bench;
use crate::watch::{Batch, Command, SubscriptionId};

const NOTHING: [PathBuf; 0] = [];

impl Bench {
    /// Subscribes to one path, without what is below it.
    fn subscribe_entry(&mut self, name: &str) -> SubscriptionId {
        let files = FileSet { entries: [self.path(name)].into(), ..FileSet::default() };
        let (id, mut ready) = self.subscribe_files(files, Manner::default());
        self.turn();
        assert_eq!(ready.try_recv(), Ok(Ok(())));
        id
    }

    fn subscribe_root(&mut self, name: &str) -> SubscriptionId {
        let (id, mut ready) = self.subscribe_to(name);
        self.turn();
        assert_eq!(ready.try_recv(), Ok(Ok(())));
        id
    }

    fn reported(&mut self, id: SubscriptionId) -> Vec<PathBuf> {
        let [paths] = self.reported_to([id]);
        paths
    }

    /// The paths that are reported by now to each subscription; none if nothing is.
    fn reported_to<const N: usize>(&mut self, ids: [SubscriptionId; N]) -> [Vec<PathBuf>; N] {
        self.turn();
        let replies = ids.map(|id| {
            let (reply, batch) = oneshot::channel::<Batch>();
            self.state.obey(Command::Take { id, reply });
            batch
        });
        while self.state.delivery.wake().is_some() {
            self.state.delivery.flush();
        }
        replies.map(|mut batch| batch.try_recv().map(|batch: Batch| batch.paths).unwrap_or_default())
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
    let mut bench = Bench::new();
    let file = bench.write("Tiltfile");
    let id = bench.subscribe_entry("Tiltfile");
    for _ in 0..3 {
        fs::remove_file(&file).expect("a removal");
        assert_eq!(bench.reported(id), from_ref(&file));
        make_directory(&file);
        assert_eq!(bench.reported(id), from_ref(&file));
        fs::remove_dir(&file).expect("a removal");
        assert_eq!(bench.reported(id), from_ref(&file));
        bench.write("Tiltfile");
        assert_eq!(bench.reported(id), from_ref(&file));
    }
}

#[test]
fn entry_that_is_a_directory_when_subscribed_is_reported_as_a_file() {
    let mut bench = Bench::new();
    let path = bench.path("Tiltfile");
    make_directory(&path);
    let id = bench.subscribe_entry("Tiltfile");
    fs::remove_dir(&path).expect("a removal");
    bench.write("Tiltfile");
    assert_eq!(bench.reported(id), [path]);
}

#[test]
fn entry_that_is_a_directory_does_not_watch_its_content() {
    let mut bench = Bench::new();
    bench.write("folder/deep/file");
    let id = bench.subscribe_entry("folder");
    assert_eq!(bench.watches_of_the_kernel(), 1);
    bench.write("folder/deep/file");
    bench.write("folder/other");
    assert_eq!(bench.reported(id), NOTHING);
    // The same path with depth is another subscription.
    let tree = bench.subscribe_root("folder");
    let file = bench.write("folder/other");
    assert_eq!(bench.reported_to([tree, id]), [vec![file], vec![]]);
}

#[test]
fn root_is_reported_each_time_it_changes_its_type() {
    let mut bench = Bench::new();
    let inner = bench.write("root/file");
    let root = bench.path("root");
    let id = bench.subscribe_root("root");
    for _ in 0..3 {
        fs::remove_dir_all(&root).expect("a removal");
        assert!(bench.reported(id).contains(&root));
        bench.write("root");
        assert_eq!(bench.reported(id), from_ref(&root));
        fs::write(&root, "other").expect("a write");
        assert_eq!(bench.reported(id), from_ref(&root));
        fs::remove_file(&root).expect("a removal");
        assert_eq!(bench.reported(id), from_ref(&root));
        bench.write("root/file");
        assert_eq!(bench.reported(id), from_ref(&inner));
        fs::write(&inner, "other").expect("a write");
        assert_eq!(bench.reported(id), from_ref(&inner));
    }
}

/// The watcher hears of the first when the second is there already.
#[test]
fn root_that_changes_its_type_at_once_is_reported() {
    let mut bench = Bench::new();
    let root = bench.write("root");
    let id = bench.subscribe_root("root");
    fs::remove_file(&root).expect("a removal");
    make_directory(&root);
    assert_eq!(bench.reported(id), from_ref(&root), "an empty directory in the place of the file");
    fs::remove_dir(&root).expect("a removal");
    bench.write("root");
    assert_eq!(bench.reported(id), from_ref(&root));
    fs::write(&root, "other").expect("a write");
    assert_eq!(bench.reported(id), [root]);
}

#[test]
fn root_that_takes_the_place_of_another_directory_is_reported() {
    let mut bench = Bench::new();
    bench.write("root/old");
    let new = bench.write("next/new");
    let root = bench.path("root");
    let id = bench.subscribe_root("root");
    fs::rename(&root, bench.path("aside")).expect("a rename");
    fs::rename(bench.path("next"), &root).expect("a rename");
    assert_eq!(bench.reported(id), [root.clone(), root.join(new.file_name().expect("a name"))]);
}

/// The kernel reports the end of a directory only when nobody uses it any more, such as a server that runs in it.
#[test]
fn root_that_is_recreated_while_a_process_uses_the_old_one_is_followed() {
    let mut bench = Bench::new();
    let file = bench.write("root/file");
    let root = bench.path("root");
    let in_use = fs::File::open(&root).expect("a directory");
    let id = bench.subscribe_root("root");
    fs::remove_dir_all(&root).expect("a removal");
    assert!(bench.reported(id).contains(&file));
    bench.write("root/file");
    assert!(bench.reported(id).contains(&file));
    fs::write(&file, "other").expect("a write");
    assert_eq!(bench.reported(id), [file]);
    drop(in_use);
}

#[test]
fn link_in_a_chain_is_followed_when_it_is_retargeted() {
    let mut bench = Bench::new();
    let (one, two) = (bench.write("one/file"), bench.write("two/file"));
    let (data, config) = (bench.path("data"), bench.path("etc/config"));
    retarget(&bench.path("one"), &data);
    make_directory(&bench.path("etc"));
    symlink("../data/file", &config).expect("a link");
    let id = bench.subscribe_entry("etc/config");
    fs::write(&one, "other").expect("a write");
    assert_eq!(bench.reported(id), from_ref(&config));
    retarget(&bench.path("two"), &data);
    assert_eq!(bench.reported(id), from_ref(&config));
    fs::write(&one, "no longer ours").expect("a write");
    assert_eq!(bench.reported(id), NOTHING);
    fs::write(&two, "other").expect("a write");
    assert_eq!(bench.reported(id), from_ref(&config));
    // A file in the place of the link, and a link in the place of the file.
    fs::remove_file(&config).expect("a removal");
    bench.write("etc/config");
    assert_eq!(bench.reported(id), from_ref(&config));
    fs::write(&two, "no longer ours").expect("a write");
    assert_eq!(bench.reported(id), NOTHING);
    retarget(&two, &config);
    assert_eq!(bench.reported(id), [config]);
}

#[test]
fn link_above_a_root_is_followed_when_it_is_retargeted() {
    let mut bench = Bench::new();
    bench.write("one/src/file");
    bench.write("two/src/file");
    let current = bench.path("current");
    retarget(&bench.path("one"), &current);
    let tree = bench.subscribe_root("current/src");
    let entry = bench.subscribe_entry("current/src/file");
    let file = current.join("src/file");
    retarget(&bench.path("two"), &current);
    let both = [vec![current.join("src"), file.clone()], vec![file.clone()]];
    assert_eq!(bench.reported_to([tree, entry]), both);
    bench.write("two/src/file");
    assert_eq!(bench.reported_to([tree, entry]), [vec![file.clone()], vec![file]]);
}

#[test]
fn link_whose_target_is_missing_for_a_while_is_followed() {
    let mut bench = Bench::new();
    bench.write("real/src/file");
    symlink(bench.path("real/src"), bench.path("link")).expect("a link");
    let id = bench.subscribe_root("link");
    fs::remove_dir_all(bench.path("real")).expect("a removal");
    assert!(bench.reported(id).contains(&bench.path("link")));
    bench.write("real/src/file");
    assert_eq!(bench.reported(id), [bench.path("link/file")]);
}

#[test]
fn project_that_is_moved_away_and_back_is_followed() {
    let mut bench = Bench::new();
    let (tiltfile, source) = (bench.write("project/Tiltfile"), bench.write("project/src/file"));
    let entry = bench.subscribe_entry("project/Tiltfile");
    let tree = bench.subscribe_root("project/src");
    for _ in 0..3 {
        fs::rename(bench.path("project"), bench.path("away")).expect("a rename");
        let gone = [vec![tiltfile.clone()], vec![bench.path("project/src")]];
        assert_eq!(bench.reported_to([entry, tree]), gone);
        bench.write("away/src/file");
        assert_eq!(bench.reported_to([entry, tree]), [const { Vec::<PathBuf>::new() }; 2]);
        fs::rename(bench.path("away"), bench.path("project")).expect("a rename");
        let back = [vec![tiltfile.clone()], vec![source.clone()]];
        assert_eq!(bench.reported_to([entry, tree]), back);
        fs::write(&source, "other").expect("a write");
        assert_eq!(bench.reported_to([entry, tree]), [vec![], vec![source.clone()]]);
    }
}

#[test]
fn thousand_type_changes_leave_no_watches() {
    let mut bench = Bench::new();
    bench.write("other/deep/file");
    let root = bench.write("root");
    let (tree, entry) = (bench.subscribe_root("root"), bench.subscribe_entry("root"));
    let at_first = (bench.state.table.count(), bench.watches_of_the_kernel());
    for round in 0..1000 {
        fs::remove_file(&root).expect("a removal");
        match round % 3 {
            0 => {
                bench.write("root/deep/file");
                bench.turn();
                fs::remove_dir_all(&root).expect("a removal");
            }
            1 => {
                symlink(bench.path("other"), &root).expect("a link");
                bench.turn();
                fs::remove_file(&root).expect("a removal");
            }
            _ => {
                make_directory(&root);
                bench.turn();
                fs::rename(&root, bench.path("aside")).expect("a rename");
                fs::remove_dir(bench.path("aside")).expect("a removal");
            }
        }
        bench.turn();
        bench.write("root");
        bench.turn();
    }
    assert_eq!((bench.state.table.count(), bench.watches_of_the_kernel()), at_first);
    assert!(bench.reported_to([tree, entry]).iter().all(|paths| paths.contains(&root)));
    for id in [tree, entry] {
        bench.state.obey(Command::Unsubscribe { id });
    }
    assert_eq!((bench.state.table.count(), bench.watches_of_the_kernel()), (0, 0));
}

#[test]
fn path_that_changes_its_type_is_reported_where_files_are_polled() {
    let mut bench = Bench::new();
    bench.state.table = crate::watch::table::Table::new(None);
    let file = bench.write("folder/file");
    let (id, _ready) = bench.subscribe_to("folder");
    bench.look();
    assert!(bench.take(id).notice.is_some());
    fs::remove_file(&file).expect("a removal");
    make_directory(&file);
    bench.look();
    assert_eq!(bench.take(id).paths, from_ref(&file));
    fs::remove_dir(&file).expect("a removal");
    bench.write("folder/file");
    bench.look();
    assert_eq!(bench.take(id).paths, [file]);
}
