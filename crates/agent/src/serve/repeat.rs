//! Touches files once more after saves in quick succession, for reloaders that poll.
//!
//! Such a reloader (uvicorn without watchfiles, Flask without watchdog) compares modification times with those that it
//! found when it had started the program. A save between the moment when the program was read and that one is never
//! seen: with uvicorn that is a quarter of a second after each restart. A later modification time makes it visible.
//!
//! Where somebody watches the files by inotify nothing is done: no event gets lost, and another restart would be in vain.

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
/// Longer than reloaders take from the start of the program until they know its files, and than they wait between looks.
const DELAY: Duration = Duration::from_millis(1500);
/// Nobody edits so many files by hand: more are a checkout, or the first copy.
const MOST: usize = 1000;

#[derive(Debug)]
pub(super) struct Repeat {
    last_update: Instant,
    due: Option<Instant>,
    files: BTreeSet<PathBuf>,
}

impl Repeat {
    pub(super) fn new() -> Self {
        Self { last_update: Instant::now(), due: None, files: BTreeSet::new() }
    }

    /// Notes files that an update has written.
    pub(super) fn updated<'a>(&mut self, files: impl IntoIterator<Item = &'a Path>) {
        let now = Instant::now();
        if now.duration_since(self.last_update) < QUICK {
            self.files.extend(files.into_iter().map(Path::to_owned));
            self.due = (1..=MOST).contains(&self.files.len()).then(|| now + DELAY);
        }
        self.last_update = now;
    }

    /// Waits until there is something to read, and touches what is due meanwhile.
    pub(super) fn until_readable(&mut self, input: impl AsFd, memory: &mut Memory) {
        let Some(due) = self.due else { return };
        let left = due.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        // An error of the input is found by the one who reads it.
        if matches!(poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], timeout), Ok(0)) {
            self.touch(memory);
        }
    }

    fn touch(&mut self, memory: &mut Memory) {
        self.due = None;
        let files = std::mem::take(&mut self.files);
        if is_watched(&files) {
            return;
        }
        for path in files {
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            // What somebody else has changed since is not ours to touch.
            let Some(digest) = memory.digest(&path, &about) else { continue };
            let old = about.mtime() * 1_000_000 + about.mtime_nsec() / 1000;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
            // A file that may not be touched is one that its user cannot change; nothing is lost but the reload.
            if set_time(&path, now.max(old + 1000)).is_ok() {
                memory.keep(path, digest);
            }
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
