//! Touches files once more that a reloader may have missed.
//!
//! A reloader that polls (uvicorn without watchfiles, Flask without watchdog) compares modification times with those that it
//! found when it had started the program. A save between the moment when the program was read and that one is never
//! seen: with uvicorn that is a quarter of a second after each restart. A later modification time makes it visible.
//!
//! One that watches by inotify misses what is saved before its watch is there: uvicorn with watchfiles while it starts, and
//! Flask with watchdog at each restart, because the program that restarts is the one that watches. Its files are touched
//! when they are watched again. Where they were watched during the save no event is lost, and another restart would be in vain.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::memory::Memory;
use super::update::set_time;

/// An update so soon after another, or after the connection was opened, may come while the program restarts.
const QUICK: Duration = Duration::from_secs(3);
/// Longer than reloaders that poll take from the start of the program until they know its files, and wait between scans.
const DELAY: Duration = Duration::from_millis(1500);
/// How often to check whether files are watched again, and for how long: programs may take long to start.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
const CHECKS_END: Duration = Duration::from_secs(20);
/// Nobody edits so many files by hand: more are a checkout, or the first copy.
const MOST: usize = 1000;

#[derive(Debug)]
pub(super) struct Repeat {
    last_update: Instant,
    /// Somebody has watched files here: if nobody does, the program is restarting.
    was_watched: bool,
    missed: Option<Missed>,
}

/// Files that were saved while nobody watched them.
#[derive(Debug)]
struct Missed {
    files: BTreeSet<PathBuf>,
    last_saved: Instant,
    /// When to touch them, or to check whether they are watched.
    due: Instant,
    is_touched: bool,
}

impl Repeat {
    pub(super) fn new() -> Self {
        Self { last_update: Instant::now(), was_watched: false, missed: None }
    }

    /// Notes files that an update has written.
    pub(super) fn updated(&mut self, files: BTreeSet<PathBuf>) {
        let now = Instant::now();
        let is_quick = now.duration_since(self.last_update) < QUICK;
        self.last_update = now;
        if files.is_empty() || files.len() > MOST {
            return;
        }
        if is_watched(&files) {
            self.was_watched = true;
        } else if is_quick || self.was_watched {
            let mut missed = self.missed.take().map(|missed| missed.files).unwrap_or_default();
            missed.extend(files);
            let due = now + DELAY;
            self.missed = (missed.len() <= MOST).then_some(Missed {
                files: missed,
                last_saved: now,
                due,
                is_touched: false,
            });
        }
    }

    /// Waits until there is something to read, and touches what is due meanwhile.
    pub(super) fn until_readable(&mut self, input: impl AsFd, memory: &mut Memory) {
        while let Some(missed) = &self.missed {
            let left = missed.due.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            // An error of the input is found by the one who reads it.
            if !matches!(poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], timeout), Ok(0)) {
                return;
            }
            self.act(memory);
        }
    }

    /// Touches what was missed if somebody watches it now. Otherwise touches it once for somebody who polls, and
    /// checks again later.
    fn act(&mut self, memory: &mut Memory) {
        let Some(mut missed) = self.missed.take() else { return };
        if is_watched(&missed.files) {
            self.was_watched = true;
            touch(&missed.files, memory);
            return;
        }
        if !self.was_watched && !missed.is_touched {
            touch(&missed.files, memory);
            missed.is_touched = true;
        }
        let now = Instant::now();
        missed.due = now + CHECK_INTERVAL;
        self.missed = (now.duration_since(missed.last_saved) < CHECKS_END).then_some(missed);
    }
}

fn touch(files: &BTreeSet<PathBuf>, memory: &mut Memory) {
    for path in files {
        let Ok(about) = fs::symlink_metadata(path) else { continue };
        // What somebody else has changed since is not ours to touch.
        let Some(digest) = memory.digest(path, &about) else { continue };
        let old = about.mtime() * 1_000_000 + about.mtime_nsec() / 1000;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        // A file that may not be touched is one that its user cannot change; nothing is lost but the reload.
        if set_time(path, now.max(old + 1000)).is_ok() {
            memory.keep(path.clone(), digest);
        }
    }
}

/// Returns whether a process of this container watches one of the files, or the directory it is in.
fn is_watched(files: &BTreeSet<PathBuf>) -> bool {
    let places = files.iter().flat_map(|path| [Some(path.as_path()), path.parent()]).flatten();
    let inodes: HashSet<u64> =
        places.filter_map(|path| fs::metadata(path).ok()).map(|about| about.ino()).collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter(|it| it.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)).any(|process| {
        // Processes of other users cannot be inspected.
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        descriptors.filter(|it| is_inotify(&it.path())).any(|descriptor| {
            let info = process.path().join("fdinfo").join(descriptor.file_name());
            fs::read_to_string(info).is_ok_and(|info| watched_inodes(&info).any(|it| inodes.contains(&it)))
        })
    })
}

fn is_inotify(descriptor: &Path) -> bool {
    fs::read_link(descriptor).is_ok_and(|target| target.as_os_str() == "anon_inode:inotify")
}

/// Lines are `inotify wd:1 ino:2af sdev:800010 mask:fce ignored_mask:0 …`, numbers in hexadecimal.
fn watched_inodes(info: &str) -> impl Iterator<Item = u64> {
    let watches = info.lines().filter(|line| line.starts_with("inotify "));
    watches.filter_map(|line| {
        let inode = line.split(' ').find_map(|field| field.strip_prefix("ino:"))?;
        u64::from_str_radix(inode, 16).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watched_inodes_are_read_from_fdinfo() {
        let info = "pos:\t0\nflags:\t02004000\ninotify wd:2 ino:2af sdev:10 mask:fce ignored_mask:0 \n\
                    inotify wd:1 ino:1 sdev:10 mask:fce ignored_mask:0 \n";
        assert_eq!(watched_inodes(info).collect::<Vec<_>>(), [0x2af, 1]);
    }

    #[test]
    fn watches_of_a_running_process_are_found() {
        use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
        let folder = tempfile::TempDir::new().unwrap();
        let files = BTreeSet::from([folder.path().join("file")]);
        assert!(!is_watched(&files));
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC).unwrap();
        inotify.add_watch(folder.path(), AddWatchFlags::IN_CREATE).unwrap();
        assert!(is_watched(&files));
    }
}
