//! The mount points: they cannot be removed or replaced, and files cannot be renamed across them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// The mount points of this process, with links resolved.
#[derive(Debug)]
pub(super) struct Mounts(Vec<PathBuf>);

impl Mounts {
    /// Reads the mount table. Done for each update, because it may change while a container runs.
    pub(super) fn read() -> Self {
        // Without it nothing counts as mounted, and the kernel reports what it cannot do.
        let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
        Self(table.split(|byte| *byte == b'\n').filter_map(mount_point).collect())
    }

    /// Returns whether a path, with links resolved, is a mount point.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        // Usually the file name already rules it out, which matters for thousands of paths.
        let mut same_name = self.0.iter().filter(|mount| mount.file_name() == path.file_name()).peekable();
        same_name.peek().is_some() && {
            let real = real(path);
            same_name.any(|mount| *mount == real)
        }
    }

    /// Returns whether a path or one below it is a mount point.
    pub(super) fn is_within(&self, path: &Path) -> bool {
        let real = real(path);
        self.0.iter().any(|mount| mount.starts_with(&real))
    }

    /// Returns whether exactly this path, without links, is a mount point.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.iter().any(|mount| mount == path)
    }
}

/// Resolves the links in the parent of a path, but not a link at the path itself.
fn real(path: &Path) -> PathBuf {
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Returns the mount point, which is the fifth field of a line.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let word = line.split(|byte| *byte == b' ').nth(4)?;
    Some(PathBuf::from(OsString::from_vec(unescape(word))))
}

/// Decodes octal escapes (`\040`), which stand for whitespace and backslashes.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, after @ ..] = rest {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\');
        plain.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_parsed_and_found() {
        let line = br"36 35 98:0 /mnt1 /mnt\040with\134it rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(mount_point(line), Some(PathBuf::from(r"/mnt with\it")));
        assert_eq!(mount_point(b""), None);
        assert_eq!(unescape(br"\04"), br"\04");
        let mounts = Mounts::read();
        assert!(mounts.is_at(Path::new("/proc")) && mounts.is_within(Path::new("/")));
        assert!(mounts.is_at(Path::new("/proc/../proc")) && !mounts.contains(Path::new("/proc/../proc")));
        assert!(!mounts.is_at(Path::new("/proc/self")) && !mounts.is_within(Path::new("/proc/self")));
    }
}
