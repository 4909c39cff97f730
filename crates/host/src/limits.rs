//! Limits that the kernel sets to watching files and to open files.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than a session needs, and less than what makes programs slow that close every possible descriptor.
const MOST_OPEN_FILES: u64 = 1 << 20;

/// Raises the soft limit of open files to the hard limit, and returns the soft limit as it was.
///
/// Every forwarded connection takes two descriptors, and the usual soft limit is 1024. Commands should get the former
/// limit: see [`set_open_files`].
pub fn raise_open_files() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MOST_OPEN_FILES, |maximum| maximum.min(MOST_OPEN_FILES));
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })?;
    }
    Ok(limit.current)
}

/// Sets the soft limit of open files of this process, and of those it starts.
pub(crate) fn set_open_files(soft: u64) -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(soft), ..limit })?)
}

/// How many files this process may have open; none: as many as it likes.
pub fn open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Whether this process can open a few more files.
pub fn has_spare_files() -> bool {
    const FEW: usize = 8;
    let opened: io::Result<Vec<fs::File>> = (0..FEW).map(|_| fs::File::open("/dev/null")).collect();
    opened.is_ok()
}

/// How much of inotify each user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InotifyLimits {
    pub watches: u64,
    pub instances: u64,
    pub queued_events: u64,
}

/// None where there is no inotify.
pub fn inotify() -> Option<InotifyLimits> {
    let read =
        |name: &str| fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok();
    Some(InotifyLimits {
        watches: read("max_user_watches")?,
        instances: read("max_user_instances")?,
        queued_events: read("max_queued_events")?,
    })
}
