//! The table with a real inotify instance, and its size as counted, not as measured.

use std::fs;
use std::os::unix::fs::symlink;

use super::tree::Node;
use super::*;

const ONE: RegionId = RegionId(1);
const TWO: RegionId = RegionId(2);

struct Bench {
    folder: tempfile::TempDir,
    table: Table,
}

impl Bench {
    fn new(directories: &[&str]) -> Bench {
        let inotify = Inotify::init().expect("an inotify instance");
        let bench = Bench {
            folder: tempfile::tempdir().expect("a temporary folder"),
            table: Table::new(Some(inotify)),
        };
        for directory in directories {
            fs::create_dir_all(bench.path(directory)).expect("a directory");
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it exists").join(name)
    }

    fn hold(&mut self, name: &str, holder: RegionId) -> NodeId {
        let path = self.path(name);
        self.table.hold(&path, holder, Links::Follow, Interest::Content).expect("a watch")
    }

    /// Of what the kernel tells after a write in a directory: the paths and how many hold each.
    fn told_of(&mut self, directory: &str) -> Vec<(PathBuf, usize)> {
        fs::write(self.path(directory).join("file"), "").expect("a file");
        let mut buffer = [0; 4096];
        let events = self.table.inotify_mut().expect("an instance").read_events(&mut buffer).expect("events");
        let watches: Vec<WatchDescriptor> = events.map(|event| event.wd).collect();
        let mut places = self.table.places(watches.last().expect("an event"));
        places.sort_by(|one, other| one.path.cmp(&other.path));
        places.into_iter().map(|place| (place.path, place.holders.as_slice().len())).collect()
    }
}

#[test]
fn a_directory_is_watched_until_its_last_holder_lets_go() {
    let mut bench = Bench::new(&["a"]);
    let node = bench.hold("a", ONE);
    assert_eq!((bench.hold("a", ONE), bench.hold("a", TWO)), (node, node));
    assert_eq!(bench.told_of("a"), [(bench.path("a"), 2)]);
    bench.table.release(node, ONE);
    bench.table.release(node, ONE);
    assert_eq!(bench.told_of("a"), [(bench.path("a"), 1)]);
    bench.table.release(node, TWO);
    assert_eq!((bench.table.count(), bench.table.tree.len()), (0, 0));
}

#[test]
fn paths_by_links_share_a_watch() {
    let mut bench = Bench::new(&["a"]);
    for link in ["b", "c"] {
        symlink(bench.path("a"), bench.path(link)).expect("a link");
    }
    let nodes = ["a", "b", "c"].map(|name| bench.hold(name, ONE));
    bench.hold("b", TWO);
    assert_eq!(bench.table.count(), 1);
    assert_eq!(bench.told_of("a"), [(bench.path("a"), 1), (bench.path("b"), 2), (bench.path("c"), 1)]);
    bench.table.release(nodes[0], ONE);
    assert_eq!(
        bench.told_of("a"),
        [(bench.path("b"), 2), (bench.path("c"), 1)],
        "in spite of the first's end"
    );
    bench.table.release(nodes[2], ONE);
    assert_eq!(bench.told_of("a"), [(bench.path("b"), 2)]);
    assert_eq!(bench.table.count(), 1);
}

#[test]
fn holders_follow_the_directory_that_takes_a_path() {
    let mut bench = Bench::new(&["a", "new"]);
    let node = bench.hold("a", ONE);
    fs::rename(bench.path("a"), bench.path("old")).expect("a move");
    fs::rename(bench.path("new"), bench.path("a")).expect("a move");
    assert_eq!(bench.hold("a", TWO), node);
    assert_eq!(bench.table.count(), 1);
    assert_eq!(bench.told_of("a"), [(bench.path("a"), 2)]);
}

#[test]
fn what_lies_in_a_moved_directory_is_forgotten() {
    let mut bench = Bench::new(&["a/b/c", "ab"]);
    let inside = [bench.hold("a/b", ONE), bench.hold("a/b/c", TWO)];
    let beside = bench.hold("ab", ONE);
    assert!(bench.table.moved_away(&bench.path("other")).is_empty());
    let mut gone = bench.table.moved_away(&bench.path("a"));
    gone.sort_by_key(|(_, holders)| holders.as_slice()[0].0);
    let gone: Vec<_> = gone.iter().map(|(node, holders)| (*node, holders.as_slice())).collect();
    assert_eq!(gone, [(inside[0], &[ONE][..]), (inside[1], &[TWO][..])]);
    assert_eq!(bench.table.count(), 1);
    assert!(bench.table.tree.find(&bench.path("a")).is_none());
    assert_eq!(bench.table.tree.find(&bench.path("ab")), Some(beside));
}

#[test]
fn a_watch_that_the_kernel_ends_leaves_nothing() {
    let mut bench = Bench::new(&["a"]);
    let node = bench.hold("a", ONE);
    fs::remove_dir(bench.path("a")).expect("a removal");
    let mut buffer = [0; 4096];
    let events = bench.table.inotify_mut().expect("an instance").read_events(&mut buffer).expect("events");
    let watches: Vec<WatchDescriptor> = events.map(|event| event.wd).collect();
    watches.iter().for_each(|watch| bench.table.ended(watch));
    assert_eq!((bench.table.count(), bench.table.tree.len()), (0, 0));
    bench.table.release(node, ONE);
    assert_eq!(bench.table.tree.len(), 0, "what is gone cannot go again");
}

#[test]
fn beyond_the_limit_only_known_paths_are_watched() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.hold("a", ONE);
    bench.table.limit = 1;
    bench.hold("a", TWO);
    let path = bench.path("b");
    let error = bench.table.hold(&path, ONE, Links::Follow, Interest::Content).expect_err("no more");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(bench.table.tree.find(&path).is_none(), "a refusal leaves nothing");
}

#[test]
fn what_is_above_goes_with_its_last_child() {
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
fn numbers_are_used_again() {
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
fn names_of_all_lengths_are_kept() {
    let mut tree = Tree::new();
    let paths: Vec<PathBuf> =
        (1..=255).map(|length| PathBuf::from(format!("/{}", "ü".repeat(length)))).collect();
    let nodes: Vec<NodeId> = paths.iter().map(|path| tree.insert(path)).collect();
    for (path, node) in paths.iter().zip(nodes) {
        assert_eq!((tree.find(path), tree.path(node)), (Some(node), path.clone()));
    }
}

/// 100,000 directories have 15 MB. The table's own part is counted here: nodes, names (with what the allocator adds)
/// and both ways to find them.
#[test]
fn a_directory_costs_little() {
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
