//! The files written through this connection, with their digests, so that they need not be read again.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lilt_agent::Digest;

/// The maximum number of files: each takes a few hundred bytes of the container's memory.
const MAX_FILES: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct WrittenFiles {
    files: HashMap<PathBuf, (Identity, Digest)>,
}

/// Metadata that changes when another process changes or replaces the file. It is only an optimization: content built
/// from an old file is verified by its digest.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl WrittenFiles {
    /// Records a file that was just written, with the digest of its content.
    pub(super) fn record(&mut self, path: PathBuf, digest: Digest) {
        if self.files.len() >= MAX_FILES && !self.files.contains_key(&path) {
            self.files.clear();
        }
        match fs::symlink_metadata(&path) {
            Ok(metadata) => self.files.insert(path, (Identity::of(&metadata), digest)),
            Err(_) => self.files.remove(&path),
        };
    }

    /// Returns the digest of a file that has not changed since it was recorded.
    pub(super) fn digest(&self, path: &Path, metadata: &Metadata) -> Option<Digest> {
        let (identity, digest) = self.files.get(path)?;
        (*identity == Identity::of(metadata)).then_some(*digest)
    }
}
