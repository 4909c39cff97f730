//! Limits that the kernel sets to watching files.

use std::fs;

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
