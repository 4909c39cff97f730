//! Tests with a real inotify instance. Memory is calculated, not measured.

use std::fs;
use std::os::unix::fs::symlink;

use super::tree::Node;
use super::*;

const ONE: RegionId = RegionId(1);
const TWO: RegionId = RegionId(2);

struct Fixture {
    folder: tempfile::TempDir,
    table: Table,
}

impl Fixture {
    fn new(directories: &[&str]) -> Fixture {
        let inotify = Inotify::init().expect("an inotify instance");
        let fixture = Fixture {
            folder: tempfile::tempdir().expect("a temporary folder"),
            table: Table::new(Some(inotify)),
        };
        for directory in directories {
            fs::create_dir_all(fixture.path(directory)).expect("a directory");
        }
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it exists").join(name)
    }

    fn hold(&mut self, name: &str, holder: RegionId) -> NodeId {
        let path = self.path(name);
        self.table.hold(&path, holder, Links::Follow, Interest::Content).expect("a watch")
    }

    /// Returns the paths reported for a write in a directory, with their number of holders.
    fn paths_reported_after_write(&mut self, directory: &str) -> Vec<(PathBuf, usize)> {
        fs::write(self.path(directory).join("file"), "").expect("a file");
        let mut buffer = [0; 4096];
        let events = self.table.inotify_mut().expect("an instance").read_events(&mut buffer).expect("events");
        let watches: Vec<WatchDescriptor> = events.map(|event| event.wd).collect();
        let mut paths_of = self.table.paths_of(watches.last().expect("an event"));
        paths_of.sort_by(|one, other| one.path.cmp(&other.path));
        paths_of.into_iter().map(|watched| (watched.path, watched.holders.as_slice().len())).collect()
    }
}

#[test]
fn directory_is_watched_until_last_holder_releases_it() {
    let mut fixture = Fixture::new(&["a"]);
    let node = fixture.hold("a", ONE);
    assert_eq!((fixture.hold("a", ONE), fixture.hold("a", TWO)), (node, node));
    assert_eq!(fixture.paths_reported_after_write("a"), [(fixture.path("a"), 2)]);
    fixture.table.release(node, ONE);
    fixture.table.release(node, ONE);
    assert_eq!(fixture.paths_reported_after_write("a"), [(fixture.path("a"), 1)]);
    fixture.table.release(node, TWO);
    assert_eq!((fixture.table.count(), fixture.table.tree.len()), (0, 0));
}

#[test]
fn paths_through_links_share_a_watch() {
    let mut fixture = Fixture::new(&["a"]);
    for link in ["b", "c"] {
        symlink(fixture.path("a"), fixture.path(link)).expect("a link");
    }
    let nodes = ["a", "b", "c"].map(|name| fixture.hold(name, ONE));
    fixture.hold("b", TWO);
    assert_eq!(fixture.table.count(), 1);
    assert_eq!(
        fixture.paths_reported_after_write("a"),
        [(fixture.path("a"), 1), (fixture.path("b"), 2), (fixture.path("c"), 1)]
    );
    fixture.table.release(nodes[0], ONE);
    assert_eq!(
        fixture.paths_reported_after_write("a"),
        [(fixture.path("b"), 2), (fixture.path("c"), 1)],
        "in spite of the first's end"
    );
    fixture.table.release(nodes[2], ONE);
    assert_eq!(fixture.paths_reported_after_write("a"), [(fixture.path("b"), 2)]);
    assert_eq!(fixture.table.count(), 1);
}

#[test]
fn holders_keep_path_of_replaced_directory() {
    let mut fixture = Fixture::new(&["a", "new"]);
    let node = fixture.hold("a", ONE);
    fs::rename(fixture.path("a"), fixture.path("old")).expect("a move");
    fs::rename(fixture.path("new"), fixture.path("a")).expect("a move");
    assert_eq!(fixture.hold("a", TWO), node);
    assert_eq!(fixture.table.count(), 1);
    assert_eq!(fixture.paths_reported_after_write("a"), [(fixture.path("a"), 2)]);
}

#[test]
fn moved_directory_removes_nodes_below_it() {
    let mut fixture = Fixture::new(&["a/b/c", "ab"]);
    let inside = [fixture.hold("a/b", ONE), fixture.hold("a/b/c", TWO)];
    let beside = fixture.hold("ab", ONE);
    assert!(fixture.table.moved_away(&fixture.path("other")).is_empty());
    let mut gone = fixture.table.moved_away(&fixture.path("a"));
    gone.sort_by_key(|(_, holders)| holders.as_slice()[0].0);
    let gone: Vec<_> = gone.iter().map(|(node, holders)| (*node, holders.as_slice())).collect();
    assert_eq!(gone, [(inside[0], &[ONE][..]), (inside[1], &[TWO][..])]);
    assert_eq!(fixture.table.count(), 1);
    assert!(fixture.table.tree.find(&fixture.path("a")).is_none());
    assert_eq!(fixture.table.tree.find(&fixture.path("ab")), Some(beside));
}

#[test]
fn watch_removed_by_kernel_leaves_no_nodes() {
    let mut fixture = Fixture::new(&["a"]);
    let node = fixture.hold("a", ONE);
    fs::remove_dir(fixture.path("a")).expect("a removal");
    let mut buffer = [0; 4096];
    let events = fixture.table.inotify_mut().expect("an instance").read_events(&mut buffer).expect("events");
    let watches: Vec<WatchDescriptor> = events.map(|event| event.wd).collect();
    watches.iter().for_each(|watch| fixture.table.remove_ended_watch(watch));
    assert_eq!((fixture.table.count(), fixture.table.tree.len()), (0, 0));
    fixture.table.release(node, ONE);
    assert_eq!(fixture.table.tree.len(), 0, "what is gone cannot go again");
}

#[test]
fn only_known_paths_are_watched_beyond_the_limit() {
    let mut fixture = Fixture::new(&["a", "b"]);
    fixture.hold("a", ONE);
    fixture.table.limit = 1;
    fixture.hold("a", TWO);
    let path = fixture.path("b");
    let error = fixture.table.hold(&path, ONE, Links::Follow, Interest::Content).expect_err("no more");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(fixture.table.tree.find(&path).is_none(), "a refusal leaves nothing");
}

#[test]
fn prune_removes_parents_with_last_child() {
    let mut tree = Tree::new();
    let (first, second) = (tree.insert(Path::new("/a/b/first")), tree.insert(Path::new("/a/b/second")));
    assert_eq!(tree.len(), 5, "the root, a, b and the two");
    assert_eq!(tree.path(first), Path::new("/a/b/first"));
    tree.prune(first);
    assert_eq!((tree.len(), tree.find(Path::new("/a/b/second"))), (4, Some(second)));
    tree.prune(second);
    assert_eq!(tree.len(), 0);
}

#[test]
fn node_ids_are_reused() {
    let mut tree = Tree::new();
    let mut numbers = |round: usize| {
        let path = |index| PathBuf::from(format!("/{round}/{index}"));
        let nodes: Vec<NodeId> = (0..10).map(|index| tree.insert(&path(index))).collect();
        for (index, node) in nodes.iter().enumerate() {
            assert_eq!((tree.path(*node), tree.find(&path(index))), (path(index), Some(*node)));
        }
        nodes.iter().for_each(|node| tree.prune(*node));
        tree.capacity()
    };
    let first = numbers(0);
    assert!((1..100).all(|round| numbers(round) == first));
}

#[test]
fn names_of_all_lengths_are_stored() {
    let mut tree = Tree::new();
    let paths: Vec<PathBuf> =
        (1..=255).map(|length| PathBuf::from(format!("/{}", "ü".repeat(length)))).collect();
    let nodes: Vec<NodeId> = paths.iter().map(|path| tree.insert(path)).collect();
    for (path, node) in paths.iter().zip(nodes) {
        assert_eq!((tree.find(path), tree.path(node)), (Some(node), path.clone()));
    }
}

/// The budget for 100,000 directories is 15 MB. This counts the table's part: nodes, names (with allocator overhead)
/// and both indexes.
#[test]
fn node_memory_stays_below_80_bytes() {
    const DIRECTORIES: usize = 100_000;
    assert!(size_of::<Node>() <= 56, "a node has {} bytes", size_of::<Node>());
    let mut tree = Tree::new();
    for index in 0..DIRECTORIES {
        tree.insert(Path::new(&format!("/home/somebody/project/{}/{index}", index / 100)));
    }
    let by_watch = DIRECTORIES.next_power_of_two() * (size_of::<(Watch, NodeId)>() + 1);
    let each = (tree.size() + by_watch) / DIRECTORIES;
    assert!(each <= 80, "a directory takes {each} bytes");
}
