//! Kernel limits of inotify and of open files.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than a session needs. A larger limit slows down programs that close every possible descriptor.
const MAX_OPEN_FILES: u64 = 1 << 20;

/// Raises the soft limit of open files to the hard limit and returns the former soft limit.
///
/// Every forwarded connection takes two descriptors, and the usual soft limit is 1024. Commands get the former limit:
/// see [`set_open_files`].
pub fn raise_open_files() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MAX_OPEN_FILES, |maximum| maximum.min(MAX_OPEN_FILES));
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })?;
    }
    Ok(limit.current)
}

/// Sets the soft limit of open files of this process and of its future children.
pub(crate) fn set_open_files(soft: u64) -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(soft), ..limit })?)
}

/// Returns the soft limit of open files; `None` means unlimited.
pub fn open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Returns whether this process can open a few more files.
pub fn has_spare_files() -> bool {
    const FEW: usize = 8;
    let opened: io::Result<Vec<fs::File>> = (0..FEW).map(|_| fs::File::open("/dev/null")).collect();
    opened.is_ok()
}

/// The inotify limits of each user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InotifyLimits {
    pub watches: u64,
    pub instances: u64,
    pub queued_events: u64,
}

/// Reads the limits; `None` where there is no inotify.
pub fn inotify() -> Option<InotifyLimits> {
    let read =
        |name: &str| fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok();
    Some(InotifyLimits {
        watches: read("max_user_watches")?,
        instances: read("max_user_instances")?,
        queued_events: read("max_queued_events")?,
    })
}
