//! What was written through this connection, so that it need not be read again to know what it is.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lilt_agent::Digest;

/// The memory is the container's: a few hundred bytes each.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Memory {
    files: HashMap<PathBuf, (Identity, Digest)>,
}

/// Changes when somebody else changes or replaces the file. That is trusted only as far as it saves work: whatever is
/// made of a file's old content is compared with what it should be.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

impl Memory {
    /// A file has just been put in its place, with this content.
    pub(super) fn keep(&mut self, path: PathBuf, digest: Digest) {
        if self.files.len() >= MOST && !self.files.contains_key(&path) {
            self.files.clear();
        }
        match fs::symlink_metadata(&path) {
            Ok(about) => self.files.insert(path, (Identity::of(&about), digest)),
            Err(_) => self.files.remove(&path),
        };
    }

    /// The content of a file that is still as it was left.
    pub(super) fn digest(&self, path: &Path, about: &Metadata) -> Option<Digest> {
        let (identity, digest) = self.files.get(path)?;
        (*identity == Identity::of(about)).then_some(*digest)
    }
}
