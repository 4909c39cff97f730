//! Changes of directories that cannot go: a volume is mounted there, or they lie in one that is somebody else's.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lilt_agent::protocol::{Entry, Kind, Update};
use support::{Serving, file, home, tree};
use tempfile::TempDir;

const NOBODY: u32 = 65_534;

/// A directory of root's with one in it, `www`, which is the user's.
struct Place {
    folder: TempDir,
    user: u32,
    mounts: Vec<PathBuf>,
    _home: TempDir,
    program: PathBuf,
}

impl Place {
    fn new(user: u32, mounts: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (home, program) = home();
        // So that the program can be reached.
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut place = Self { folder, user, mounts: Vec::new(), _home: home, program };
        place.own("www");
        for mount in mounts {
            place.own(mount);
            let path = place.path(mount);
            let status = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&path).status().unwrap();
            assert!(status.success());
            place.mounts.push(path);
            place.own(mount);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn own(&self, name: &str) {
        fs::create_dir_all(self.path(name)).unwrap();
        chown(self.path(name), Some(self.user), Some(self.user)).unwrap();
    }

    fn fill(&self, name: &str, content: &str) {
        self.own(Path::new(name).parent().unwrap().to_str().unwrap());
        fs::write(self.path(name), content).unwrap();
        chown(self.path(name), Some(self.user), Some(self.user)).unwrap();
    }

    fn file(&self, name: &str, content: &str) -> Entry {
        file(&self.path(name), 0o644, content.as_bytes())
    }

    fn directory(&self, name: &str) -> Entry {
        Entry { path: self.name(name), kind: Kind::Directory { mode: 0o755, modified: 0 } }
    }

    /// As one burst; files in it consist of their own names.
    fn update(&self, removals: &[&str], entries: Vec<Entry>) -> Result<(), String> {
        let content = |entry: &Entry| Path::new(&entry.path).file_name().unwrap().as_encoded_bytes().to_vec();
        let contents: Vec<Vec<u8>> = entries.iter().map(content).collect();
        let update = Update { removals: removals.iter().map(|it| self.name(it)).collect(), entries };
        let mut serve = Command::new(&self.program);
        let mut agent = Serving::start_with(serve.uid(self.user).gid(self.user).arg("serve"));
        agent.update(&update, &contents)
    }

    /// Names of what is there.
    fn names(&self) -> Vec<String> {
        let first = |line: String| line.split(' ').next().unwrap().to_owned();
        tree(self.folder.path()).into_iter().map(first).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for mount in self.mounts.iter().rev() {
            let status = Command::new("umount").arg(mount).status().unwrap();
            assert!(status.success() || std::thread::panicking());
        }
    }
}

/// Only root can mount and become somebody else; `make test` runs as root, and there it counts.
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// In a directory that may be written, and in one that may not; with a volume, and without.
fn places() -> Vec<(String, Place)> {
    let mut places = Vec::new();
    for user in [0, NOBODY] {
        for mounts in [&["www"][..], &[]] {
            places.push((format!("{user} {mounts:?}"), Place::new(user, mounts)));
        }
    }
    places
}

#[test]
fn a_directory_that_cannot_go_becomes_empty() {
    if !is_root() {
        return;
    }
    for (what, place) in places() {
        place.fill("www/old", "");
        place.fill("www/sub/old", "");
        place.update(&["www"], Vec::new()).expect(&what);
        let goes = place.user == 0 && place.mounts.is_empty();
        assert_eq!(place.names(), if goes { &[][..] } else { &["www/"] }, "{what}");
        // And is filled again.
        let entries = vec![place.directory("www"), place.file("www/new", "new")];
        place.update(&[], entries).expect(&what);
        assert_eq!(place.names(), ["www/", "www/new"], "{what}");
    }
}

#[test]
fn a_directory_that_cannot_go_is_replaced_in_one_burst() {
    if !is_root() {
        return;
    }
    for (what, place) in places() {
        place.own("www/gone");
        for name in ["old", "same", "sub/old", "sub/same", "kind/old", "gone/deep/old"] {
            place.fill(&format!("www/{name}"), Path::new(name).file_name().unwrap().to_str().unwrap());
        }
        fs::set_permissions(place.path("www"), fs::Permissions::from_mode(0o555)).unwrap();
        let kind = Kind::Link { target: "sub".into(), modified: 0 };
        let link = Entry { path: place.name("www/link"), kind };
        let entries = || {
            vec![
                place.directory("www"),
                place.directory("www/sub"),
                place.directory("www/more"),
                place.file("www/same", "same"),
                place.file("www/sub/same", "same"),
                place.file("www/sub/new", "new"),
                place.file("www/more/new", "new"),
                place.file("www/kind", "kind"),
                link.clone(),
            ]
        };
        // What does not arrive whole leaves everything.
        let before = tree(place.folder.path());
        let wrong = [entries(), vec![place.file("www/wrong", "right")]].concat();
        let error = place.update(&["www"], wrong).unwrap_err();
        assert!(error.ends_with("its content did not arrive whole"), "{what}: {error}");
        assert_eq!(tree(place.folder.path()), before, "{what}");

        let same = fs::metadata(place.path("www")).unwrap().ino();
        place.update(&["www", "www/sub", "www/old"], entries()).expect(&what);
        // Somebody may have it as a working directory.
        assert_eq!(fs::metadata(place.path("www")).unwrap().ino(), same, "{what}");
        let names = [
            "www/",
            "www/kind",
            "www/link",
            "www/more/",
            "www/more/new",
            "www/same",
            "www/sub/",
            "www/sub/new",
            "www/sub/same",
        ];
        assert_eq!(place.names(), names, "{what}");
        assert_eq!(fs::read(place.path("www/sub/same")).unwrap(), b"same", "{what}");
    }
}

#[test]
fn what_is_mounted_deeper_keeps_what_is_in_it_unless_that_is_told() {
    if !is_root() {
        return;
    }
    for (user, mounts) in
        [(0, &["www", "www/a/data"][..]), (NOBODY, &["www", "www/a/data"]), (0, &["www/a/data"])]
    {
        let place = Place::new(user, mounts);
        place.own("www/a");
        place.fill("www/a/old", "");
        place.fill("www/a/data/database", "");
        place.fill("www/a/data/sub/other", "");
        let entries = vec![
            place.directory("www"),
            place.file("www/a/new", "new"),
            place.file("www/a/data/sub/new", "new"),
        ];
        place.update(&["www"], entries).unwrap();
        let kept = ["www/a/data/", "www/a/data/database", "www/a/data/sub/", "www/a/data/sub/new"];
        let kept = [&["www/", "www/a/"][..], &kept, &["www/a/data/sub/other", "www/a/new"]].concat();
        assert_eq!(place.names(), kept, "{mounts:?}");
        place.update(&["www", "www/a/data"], Vec::new()).unwrap();
        assert_eq!(place.names(), ["www/", "www/a/", "www/a/data/"], "{mounts:?}");
    }
}

#[test]
fn what_cannot_become_something_else_is_told_before_anything_changes() {
    if !is_root() {
        return;
    }
    let place = Place::new(0, &["www/data"]);
    place.fill("www/old", "");
    place.fill("www/data/old", "");
    let before = tree(place.folder.path());
    for (name, at) in [("www/data", "www/data"), ("www", "www")] {
        let error = place.update(&["www/old"], vec![place.file(name, name)]).unwrap_err();
        assert_eq!(error, format!("{}: something is mounted there", place.name(at)));
        assert_eq!(tree(place.folder.path()), before);
    }
    // Also for whoever comes to it by another way.
    std::os::unix::fs::symlink("www", place.path("link")).unwrap();
    place.update(&["link/data"], Vec::new()).unwrap();
    assert_eq!(place.names(), ["link", "www/", "www/data/", "www/old"]);
    // A single file of a volume.
    place.fill("file", "of others");
    let (one, other) = (place.path("www/old"), place.path("file"));
    assert!(Command::new("mount").arg("--bind").arg(&one).arg(&other).status().unwrap().success());
    let removed = place.update(&["file"], Vec::new());
    let replaced = place.update(&["www/old"], vec![place.file("file", "file")]);
    assert!(Command::new("umount").arg(&other).status().unwrap().success());
    let words = format!("{}: something is mounted there", place.name("file"));
    assert_eq!((removed, replaced), (Err(words.clone()), Err(words)));
    assert!(one.exists());
}
