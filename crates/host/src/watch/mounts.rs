//! Which folders lie on file systems that do not tell of all changes.
//!
//! A change made on another machine (or on the host of a virtual one) causes no event here.

use std::fs;
use std::path::{Path, PathBuf};

/// Told by the kernel as `fuse.<name>` or by these names.
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
/// FUSE file systems that nobody else writes to.
const LOCAL_FUSE: [&str; 5] =
    ["fuse.fuse-overlayfs", "fuse.bindfs", "fuse.gocryptfs", "fuse.encfs", "fuse.lxcfs"];

/// Who decides whether files are looked at or waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Choice {
    #[default]
    BySystem,
    AlwaysLook,
    NeverLook,
}

impl Choice {
    /// From `LILT_WATCH`.
    pub(super) fn from_variable(value: Option<&str>) -> Choice {
        match value {
            Some("poll") => Choice::AlwaysLook,
            Some("events") => Choice::NeverLook,
            _ => Choice::BySystem,
        }
    }
}

/// The mounts that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    choice: Choice,
    /// Every mount with the name of its file system, if that one tells nothing.
    mounts: Vec<(PathBuf, Option<String>)>,
}

impl Mounts {
    pub(super) fn read(choice: Choice) -> Mounts {
        // Without /proc nothing is known: then events are trusted.
        Mounts::parse(choice, &fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(choice: Choice, text: &str) -> Mounts {
        let mut mounts: Vec<_> = text.lines().filter_map(parse_line).collect();
        if mounts.iter().all(|(_, kind)| kind.is_none()) {
            // The usual case, and then there is nothing to look up.
            mounts.clear();
        }
        Mounts { choice, mounts }
    }

    /// Why this path must be looked at now and then: what it lies on. None: its changes are told.
    pub(super) fn eventless(&self, path: &Path) -> Option<String> {
        match self.choice {
            Choice::AlwaysLook => return Some("a file system that LILT_WATCH=poll is set for".to_owned()),
            Choice::NeverLook => return None,
            Choice::BySystem if self.mounts.is_empty() => return None,
            Choice::BySystem => {}
        }
        // Where it, or what is there of it, really lies. A later mount lies over an earlier one.
        let real = path.ancestors().find_map(|above| fs::canonicalize(above).ok())?;
        let above = self.mounts.iter().enumerate().filter(|(_, (point, _))| real.starts_with(point));
        let (_, (_, kind)) = above.max_by_key(|(index, (point, _))| (point.components().count(), *index))?;
        kind.as_deref().map(words)
    }

    /// The same for a folder below a root that was asked about, without asking where it really lies.
    pub(super) fn eventless_point(&self, folder: &Path) -> Option<String> {
        if self.choice != Choice::BySystem || self.mounts.is_empty() {
            return None;
        }
        let (_, kind) = self.mounts.iter().rev().find(|(point, _)| point == folder)?;
        kind.as_deref().map(words)
    }
}

fn words(kind: &str) -> String {
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
    fn the_nearest_mount_decides() {
        let mounts = Mounts::parse(Choice::BySystem, TABLE);
        let kind = |path: &str| mounts.eventless(Path::new(path));
        let words = |kind: &str| Some(format!("a file system ({kind}) that does not tell of all changes"));
        assert_eq!(kind("/"), None);
        assert_eq!(kind("/tmp/not/there"), words("nfs4"));
        assert_eq!(kind("/usr/lib"), words("fuse.sshfs"));
        assert_eq!(kind("/var/lib"), None);
        assert_eq!(Mounts::parse(Choice::NeverLook, TABLE).eventless(Path::new("/usr")), None);
        assert!(Mounts::parse(Choice::AlwaysLook, "").eventless(Path::new("/")).is_some());
    }

    #[test]
    fn names_with_spaces_are_read() {
        assert_eq!(parse_line(TABLE.lines().nth(2).expect("a line")), Some(("/tmp/a b".into(), None)));
    }
}
