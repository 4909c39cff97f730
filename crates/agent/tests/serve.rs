//! Changes of files, on this machine.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lilt_agent::protocol::{Answer, Entry, Kind, Request, Update};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use proptest::prelude::*;
use support::noise::noise;
use support::{Serving, eventually, file, home, one, tree};
use tempfile::TempDir;

#[test]
fn only_what_differs_travels() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("deep/er/binary");
    let mut agent = Serving::start(&program);
    let content = noise(8 << 20, 1);
    let (update, contents) = one(&path, &content);
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content);
    assert!(agent.sent > content.len() / 2);

    agent.sent = 0;
    agent.update(&update, &contents).unwrap();
    assert!(agent.sent < 500, "nothing differs, and {} bytes travelled", agent.sent);

    // One percent of it, in one place, and something more before it.
    let mut changed = content.clone();
    changed.splice(3_000_000..3_000_000, noise(80_000, 2));
    agent.sent = 0;
    let (update, contents) = one(&path, &changed);
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::read(&path).unwrap(), changed);
    assert!(agent.sent < 300_000, "{} bytes travelled", agent.sent);

    // Another name for it, also in another directory.
    let moved = folder.path().join("elsewhere/moved");
    agent.sent = 0;
    let (mut update, contents) = one(&moved, &changed);
    update.removals = vec![folder.path().join("deep").to_str().unwrap().into()];
    agent.update(&update, &contents).unwrap();
    assert_eq!((fs::read(&moved).unwrap(), path.exists()), (changed, false));
    assert!(agent.sent < 500, "it only moved, and {} bytes travelled", agent.sent);

    // What is the same many times over is sent and found once.
    let zeros = vec![0; 4 << 20];
    agent.sent = 0;
    let (update, contents) = one(&path, &zeros);
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::read(&path).unwrap(), zeros);
    assert!(agent.sent < 100_000, "{} bytes travelled", agent.sent);
}

/// What it wrote itself it need not read again to know it; what others made of it, it must.
#[test]
fn a_file_is_right_whoever_changed_it() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("binary");
    let mut agent = Serving::start(&program);
    let mut content = noise(2 << 20, 1);
    let save = |agent: &mut Serving, content: &[u8]| {
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

    // In place, as long as before and with the time of before.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; 30_000], 500_000).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(modified)).unwrap();
    content[1_500_000..1_520_000].fill(2);
    let (sent, received) = save(&mut agent, &content);
    assert!((30_000..300_000).contains(&sent) && received > 1500, "{sent} there, {received} back");

    // Replaced by another, and by nothing.
    fs::rename(&path, folder.path().join("away")).unwrap();
    fs::write(&path, noise(2 << 20, 5)).unwrap();
    save(&mut agent, &content);
    fs::remove_file(&path).unwrap();
    save(&mut agent, &content);
    // The same once more, when it is not the same.
    fs::write(&path, noise(2 << 20, 6)).unwrap();
    save(&mut agent, &content);
}

/// Python takes bytecode for current if the file has the same size and its time is in the same second.
#[test]
fn saves_in_one_second_get_times_in_different_seconds() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("main.py");
    let mut agent = Serving::start(&program);
    let mut seconds = BTreeSet::new();
    for content in ["one", "two", "six"] {
        let (update, contents) = one(&path, content.as_bytes());
        agent.update(&update, &contents).unwrap();
        seconds.insert(fs::metadata(&path).unwrap().mtime());
    }
    assert_eq!(seconds.into_iter().collect::<Vec<_>>(), [1_700_000_000, 1_700_000_001, 1_700_000_002]);
    // The same content once more changes nothing, and least of all goes back in time.
    let (update, contents) = one(&path, b"six");
    agent.update(&update, &contents).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mtime(), 1_700_000_002);
}

/// As uvicorn without watchfiles does it: what was saved while it restarted it takes for the program that runs.
#[test]
fn quick_saves_get_a_later_time_once_more_unless_somebody_watches() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let (polled, watched) = (folder.path().join("polled"), folder.path().join("watched"));
    for place in [&polled, &watched] {
        fs::create_dir(place).unwrap();
    }
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
    inotify.add_watch(&watched, AddWatchFlags::IN_ATTRIB).unwrap();
    let (mut first, mut second) = (Serving::start(&program), Serving::start(&program));
    // The watched one is saved first: when the other was touched, its own time has come, too.
    for (agent, place) in [(&mut second, &watched), (&mut first, &polled)] {
        let (update, contents) = one(&place.join("main.py"), b"saved");
        agent.update(&update, &contents).unwrap();
    }
    let path = polled.join("main.py");
    eventually("the polled file is touched", || {
        (fs::metadata(&path).unwrap().mtime() > 1_700_000_000).then_some(())
    });
    drop((first, second));
    assert_eq!(fs::metadata(watched.join("main.py")).unwrap().mtime(), 1_700_000_000);
}

/// As Flask with watchdog does it: the program that is restarted is the one that watches.
#[test]
fn save_while_nobody_watches_is_repeated_for_who_watches_later() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("main.py");
    let mut agent = Serving::start(&program);
    let (update, contents) = one(&path, b"saved");
    agent.update(&update, &contents).unwrap();
    let modified = || fs::metadata(&path).unwrap().modified().unwrap();
    let saved = modified();
    let touched = eventually("it is touched for who polls", || Some(modified()).filter(|it| *it > saved));
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
    inotify.add_watch(folder.path(), AddWatchFlags::IN_ATTRIB).unwrap();
    eventually("the watch has an event", || inotify.read_events().ok());
    assert!(modified() > touched);
    // Somebody has watched, so a save without a watch comes during a restart, however long after the last.
    drop(inotify);
    let (update, contents) = one(&path, b"again");
    agent.update(&update, &contents).unwrap();
    // It answers when it has checked who watches.
    agent.begin(&Update { removals: Vec::new(), entries: Vec::new() });
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
    inotify.add_watch(folder.path(), AddWatchFlags::IN_ATTRIB).unwrap();
    eventually("the new watch has an event", || inotify.read_events().ok());
}

/// More than files may be open: containers often allow a thousand.
#[test]
fn many_files_come_at_once() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let script = format!("ulimit -n 64; exec {} serve", program.display());
    let mut agent = Serving::start_with(Command::new("sh").args(["-c", &script]));
    let contents: Vec<Vec<u8>> = (0..200).map(|number| noise(number % 7, 3)).collect();
    let place = |number: usize| folder.path().join(format!("{}/{number}", number % 3));
    let entries = contents.iter().enumerate().map(|(number, content)| file(&place(number), 0o644, content));
    let update = Update { removals: Vec::new(), entries: entries.collect() };
    agent.update(&update, &contents).unwrap();
    for (number, content) in contents.iter().enumerate() {
        assert_eq!(fs::read(place(number)).unwrap(), *content);
    }
    assert_eq!(tree(folder.path()).len(), 203);
}

#[test]
fn all_files_of_an_update_come_at_once_or_none() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("new/b"));
    fs::write(&a, "old").unwrap();
    let mut agent = Serving::start(&program);
    let entries = vec![file(&a, 0o644, b"new"), file(&b, 0o600, b"other")];
    let update = Update { removals: Vec::new(), entries };
    let wants = agent.begin(&update);
    assert_eq!(wants.len(), 2);
    for piece in lilt_agent::transfer::pieces(wants[0].entry, b"new", &[], &[]) {
        agent.say(&Request::Piece(piece));
    }
    // Half of it is there; a question in between shows that the agent has taken all that came before.
    agent.say(&Request::Run(vec!["true".into()]));
    assert_eq!(agent.answer(), Some(Answer::Exited(0)));
    assert_eq!(fs::read(&a).unwrap(), b"old");
    agent.kill();
    assert_eq!(fs::read(&a).unwrap(), b"old");
    assert!(!b.exists());

    // The next one does it, and finds what was left.
    let mut agent = Serving::start(&program);
    agent.update(&update, &[b"new".to_vec(), b"other".to_vec()]).unwrap();
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"new".to_vec(), b"other".to_vec()));
    assert_eq!(tree(folder.path()).len(), 3, "nothing is left aside: {:?}", tree(folder.path()));

    // A content that is not what was told does not get in.
    let wrong =
        Update { removals: vec![b.to_str().unwrap().into()], entries: vec![file(&a, 0o644, b"right")] };
    let error = agent.update(&wrong, &[b"wrong".to_vec()]).unwrap_err();
    assert!(error.ends_with("its content did not arrive whole"), "{error}");
    assert_eq!((fs::read(&a).unwrap(), b.exists()), (b"new".to_vec(), true));
    assert_eq!(tree(folder.path()).len(), 3, "{:?}", tree(folder.path()));
}

#[test]
fn a_full_disk_leaves_the_old_files() {
    if !nix::unistd::geteuid().is_root() {
        // Only root can mount; `make test` runs as root, and there it counts.
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
    let mut agent = Serving::start(&program);
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

/// As when a directory was moved away and another came, with a file that is the same.
#[test]
fn what_is_the_same_in_another_directory_comes_back() {
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
    Serving::start(&program).update(&update, &[Vec::new(), b"same".to_vec()]).unwrap();
    assert_eq!(fs::read(path("a/same")).unwrap(), b"same");
    assert!(!path("a/other").exists());
}

/// Such as those of a module cache, which nobody may write to, also not its owner.
#[test]
fn directories_that_are_closed_to_their_owner_take_changes_and_stay_closed() {
    const NOBODY: u32 = 65_534;
    if !nix::unistd::geteuid().is_root() {
        // Only root can become somebody else, whom modes bind; `make test` runs as root, and there it counts.
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
    // So that the program can be reached.
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut agent = Serving::start_with(Command::new(&program).uid(NOBODY).gid(NOBODY).arg("serve"));
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

    // Also when it does not come to that.
    let wrong =
        Update { removals: Vec::new(), entries: vec![file(&path("closed/inner/new"), 0o644, b"right")] };
    agent.update(&wrong, &[b"wrong".to_vec()]).unwrap_err();
    assert_eq!((mode("closed"), mode("closed/inner")), (0o400, 0o555));
    assert_eq!(fs::read(path("closed/inner/new")).unwrap(), b"new");

    // And only the mode.
    let update = Update { removals: Vec::new(), entries: vec![directory("closed/inner", 0o2750)] };
    agent.update(&update, &[Vec::new()]).unwrap();
    assert_eq!((mode("closed"), mode("closed/inner")), (0o400, 0o2750));
    assert_eq!(fs::read(path("closed/inner/new")).unwrap(), b"new");
}

/// A link that becomes another still leads elsewhere when the update begins.
#[test]
fn nothing_is_removed_through_a_link() {
    let (_home, program) = home();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("other")).unwrap();
    fs::write(path("other/kept"), "").unwrap();
    symlink("other", path("link")).unwrap();
    let kind = Kind::Link { target: "nowhere".into(), modified: 0 };
    let entries = vec![Entry { path: path("link").to_str().unwrap().into(), kind }];
    let removals = vec![path("link/kept").to_str().unwrap().into()];
    Serving::start(&program).update(&Update { removals, entries }, &[Vec::new()]).unwrap();
    assert!(path("other/kept").exists());
    assert_eq!(path("link").read_link().unwrap(), Path::new("nowhere"));
}

#[test]
fn what_may_not_be_written_is_told_with_its_path() {
    let (_home, program) = home();
    let mut agent = Serving::start(&program);
    let (update, contents) = one(Path::new("/proc/lilt/file"), b"x");
    let error = agent.update(&update, &contents).unwrap_err();
    assert!(error.starts_with("/proc/lilt: "), "{error}");
    let (update, contents) = one(Path::new("/proc/self/status/file"), b"x");
    assert!(agent.update(&update, &contents).is_err());
}

#[test]
fn commands_run_without_a_shell() {
    let (_home, program) = home();
    let mut agent = Serving::start(&program);
    let mut run = |words: &[&str]| {
        agent.say(&Request::Run(words.iter().map(ToString::to_string).collect()));
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            match agent.answer() {
                Some(Answer::Stdout(bytes)) => stdout.extend(bytes),
                Some(Answer::Stderr(bytes)) => stderr.extend(bytes),
                Some(Answer::Exited(code)) => {
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
    // What it leaves in the background, with its streams, is not waited for; it goes on.
    let (code, stdout, _) = run(&["sh", "-c", "echo started; sleep 1000 & echo $!"]);
    let left = stdout.strip_prefix("started\n").unwrap().trim();
    assert_eq!((code, Path::new("/proc").join(left).exists()), (0, true));
    assert_eq!(run(&["kill", left]).0, 0);
    // Also if it never stops talking.
    let (code, stdout, stderr) = run(&["sh", "-c", "yes & echo $! >&2; exit 3"]);
    assert_eq!((code, stdout.len() < 10 << 20), (3, true));
    assert_eq!(run(&["kill", stderr.trim()]).0, 0);
}

/// It comes over a connection, into a container that was made without it.
#[test]
fn a_guest_leaves_nothing_behind() {
    let (home, program) = home();
    // Somebody else's.
    let state = home.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("kept-list"), "/etc/hostname").unwrap();
    assert!(Command::new(&program).arg("check").status().unwrap().success());
    let mut agent = Serving::start_with(Command::new(&program).arg("serve").arg("--guest").arg(&program));
    assert_eq!(tree(home.path()).len(), 2, "the file of the program is gone");
    let folder = TempDir::new().unwrap();
    let (update, contents) = one(&folder.path().join("file"), b"content");
    agent.update(&update, &contents).unwrap();
    agent.say(&Request::Restart);
    assert_eq!(agent.outcome().unwrap_err(), "the container's process: it was not started by lilt's agent");
    drop(agent);
    assert_eq!((tree(home.path()).len(), tree(folder.path()).len()), (2, 1));
}

#[test]
fn a_directory_is_copied_with_modes_links_and_times() {
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
    // The copy's owner can change it.
    expected.iter_mut().for_each(|line| *line = line.replace("sub/ 555", "sub/ 755"));
    assert_eq!(tree(&to.path().join("a")), expected);
    // An init container may run again.
    copy();
    assert_eq!(tree(&to.path().join("a")), expected);
    fs::set_permissions(source.join("sub"), fs::Permissions::from_mode(0o755)).unwrap();

    // It is not more open than its source.
    fs::set_permissions(&source, fs::Permissions::from_mode(0o1510)).unwrap();
    copy();
    assert_eq!(fs::metadata(to.path().join("a")).unwrap().mode() & 0o7777, 0o1710);
    fs::set_permissions(&source, fs::Permissions::from_mode(0o755)).unwrap();

    // What the image does not have is an empty directory.
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

/// Does it, as far as it can be done, and gives the paths that it touched.
fn apply(root: &Path, edit: &Edit) -> Vec<PathBuf> {
    let clear = |path: &Path| match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    };
    // Above a path there are directories, and nothing of it leads out of the tree.
    let open = |path: &Path| {
        let mut above = root.to_owned();
        for part in path.parent().unwrap().components() {
            above.push(part);
            if !above.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                clear(&above);
                fs::create_dir(&above).unwrap();
            }
        }
        root.join(path)
    };
    // What is found through a link has another path, by which a watcher would tell of it.
    let leads_elsewhere = |path: &Path| path.ancestors().skip(1).any(|above| root.join(above).is_symlink());
    match edit {
        Edit::Write(path, size, seed) => {
            let target = open(path);
            if target.symlink_metadata().is_ok_and(|about| !about.is_file()) {
                clear(&target);
            }
            let mut content = fs::read(&target).unwrap_or_default();
            // Sometimes a part of what is there changes, sometimes all.
            if *seed % 3 == 0 {
                content.splice(..content.len().min(100), noise(50, *seed));
            } else {
                content = noise(*size, *seed)
            }
            clear(&target);
            fs::write(&target, content).unwrap();
        }
        Edit::Remove(path) | Edit::Mode(path, _) | Edit::Rename(path, _) if leads_elsewhere(path) => {
            return Vec::new();
        }
        Edit::Remove(path) => clear(&root.join(path)),
        Edit::Directory(path) => {
            let target = open(path);
            if !target.symlink_metadata().is_ok_and(|about| about.is_dir()) {
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
            if target.symlink_metadata().is_ok_and(|about| !about.is_symlink()) {
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

/// What a watcher would tell: each touched path, with what is above and below it.
fn difference(from: &Path, to: &Path, touched: &BTreeSet<PathBuf>) -> (Update, Vec<Vec<u8>>) {
    let mut paths = BTreeSet::new();
    for path in touched {
        paths.extend(path.ancestors().filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned));
        below(&from.join(path), path, &mut paths);
        // What was there before.
        below(&to.join(path), path, &mut paths);
    }
    let (mut update, mut contents) = (Update::default(), Vec::new());
    for path in paths {
        let (local, remote) = (from.join(&path), to.join(&path).to_str().unwrap().to_owned());
        let Ok(about) = local.symlink_metadata() else {
            update.removals.push(remote);
            continue;
        };
        let modified = about.mtime() * 1_000_000 + about.mtime_nsec() / 1000;
        let mode = about.mode() & 0o7777;
        let mut content = Vec::new();
        let kind = if about.is_dir() {
            Kind::Directory { mode, modified }
        } else if about.is_symlink() {
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
    if local.symlink_metadata().is_ok_and(|about| about.is_dir()) {
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
        let mut agent = Serving::start(&program);
        for burst in bursts {
            let touched: BTreeSet<PathBuf> = burst.iter().flat_map(|edit| apply(local.path(), edit)).collect();
            let (update, contents) = difference(local.path(), remote.path(), &touched);
            agent.update(&update, &contents).map_err(TestCaseError::fail)?;
            prop_assert_eq!(tree(local.path()), tree(remote.path()), "after {:?}", update);
        }
    }
}
