//! Updates of directories that cannot be removed: mount points, or directories in one of another user.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "clippy.toml's rules are not for tests")]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lilt_agent::protocol::{Entry, Kind, Update};
use support::{AgentClient, file, home, tree};
use tempfile::TempDir;

const NOBODY: u32 = 65_534;

/// A directory of root with a directory of the user in it, `www`.
struct TestFolder {
    folder: TempDir,
    user: u32,
    mounts: Vec<PathBuf>,
    _home: TempDir,
    program: PathBuf,
}

impl TestFolder {
    fn new(user: u32, mounts: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (home, program) = home();
        // So that the user can run the program.
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut test_folder = Self { folder, user, mounts: Vec::new(), _home: home, program };
        test_folder.own("www");
        for mount in mounts {
            test_folder.own(mount);
            let path = test_folder.path(mount);
            let status = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&path).status().unwrap();
            assert!(status.success());
            test_folder.mounts.push(path);
            test_folder.own(mount);
        }
        test_folder
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

    /// Applies one update; the content of a file is its name.
    fn update(&self, removals: &[&str], entries: Vec<Entry>) -> Result<(), String> {
        let content = |entry: &Entry| Path::new(&entry.path).file_name().unwrap().as_encoded_bytes().to_vec();
        let contents: Vec<Vec<u8>> = entries.iter().map(content).collect();
        let update = Update { removals: removals.iter().map(|it| self.name(it)).collect(), entries };
        let mut serve = Command::new(&self.program);
        let mut agent = AgentClient::start_with(serve.uid(self.user).gid(self.user).arg("serve"));
        agent.update(&update, &contents)
    }

    /// Returns the names of all entries.
    fn names(&self) -> Vec<String> {
        let first = |line: String| line.split(' ').next().unwrap().to_owned();
        tree(self.folder.path()).into_iter().map(first).collect()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        for mount in self.mounts.iter().rev() {
            let status = Command::new("umount").arg(mount).status().unwrap();
            assert!(status.success() || std::thread::panicking());
        }
    }
}

/// Only root can mount and switch users; `make test` runs as root.
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Returns test folders with a writable and a read-only parent, each with and without a volume.
fn test_folders() -> Vec<(String, TestFolder)> {
    let mut test_folders = Vec::new();
    for user in [0, NOBODY] {
        for mounts in [&["www"][..], &[]] {
            test_folders.push((format!("{user} {mounts:?}"), TestFolder::new(user, mounts)));
        }
    }
    test_folders
}

#[test]
fn directory_that_cannot_be_removed_is_emptied() {
    if !is_root() {
        return;
    }
    for (what, test_folder) in test_folders() {
        test_folder.fill("www/old", "");
        test_folder.fill("www/sub/old", "");
        test_folder.update(&["www"], Vec::new()).expect(&what);
        let is_removed = test_folder.user == 0 && test_folder.mounts.is_empty();
        assert_eq!(test_folder.names(), if is_removed { &[][..] } else { &["www/"] }, "{what}");
        // It can be filled again.
        let entries = vec![test_folder.directory("www"), test_folder.file("www/new", "new")];
        test_folder.update(&[], entries).expect(&what);
        assert_eq!(test_folder.names(), ["www/", "www/new"], "{what}");
    }
}

#[test]
fn directory_that_cannot_be_removed_is_replaced_in_one_update() {
    if !is_root() {
        return;
    }
    for (what, test_folder) in test_folders() {
        test_folder.own("www/gone");
        for name in ["old", "same", "sub/old", "sub/same", "kind/old", "gone/deep/old"] {
            test_folder.fill(&format!("www/{name}"), Path::new(name).file_name().unwrap().to_str().unwrap());
        }
        fs::set_permissions(test_folder.path("www"), fs::Permissions::from_mode(0o555)).unwrap();
        let kind = Kind::Link { target: "sub".into(), modified: 0 };
        let link = Entry { path: test_folder.name("www/link"), kind };
        let entries = || {
            vec![
                test_folder.directory("www"),
                test_folder.directory("www/sub"),
                test_folder.directory("www/more"),
                test_folder.file("www/same", "same"),
                test_folder.file("www/sub/same", "same"),
                test_folder.file("www/sub/new", "new"),
                test_folder.file("www/more/new", "new"),
                test_folder.file("www/kind", "kind"),
                link.clone(),
            ]
        };
        // An incomplete content leaves everything unchanged.
        let before = tree(test_folder.folder.path());
        let wrong = [entries(), vec![test_folder.file("www/wrong", "right")]].concat();
        let error = test_folder.update(&["www"], wrong).unwrap_err();
        assert!(error.ends_with("its content did not arrive whole"), "{what}: {error}");
        assert_eq!(tree(test_folder.folder.path()), before, "{what}");

        let same = fs::metadata(test_folder.path("www")).unwrap().ino();
        test_folder.update(&["www", "www/sub", "www/old"], entries()).expect(&what);
        // A process may have it as its working directory.
        assert_eq!(fs::metadata(test_folder.path("www")).unwrap().ino(), same, "{what}");
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
        assert_eq!(test_folder.names(), names, "{what}");
        assert_eq!(fs::read(test_folder.path("www/sub/same")).unwrap(), b"same", "{what}");
    }
}

#[test]
fn nested_mount_keeps_content_unless_removed_explicitly() {
    if !is_root() {
        return;
    }
    for (user, mounts) in
        [(0, &["www", "www/a/data"][..]), (NOBODY, &["www", "www/a/data"]), (0, &["www/a/data"])]
    {
        let test_folder = TestFolder::new(user, mounts);
        test_folder.own("www/a");
        test_folder.fill("www/a/old", "");
        test_folder.fill("www/a/data/database", "");
        test_folder.fill("www/a/data/sub/other", "");
        let entries = vec![
            test_folder.directory("www"),
            test_folder.file("www/a/new", "new"),
            test_folder.file("www/a/data/sub/new", "new"),
        ];
        test_folder.update(&["www"], entries).unwrap();
        let kept = ["www/a/data/", "www/a/data/database", "www/a/data/sub/", "www/a/data/sub/new"];
        let kept = [&["www/", "www/a/"][..], &kept, &["www/a/data/sub/other", "www/a/new"]].concat();
        assert_eq!(test_folder.names(), kept, "{mounts:?}");
        test_folder.update(&["www", "www/a/data"], Vec::new()).unwrap();
        assert_eq!(test_folder.names(), ["www/", "www/a/", "www/a/data/"], "{mounts:?}");
    }
}

#[test]
fn replaced_mount_point_fails_before_any_change() {
    if !is_root() {
        return;
    }
    let test_folder = TestFolder::new(0, &["www/data"]);
    test_folder.fill("www/old", "");
    test_folder.fill("www/data/old", "");
    let before = tree(test_folder.folder.path());
    for (name, at) in [("www/data", "www/data"), ("www", "www")] {
        let error = test_folder.update(&["www/old"], vec![test_folder.file(name, name)]).unwrap_err();
        assert_eq!(error, format!("{}: something is mounted there", test_folder.name(at)));
        assert_eq!(tree(test_folder.folder.path()), before);
    }
    // The same through a link.
    std::os::unix::fs::symlink("www", test_folder.path("link")).unwrap();
    test_folder.update(&["link/data"], Vec::new()).unwrap();
    assert_eq!(test_folder.names(), ["link", "www/", "www/data/", "www/old"]);
    // A single mounted file.
    test_folder.fill("file", "of others");
    let (one, other) = (test_folder.path("www/old"), test_folder.path("file"));
    assert!(Command::new("mount").arg("--bind").arg(&one).arg(&other).status().unwrap().success());
    let removed = test_folder.update(&["file"], Vec::new());
    let replaced = test_folder.update(&["www/old"], vec![test_folder.file("file", "file")]);
    assert!(Command::new("umount").arg(&other).status().unwrap().success());
    let words = format!("{}: something is mounted there", test_folder.name("file"));
    assert_eq!((removed, replaced), (Err(words.clone()), Err(words)));
    assert!(one.exists());
}
