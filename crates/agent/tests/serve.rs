//! Tests of `serve` on this machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "clippy.toml's rules are not for tests")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lilt_agent::protocol::{Entry, Kind, Reply, Request, Update};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use proptest::prelude::*;
use support::noise::noise;
use support::{AgentClient, eventually, file, home, one, tree};
use tempfile::TempDir;

#[test]
fn update_sends_only_differences() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("deep/er/binary");
    let mut agent = AgentClient::start(&program);
    let content = noise(8 << 20, 1);
    let (update, contents) = one(&path, &content);
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content);
    assert!(agent.sent > content.len() / 2);

    agent.sent = 0;
    agent.update(&update, &contents).unwrap();
    assert!(agent.sent < 500, "nothing differs, and {} bytes travelled", agent.sent);

    // One percent is inserted in one place.
    let mut changed = content.clone();
    changed.splice(3_000_000..3_000_000, noise(80_000, 2));
    agent.sent = 0;
    let (update, contents) = one(&path, &changed);
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::read(&path).unwrap(), changed);
    assert!(agent.sent < 300_000, "{} bytes travelled", agent.sent);

    // A rename into another directory.
    let moved = folder.path().join("elsewhere/moved");
    agent.sent = 0;
    let (mut update, contents) = one(&moved, &changed);
    update.removals = vec![folder.path().join("deep").to_str().unwrap().into()];
    agent.update(&update, &contents).unwrap();
    assert_eq!((fs::read(&moved).unwrap(), path.exists()), (changed, false));
    assert!(agent.sent < 500, "it only moved, and {} bytes travelled", agent.sent);

    // Repeated content is sent and stored only once.
    let zeros = vec![0; 4 << 20];
    agent.sent = 0;
    let (update, contents) = one(&path, &zeros);
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::read(&path).unwrap(), zeros);
    assert!(agent.sent < 100_000, "{} bytes travelled", agent.sent);
}

/// The agent need not read again what it wrote itself, but must detect changes by others.
#[test]
fn update_is_right_after_changes_by_others() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("binary");
    let mut agent = AgentClient::start(&program);
    let mut content = noise(2 << 20, 1);
    let save = |agent: &mut AgentClient, content: &[u8]| {
        (agent.sent, agent.received) = (0, 0);
        let (update, contents) = one(&path, content);
        agent.update(&update, &contents).unwrap();
        assert!(fs::read(&path).unwrap() == content);
        (agent.sent, agent.received)
    };
    save(&mut agent, &content);
    content[1_000_000..1_020_000].fill(1);
    let (sent, received) = save(&mut agent, &content);
    assert!(sent < 200_000 && received < 200, "{sent} bytes travelled, {received} came back");

    // Changed in place, with the same size and time.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; 30_000], 500_000).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(modified)).unwrap();
    content[1_500_000..1_520_000].fill(2);
    let (sent, received) = save(&mut agent, &content);
    assert!((30_000..300_000).contains(&sent) && received > 1500, "{sent} there, {received} back");

    // Replaced by another file, then deleted.
    fs::rename(&path, folder.path().join("away")).unwrap();
    fs::write(&path, noise(2 << 20, 5)).unwrap();
    save(&mut agent, &content);
    fs::remove_file(&path).unwrap();
    save(&mut agent, &content);
    // The same update again, after a change by others.
    fs::write(&path, noise(2 << 20, 6)).unwrap();
    save(&mut agent, &content);
}

/// Python treats bytecode as current if the source has the same size and its time is in the same second.
#[test]
fn saves_in_one_second_get_times_in_different_seconds() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("main.py");
    let mut agent = AgentClient::start(&program);
    let mut seconds = BTreeSet::new();
    for content in ["one", "two", "six"] {
        let (update, contents) = one(&path, content.as_bytes());
        agent.update(&update, &contents).unwrap();
        seconds.insert(fs::metadata(&path).unwrap().mtime());
    }
    assert_eq!(seconds.into_iter().collect::<Vec<_>>(), [1_700_000_000, 1_700_000_001, 1_700_000_002]);
    // The same content again changes nothing, and does not set the time back.
    let (update, contents) = one(&path, b"six");
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mtime(), 1_700_000_002);
}

/// Uvicorn without watchfiles takes a save during its restart for the running version.
#[test]
fn quick_saves_are_touched_again_unless_watched() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let (polled, watched) = (folder.path().join("polled"), folder.path().join("watched"));
    for file_path in [&polled, &watched] {
        fs::create_dir(file_path).unwrap();
    }
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
    inotify.add_watch(&watched, AddWatchFlags::IN_ATTRIB).unwrap();
    let (mut first, mut second) = (AgentClient::start(&program), AgentClient::start(&program));
    // The watched one is saved first: when the other is touched, its own delay has passed, too.
    for (agent, file_path) in [(&mut second, &watched), (&mut first, &polled)] {
        let (update, contents) = one(&file_path.join("main.py"), b"saved");
        agent.update(&update, &contents).unwrap();
    }
    let path = polled.join("main.py");
    eventually("the polled file is touched", || {
        (fs::metadata(&path).unwrap().mtime() > 1_700_000_000).then_some(())
    });
    drop((first, second));
    assert_eq!(fs::metadata(watched.join("main.py")).unwrap().mtime(), 1_700_000_000);
}

/// In Flask with watchdog, the restarted program is the one that watches.
#[test]
fn unwatched_save_is_touched_when_watched_again() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("main.py");
    let mut agent = AgentClient::start(&program);
    let (update, contents) = one(&path, b"saved");
    agent.update(&update, &contents).unwrap();
    let modified = || fs::metadata(&path).unwrap().modified().unwrap();
    let saved = modified();
    let touched = eventually("it is touched for who polls", || Some(modified()).filter(|it| *it > saved));
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
    inotify.add_watch(folder.path(), AddWatchFlags::IN_ATTRIB).unwrap();
    eventually("the watch has an event", || inotify.read_events().ok());
    assert!(modified() > touched);
    // A process has watched before, so a save without a watch is during a restart, however late it is.
    drop(inotify);
    let (update, contents) = one(&path, b"again");
    agent.update(&update, &contents).unwrap();
    // The reply arrives after the check for watches.
    agent.begin(&Update { removals: Vec::new(), entries: Vec::new() });
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
    inotify.add_watch(folder.path(), AddWatchFlags::IN_ATTRIB).unwrap();
    eventually("the new watch has an event", || inotify.read_events().ok());
}

/// More files than may be open: containers often allow a thousand.
#[test]
fn update_may_have_more_files_than_descriptors() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let script = format!("ulimit -n 64; exec {} serve", program.display());
    let mut agent = AgentClient::start_with(Command::new("sh").args(["-c", &script]));
    let contents: Vec<Vec<u8>> = (0..200).map(|number| noise(number % 7, 3)).collect();
    let file_path = |number: usize| folder.path().join(format!("{}/{number}", number % 3));
    let entries =
        contents.iter().enumerate().map(|(number, content)| file(&file_path(number), 0o644, content));
    let update = Update { removals: Vec::new(), entries: entries.collect() };
    agent.update(&update, &contents).unwrap();
    for (number, content) in contents.iter().enumerate() {
        assert_eq!(fs::read(file_path(number)).unwrap(), *content);
    }
    assert_eq!(tree(folder.path()).len(), 203);
}

#[test]
fn update_is_applied_completely_or_not_at_all() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("new/b"));
    fs::write(&a, "old").unwrap();
    let mut agent = AgentClient::start(&program);
    let entries = vec![file(&a, 0o644, b"new"), file(&b, 0o600, b"other")];
    let update = Update { removals: Vec::new(), entries };
    let wants = agent.begin(&update);
    assert_eq!(wants.len(), 2);
    for piece in lilt_agent::transfer::pieces(wants[0].entry, b"new", &[], &[]) {
        agent.send(&Request::Piece(piece));
    }
    // Half of it has arrived; a command in between proves that the agent has read all earlier requests.
    agent.send(&Request::Run(vec!["true".into()]));
    assert_eq!(agent.reply(), Some(Reply::Exited(0)));
    assert_eq!(fs::read(&a).unwrap(), b"old");
    agent.kill();
    assert_eq!(fs::read(&a).unwrap(), b"old");
    assert!(!b.exists());

    // The next agent succeeds, and replaces the staged files that were left.
    let mut agent = AgentClient::start(&program);
    agent.update(&update, &[b"new".to_vec(), b"other".to_vec()]).unwrap();
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"new".to_vec(), b"other".to_vec()));
    assert_eq!(tree(folder.path()).len(), 3, "nothing is left aside: {:?}", tree(folder.path()));

    // Content with a wrong digest is rejected.
    let wrong =
        Update { removals: vec![b.to_str().unwrap().into()], entries: vec![file(&a, 0o644, b"right")] };
    let error = agent.update(&wrong, &[b"wrong".to_vec()]).unwrap_err();
    assert!(error.ends_with("its content did not arrive whole"), "{error}");
    assert_eq!((fs::read(&a).unwrap(), b.exists()), (b"new".to_vec(), true));
    assert_eq!(tree(folder.path()).len(), 3, "{:?}", tree(folder.path()));
}

#[test]
fn full_disk_leaves_old_files() {
    if !nix::unistd::geteuid().is_root() {
        // Only root can mount; `make test` runs as root.
        return;
    }
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let mount = |arguments: &[&str]| {
        assert!(
            Command::new(arguments[0]).args(&arguments[1..]).arg(folder.path()).status().unwrap().success()
        );
    };
    mount(&["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
    let (small, big) = (folder.path().join("small"), folder.path().join("big"));
    fs::write(&small, "old").unwrap();
    let mut agent = AgentClient::start(&program);
    let content = noise(3 << 20, 4);
    let update = Update {
        removals: Vec::new(),
        entries: vec![file(&small, 0o644, b"new"), file(&big, 0o644, &content)],
    };
    let outcome = agent.update(&update, &[b"new".to_vec(), content]);
    let left = tree(folder.path());
    let old = fs::read(&small).unwrap();
    drop(agent);
    mount(&["umount"]);
    let error = outcome.unwrap_err();
    assert!(error.contains("No space left on device") && error.starts_with(big.to_str().unwrap()), "{error}");
    assert_eq!(old, b"old");
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A directory is replaced by another one with an identical file.
#[test]
fn replaced_directory_keeps_identical_file() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("a")).unwrap();
    fs::write(path("a/same"), "same").unwrap();
    fs::write(path("a/other"), "other").unwrap();
    let name = path("a").to_str().unwrap().to_owned();
    let directory = Entry { path: name.clone(), kind: Kind::Directory { mode: 0o755, modified: 0 } };
    let entries = vec![directory, file(&path("a/same"), 0o644, b"same")];
    let update = Update { removals: vec![name], entries };
    AgentClient::start(&program).update(&update, &[Vec::new(), b"same".to_vec()]).unwrap();
    assert_eq!(fs::read(path("a/same")).unwrap(), b"same");
    assert!(!path("a/other").exists());
}

/// Directories such as those of a module cache are read-only even for their owner.
#[test]
fn read_only_directories_are_updated_and_stay_read_only() {
    const NOBODY: u32 = 65_534;
    if !nix::unistd::geteuid().is_root() {
        // Only root can switch to a user that modes restrict; `make test` runs as root.
        return;
    }
    let (home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["", "closed", "closed/inner", "going"] {
        fs::create_dir_all(path(name)).unwrap();
        std::os::unix::fs::chown(path(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    fs::write(path("closed/inner/old"), "old").unwrap();
    fs::create_dir(path("going/away")).unwrap();
    std::os::unix::fs::chown(path("going/away"), Some(NOBODY), Some(NOBODY)).unwrap();
    fs::write(path("going/away/file"), "").unwrap();
    let close = |name: &str, mode: u32| {
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    close("closed/inner", 0o555);
    close("closed", 0o400);
    close("going/away", 0o500);
    // So that the user can run the program.
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut agent = AgentClient::start_with(Command::new(&program).uid(NOBODY).gid(NOBODY).arg("serve"));
    let name = |it: &str| path(it).to_str().unwrap().to_owned();
    let directory =
        |it: &str, mode: u32| Entry { path: name(it), kind: Kind::Directory { mode, modified: 0 } };
    let entries = vec![
        directory("new", 0o555),
        file(&path("closed/inner/new"), 0o644, b"new"),
        file(&path("new/file"), 0o600, b"in it"),
    ];
    let update = Update { removals: vec![name("closed/inner/old"), name("going")], entries };
    agent.update(&update, &[Vec::new(), b"new".to_vec(), b"in it".to_vec()]).unwrap();
    assert_eq!(fs::read(path("closed/inner/new")).unwrap(), b"new");
    assert_eq!(fs::read(path("new/file")).unwrap(), b"in it");
    assert!(!path("closed/inner/old").exists() && !path("going").exists());
    let mode = |it: &str| fs::metadata(path(it)).unwrap().mode() & 0o7777;
    assert_eq!((mode("closed"), mode("closed/inner"), mode("new")), (0o400, 0o555, 0o555));

    // Modes are restored also when the update fails.
    let wrong =
        Update { removals: Vec::new(), entries: vec![file(&path("closed/inner/new"), 0o644, b"right")] };
    agent.update(&wrong, &[b"wrong".to_vec()]).unwrap_err();
    assert_eq!((mode("closed"), mode("closed/inner")), (0o400, 0o555));
    assert_eq!(fs::read(path("closed/inner/new")).unwrap(), b"new");

    // An update of the mode alone.
    let update = Update { removals: Vec::new(), entries: vec![directory("closed/inner", 0o2750)] };
    agent.update(&update, &[Vec::new()]).unwrap();
    assert_eq!((mode("closed"), mode("closed/inner")), (0o400, 0o2750));
    assert_eq!(fs::read(path("closed/inner/new")).unwrap(), b"new");
}

/// A link that is replaced still has its old target when the update starts.
#[test]
fn removal_does_not_follow_replaced_link() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("other")).unwrap();
    fs::write(path("other/kept"), "").unwrap();
    symlink("other", path("link")).unwrap();
    let kind = Kind::Link { target: "nowhere".into(), modified: 0 };
    let entries = vec![Entry { path: path("link").to_str().unwrap().into(), kind }];
    let removals = vec![path("link/kept").to_str().unwrap().into()];
    AgentClient::start(&program).update(&Update { removals, entries }, &[Vec::new()]).unwrap();
    assert!(path("other/kept").exists());
    assert_eq!(path("link").read_link().unwrap(), Path::new("nowhere"));
}

#[test]
fn failed_write_names_path() {
    let (_home, program) = home();
    let mut agent = AgentClient::start(&program);
    let (update, contents) = one(Path::new("/proc/lilt/file"), b"x");
    let error = agent.update(&update, &contents).unwrap_err();
    assert!(error.starts_with("/proc/lilt: "), "{error}");
    let (update, contents) = one(Path::new("/proc/self/status/file"), b"x");
    assert!(agent.update(&update, &contents).is_err());
}

#[test]
fn commands_run_without_a_shell() {
    let (_home, program) = home();
    let mut agent = AgentClient::start(&program);
    let mut run = |words: &[&str]| {
        agent.send(&Request::Run(words.iter().map(ToString::to_string).collect()));
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            match agent.reply() {
                Some(Reply::Stdout(bytes)) => stdout.extend(bytes),
                Some(Reply::Stderr(bytes)) => stderr.extend(bytes),
                Some(Reply::Exited(code)) => {
                    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                    return (code, text(stdout), text(stderr));
                }
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(
        run(&["sh", "-c", "echo out; cat; echo err >&2; exit 7"]),
        (7, "out\n".into(), "err\n".into())
    );
    assert_eq!(run(&["sh", "-c", "kill -9 $$"]), (137, String::new(), String::new()));
    let (code, _, stderr) = run(&["no-such-program"]);
    assert_eq!((code, stderr.as_str()), (127, "no-such-program: No such file or directory\n"));
    let (code, stdout, _) = run(&["seq", "50000"]);
    assert_eq!((code, stdout.lines().count()), (0, 50_000));
    // A background process that keeps the streams open is not waited for, and continues.
    let (code, stdout, _) = run(&["sh", "-c", "echo started; sleep 1000 & echo $!"]);
    let left = stdout.strip_prefix("started\n").unwrap().trim();
    assert_eq!((code, Path::new("/proc").join(left).exists()), (0, true));
    assert_eq!(run(&["kill", left]).0, 0);
    // Also if it prints forever.
    let (code, stdout, stderr) = run(&["sh", "-c", "yes & echo $! >&2; exit 3"]);
    assert_eq!((code, stdout.len() < 10 << 20), (3, true));
    assert_eq!(run(&["kill", stderr.trim()]).0, 0);
}

/// A guest is copied over a connection into a container without the agent.
#[test]
fn guest_leaves_no_files() {
    let (home, program) = home();
    // Files of another agent.
    let state = home.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("kept-list"), "/etc/hostname").unwrap();
    assert!(Command::new(&program).arg("check").status().unwrap().success());
    let mut agent = AgentClient::start_with(Command::new(&program).arg("serve").arg("--guest").arg(&program));
    assert_eq!(tree(home.path()).len(), 2, "the file of the program is gone");
    let folder = TempDir::new().unwrap();
    let (update, contents) = one(&folder.path().join("file"), b"content");
    agent.update(&update, &contents).unwrap();
    agent.send(&Request::Restart);
    assert_eq!(agent.outcome().unwrap_err(), "the container's process: it was not started by lilt's agent");
    drop(agent);
    assert_eq!((tree(home.path()).len(), tree(folder.path()).len()), (2, 1));
}

#[test]
fn copy_keeps_modes_links_and_times() {
    let (_home, program) = home();
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let source = from.path().join("data");
    fs::create_dir_all(source.join("sub/empty")).unwrap();
    fs::write(source.join("sub/tool"), "#!").unwrap();
    fs::set_permissions(source.join("sub/tool"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(source.join("sub"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink("sub/tool", source.join("link")).unwrap();
    symlink("nowhere", source.join("dangling")).unwrap();
    let copy = || {
        let status = Command::new(&program).arg("copy").arg(&source).arg(to.path().join("a")).status();
        assert!(status.unwrap().success());
    };
    copy();
    let mut expected = tree(&source);
    // The owner of the copy can change it.
    expected.iter_mut().for_each(|line| *line = line.replace("sub/ 555", "sub/ 755"));
    assert_eq!(tree(&to.path().join("a")), expected);
    // An init container may run again.
    copy();
    assert_eq!(tree(&to.path().join("a")), expected);
    fs::set_permissions(source.join("sub"), fs::Permissions::from_mode(0o755)).unwrap();

    // The copy is not more accessible than its source.
    fs::set_permissions(&source, fs::Permissions::from_mode(0o1510)).unwrap();
    copy();
    assert_eq!(fs::metadata(to.path().join("a")).unwrap().mode() & 0o7777, 0o1710);
    fs::set_permissions(&source, fs::Permissions::from_mode(0o755)).unwrap();

    // A missing source becomes an empty directory.
    let status = Command::new(&program).args(["copy", "/no/such/thing"]).arg(to.path().join("b")).status();
    assert!(status.unwrap().success());
    assert_eq!(fs::metadata(to.path().join("b")).unwrap().mode() & 0o7777, 0o755);
}

/// An edit of a tree.
#[derive(Clone, Debug)]
enum Edit {
    Write(PathBuf, usize, u64),
    Remove(PathBuf),
    Directory(PathBuf),
    Link(PathBuf, PathBuf),
    Mode(PathBuf, u32),
    Rename(PathBuf, PathBuf),
}

fn path() -> impl Strategy<Value = PathBuf> {
    // Few names, so that files become directories and the other way round.
    prop::collection::vec("[abc]", 1..4).prop_map(|parts| parts.iter().collect())
}

fn edit() -> impl Strategy<Value = Edit> {
    let size = prop_oneof![Just(0), 1..5000_usize, 100_000..400_000_usize];
    prop_oneof![
        4 => (path(), size, any::<u64>()).prop_map(|(path, size, seed)| Edit::Write(path, size, seed | 1)),
        2 => path().prop_map(Edit::Remove),
        1 => path().prop_map(Edit::Directory),
        1 => (path(), path()).prop_map(|(path, target)| Edit::Link(path, target)),
        2 => (path(), prop_oneof![Just(0o755), Just(0o600), Just(0o444), Just(0o2775), Just(0o1711)])
            .prop_map(|(path, mode)| Edit::Mode(path, mode)),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

/// Applies an edit as far as possible, and returns the touched paths.
fn apply(root: &Path, edit: &Edit) -> Vec<PathBuf> {
    let clear = |path: &Path| match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    };
    // Replaces parents of a path by real directories, so that it stays in the tree.
    let open = |path: &Path| {
        let mut above = root.to_owned();
        for part in path.parent().unwrap().components() {
            above.push(part);
            if !above.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                clear(&above);
                fs::create_dir(&above).unwrap();
            }
        }
        root.join(path)
    };
    // A watcher reports files behind a link with another path.
    let is_behind_link = |path: &Path| path.ancestors().skip(1).any(|above| root.join(above).is_symlink());
    match edit {
        Edit::Write(path, size, seed) => {
            let target = open(path);
            if target.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
                clear(&target);
            }
            let mut content = fs::read(&target).unwrap_or_default();
            // Sometimes a part of the content changes, sometimes all.
            if *seed % 3 == 0 {
                content.splice(..content.len().min(100), noise(50, *seed));
            } else {
                content = noise(*size, *seed);
            }
            clear(&target);
            fs::write(&target, content).unwrap();
        }
        Edit::Remove(path) | Edit::Mode(path, _) | Edit::Rename(path, _) if is_behind_link(path) => {
            return Vec::new();
        }
        Edit::Remove(path) => clear(&root.join(path)),
        Edit::Directory(path) => {
            let target = open(path);
            if !target.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                clear(&target);
                fs::create_dir(target).unwrap();
            }
        }
        Edit::Link(path, to) => {
            let target = open(path);
            clear(&target);
            symlink(to, target).unwrap();
        }
        Edit::Mode(path, mode) => {
            let target = root.join(path);
            if target.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink()) {
                fs::set_permissions(target, fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
        Edit::Rename(from, to) => {
            if root.join(from).symlink_metadata().is_ok() && !to.starts_with(from) && !from.starts_with(to) {
                let target = open(to);
                clear(&target);
                fs::rename(root.join(from), target).unwrap();
            }
            return vec![from.clone(), to.clone()];
        }
    }
    let (Edit::Write(path, ..)
    | Edit::Remove(path)
    | Edit::Directory(path)
    | Edit::Link(path, _)
    | Edit::Mode(path, _)) = edit
    else {
        return Vec::new();
    };
    vec![path.clone()]
}

/// Returns the update a watcher would cause: each touched path, with its parents and all below it.
fn difference(from: &Path, to: &Path, touched: &BTreeSet<PathBuf>) -> (Update, Vec<Vec<u8>>) {
    let mut paths = BTreeSet::new();
    for path in touched {
        paths.extend(path.ancestors().filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned));
        below(&from.join(path), path, &mut paths);
        // Entries that existed before.
        below(&to.join(path), path, &mut paths);
    }
    let (mut update, mut contents) = (Update::default(), Vec::new());
    for path in paths {
        let (local, remote) = (from.join(&path), to.join(&path).to_str().unwrap().to_owned());
        let Ok(metadata) = local.symlink_metadata() else {
            update.removals.push(remote);
            continue;
        };
        let modified = metadata.mtime() * 1_000_000 + metadata.mtime_nsec() / 1000;
        let mode = metadata.mode() & 0o7777;
        let mut content = Vec::new();
        let kind = if metadata.is_dir() {
            Kind::Directory { mode, modified }
        } else if metadata.is_symlink() {
            Kind::Link { target: local.read_link().unwrap().to_str().unwrap().to_owned(), modified }
        } else {
            content = fs::read(&local).unwrap();
            Kind::File { mode, modified, size: content.len() as u64, digest: lilt_agent::digest(&content) }
        };
        update.entries.push(Entry { path: remote, kind });
        contents.push(content);
    }
    (update, contents)
}

fn below(local: &Path, path: &Path, paths: &mut BTreeSet<PathBuf>) {
    if local.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        for entry in fs::read_dir(local).unwrap() {
            let name = entry.unwrap().file_name();
            paths.insert(path.join(&name));
            below(&local.join(&name), &path.join(&name), paths);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn trees_become_equal(bursts in prop::collection::vec(prop::collection::vec(edit(), 1..8), 1..6)) {
        let (_home, program) = home();
        let (local, remote) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mut agent = AgentClient::start(&program);
        for burst in bursts {
            let touched: BTreeSet<PathBuf> = burst.iter().flat_map(|edit| apply(local.path(), edit)).collect();
            let (update, contents) = difference(local.path(), remote.path(), &touched);
            agent.update(&update, &contents).map_err(TestCaseError::fail)?;
            prop_assert_eq!(tree(local.path()), tree(remote.path()), "after {:?}", update);
        }
    }
}
