//! Touches files again that a reloader may have missed.
//!
//! A reloader that polls (uvicorn without watchfiles, Flask without watchdog) compares modification times with those
//! that it found when it had started the program. It misses a save between the time when the program was read and that
//! time: with uvicorn, a quarter of a second after each restart. A later modification time makes the save visible.
//!
//! A reloader that uses inotify misses saves before it has added its watch: uvicorn with watchfiles while it starts,
//! and Flask with watchdog at each restart, because the program that restarts is the one that watches. Its files are
//! touched when they are watched again. If they were watched during the save, no event is lost, and another restart
//! would be useless.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::update::set_time;
use super::written_files::WrittenFiles;

/// An update this soon after another, or after the connection was opened, may arrive while the program restarts.
const QUICK_UPDATE: Duration = Duration::from_secs(3);
/// Longer than polling reloaders take from the start of the program to their first scan, and between scans.
const FIRST_TOUCH_DELAY: Duration = Duration::from_millis(1500);
/// How often to check whether files are watched again, and for how long: programs may take long to start.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
const CHECKS_END: Duration = Duration::from_secs(20);
/// More files than anybody edits by hand: a checkout, or the initial copy.
const MAX_FILES: usize = 1000;

#[derive(Debug)]
pub(super) struct MissedSaves {
    last_update: Instant,
    /// Whether a process has watched the files. If none does now, the program is restarting.
    was_watched: bool,
    missed: Option<Missed>,
}

/// Files that were saved while no process watched them.
#[derive(Debug)]
struct Missed {
    files: BTreeSet<PathBuf>,
    last_saved: Instant,
    /// When to touch them, or to check whether they are watched.
    due: Instant,
    is_touched: bool,
}

impl MissedSaves {
    pub(super) fn new() -> Self {
        Self { last_update: Instant::now(), was_watched: false, missed: None }
    }

    /// Notes files that an update has written.
    pub(super) fn record_update(&mut self, files: BTreeSet<PathBuf>) {
        let now = Instant::now();
        let is_quick = now.duration_since(self.last_update) < QUICK_UPDATE;
        self.last_update = now;
        if files.is_empty() || files.len() > MAX_FILES {
            return;
        }
        if is_watched(&files) {
            self.was_watched = true;
        } else if is_quick || self.was_watched {
            let mut missed = self.missed.take().map(|missed| missed.files).unwrap_or_default();
            missed.extend(files);
            let due = now + FIRST_TOUCH_DELAY;
            self.missed = (missed.len() <= MAX_FILES).then_some(Missed {
                files: missed,
                last_saved: now,
                due,
                is_touched: false,
            });
        }
    }

    /// Waits until there is something to read, and touches what is due meanwhile.
    pub(super) fn until_readable(&mut self, input: impl AsFd, written_files: &mut WrittenFiles) {
        while let Some(missed) = &self.missed {
            let left = missed.due.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            // The following read reports an error of the input.
            if !matches!(poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], timeout), Ok(0)) {
                return;
            }
            self.touch_or_postpone(written_files);
        }
    }

    /// Touches missed files if a process watches them now. Otherwise touches them once for a reloader that polls, and
    /// checks again later.
    fn touch_or_postpone(&mut self, written_files: &mut WrittenFiles) {
        let Some(mut missed) = self.missed.take() else { return };
        if is_watched(&missed.files) {
            self.was_watched = true;
            touch(&missed.files, written_files);
            return;
        }
        if !self.was_watched && !missed.is_touched {
            touch(&missed.files, written_files);
            missed.is_touched = true;
        }
        let now = Instant::now();
        missed.due = now + CHECK_INTERVAL;
        self.missed = (now.duration_since(missed.last_saved) < CHECKS_END).then_some(missed);
    }
}

fn touch(files: &BTreeSet<PathBuf>, written_files: &mut WrittenFiles) {
    for path in files {
        let Ok(metadata) = fs::symlink_metadata(path) else { continue };
        // Files that others have changed since are not touched.
        let Some(digest) = written_files.digest(path, &metadata) else { continue };
        let old = metadata.mtime() * 1_000_000 + metadata.mtime_nsec() / 1000;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        // Touching may be forbidden; then only the reload is lost.
        if set_time(path, now.max(old + 1000)).is_ok() {
            written_files.record(path.clone(), digest);
        }
    }
}

/// Returns whether a process of this container watches one of the files, or the directory it is in.
fn is_watched(files: &BTreeSet<PathBuf>) -> bool {
    let paths = files.iter().flat_map(|path| [Some(path.as_path()), path.parent()]).flatten();
    let inodes: HashSet<u64> =
        paths.filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.ino()).collect();
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
