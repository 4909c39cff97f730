//! Detects file systems that do not report all changes.
//!
//! A change made on another machine (or on the host of a virtual machine) causes no inotify event here.

use std::fs;
use std::path::{Path, PathBuf};

use super::WatchMode;

/// Names of such file systems in `mountinfo`, besides `fuse.<name>`.
const EVENTLESS: [&str; 17] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "drvfs",
    "fuse",
    "fuseblk",
    "glusterfs",
    "lustre",
    "nfs",
    "nfs4",
    "prl_fs",
    "smb3",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];
/// FUSE file systems that only this machine writes to.
const LOCAL_FUSE: [&str; 5] =
    ["fuse.fuse-overlayfs", "fuse.bindfs", "fuse.gocryptfs", "fuse.encfs", "fuse.lxcfs"];

/// The mount table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    mode: WatchMode,
    /// Every mount point, with the name of its file system if that does not report all changes. Empty if all do.
    mounts: Vec<(PathBuf, Option<String>)>,
}

impl Mounts {
    pub(super) fn read(mode: WatchMode) -> Mounts {
        // Without /proc the mounts are unknown: then events are trusted.
        Mounts::parse(mode, &fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(mode: WatchMode, text: &str) -> Mounts {
        let mut mounts: Vec<_> = text.lines().filter_map(parse_line).collect();
        if mounts.iter().all(|(_, kind)| kind.is_none()) {
            // The usual case: no lookups are needed.
            mounts.clear();
        }
        Mounts { mode, mounts }
    }

    /// Returns the reason to poll this path, or `None` if events report its changes.
    pub(super) fn eventless(&self, path: &Path) -> Option<String> {
        match self.mode {
            WatchMode::Poll => {
                return Some("a file system that is polled because of --watch-mode=poll".to_owned());
            }
            WatchMode::Events => return None,
            WatchMode::Auto if self.mounts.is_empty() => return None,
            WatchMode::Auto => {}
        }
        // Resolves the existing part of the path. A later mount covers an earlier one.
        let real = path.ancestors().find_map(|above| fs::canonicalize(above).ok())?;
        let above = self.mounts.iter().enumerate().filter(|(_, (point, _))| real.starts_with(point));
        let (_, (_, kind)) = above.max_by_key(|(index, (point, _))| (point.components().count(), *index))?;
        kind.as_deref().map(describe)
    }

    /// Returns the reason to poll a folder that is a mount point below a root, without resolving links.
    pub(super) fn eventless_point(&self, folder: &Path) -> Option<String> {
        if self.mode != WatchMode::Auto || self.mounts.is_empty() {
            return None;
        }
        let (_, kind) = self.mounts.iter().rev().find(|(point, _)| point == folder)?;
        kind.as_deref().map(describe)
    }
}

fn describe(kind: &str) -> String {
    format!("a file system ({kind}) that does not tell of all changes")
}

/// `36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw`, with spaces written as `\040`.
fn parse_line(line: &str) -> Option<(PathBuf, Option<String>)> {
    let (before, after) = line.split_once(" - ")?;
    let point = before.split(' ').nth(4)?;
    let point =
        point.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
    let kind = after.split(' ').next()?;
    let eventless = (kind.starts_with("fuse.") && !LOCAL_FUSE.contains(&kind)) || EVENTLESS.contains(&kind);
    Some((PathBuf::from(point), eventless.then(|| kind.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /tmp rw - nfs4 server:/tmp rw
31 30 0:41 / /tmp/a\\040b rw shared:3 - tmpfs tmpfs rw
32 22 0:42 / /usr rw - fuse.sshfs me@there:/ rw
33 22 0:43 / /var rw - fuse.fuse-overlayfs x rw
";

    #[test]
    fn nearest_mount_decides_about_polling() {
        let mounts = Mounts::parse(WatchMode::Auto, TABLE);
        let kind = |path: &str| mounts.eventless(Path::new(path));
        let describe = |kind: &str| Some(format!("a file system ({kind}) that does not tell of all changes"));
        assert_eq!(kind("/"), None);
        assert_eq!(kind("/tmp/not/there"), describe("nfs4"));
        assert_eq!(kind("/usr/lib"), describe("fuse.sshfs"));
        assert_eq!(kind("/var/lib"), None);
        assert_eq!(Mounts::parse(WatchMode::Events, TABLE).eventless(Path::new("/usr")), None);
        assert!(Mounts::parse(WatchMode::Poll, "").eventless(Path::new("/")).is_some());
    }

    #[test]
    fn mount_point_with_spaces_is_parsed() {
        assert_eq!(parse_line(TABLE.lines().nth(2).expect("a line")), Some(("/tmp/a b".into(), None)));
    }
}
