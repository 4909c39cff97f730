//! Where other file systems begin: what is mounted cannot be removed or replaced, and nothing can be renamed into it or out
//! of it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// As this process sees them, without links.
#[derive(Debug)]
pub(super) struct Mounts(Vec<PathBuf>);

impl Mounts {
    /// Anew for each update: some come while a container runs.
    pub(super) fn read() -> Self {
        // Without it nothing counts as mounted, and the system says what it does not do.
        let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
        Self(table.split(|byte| *byte == b'\n').filter_map(place).collect())
    }

    /// Whether something is mounted at a path, however that leads there.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        // Mostly the name tells already that it is none: there may be thousands of paths.
        let mut like_it = self.0.iter().filter(|mount| mount.file_name() == path.file_name()).peekable();
        like_it.peek().is_some() && {
            let real = real(path);
            like_it.any(|mount| *mount == real)
        }
    }

    /// Whether something is mounted at a path or below it.
    pub(super) fn is_within(&self, path: &Path) -> bool {
        let real = real(path);
        self.0.iter().any(|mount| mount.starts_with(&real))
    }

    /// Whether something is mounted at just this path, with no link in it.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.iter().any(|mount| mount == path)
    }
}

/// A path with the links above it followed; it may be one itself.
fn real(path: &Path) -> PathBuf {
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The fifth word of a line.
fn place(line: &[u8]) -> Option<PathBuf> {
    let word = line.split(|byte| *byte == b' ').nth(4)?;
    Some(PathBuf::from(OsString::from_vec(unescape(word))))
}

/// Spaces and the like are written as three octal digits after a backslash.
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
    fn mount_points_are_understood() {
        let line = br"36 35 98:0 /mnt1 /mnt\040with\134it rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(place(line), Some(PathBuf::from(r"/mnt with\it")));
        assert_eq!(place(b""), None);
        assert_eq!(unescape(br"\04"), br"\04");
        let mounts = Mounts::read();
        assert!(mounts.is_at(Path::new("/proc")) && mounts.is_within(Path::new("/")));
        assert!(mounts.is_at(Path::new("/proc/../proc")) && !mounts.contains(Path::new("/proc/../proc")));
        assert!(!mounts.is_at(Path::new("/proc/self")) && !mounts.is_within(Path::new("/proc/self")));
    }
}
