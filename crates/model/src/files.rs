//! Sets of files on this machine, and changes of files.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The files under `roots` that no rule ignores. All paths are absolute, without `.` and `..`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Files or directories, which need not exist yet.
    pub roots: Vec<PathBuf>,
    /// Single paths: if one is a directory, what is below it is not in the set.
    ///
    /// May repeat paths of `roots`, which then are single paths, too.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub entries: BTreeSet<PathBuf>,
    pub ignores: Vec<IgnoreRule>,
}

impl FileSet {
    pub fn new(roots: Vec<PathBuf>, ignores: Vec<IgnoreRule>) -> Self {
        Self { roots, entries: BTreeSet::new(), ignores }
    }

    pub fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.entries.is_empty()
    }
}

/// Which of some changed files are certainly new or deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Existence {
    /// Files that were created at paths that did not exist; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<PathBuf>,
    /// When the first of these creations was detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_since: Option<Timestamp>,
    /// Files that were deleted or moved away and do not exist again; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<PathBuf>,
}

impl Existence {
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.deleted.is_empty()
    }

    /// Returns whether this file was created at a path that did not exist, not before `time`.
    pub fn is_created_after(&self, path: &PathBuf, time: Timestamp) -> bool {
        self.created_since.is_some_and(|since| since >= time) && self.created.binary_search(path).is_ok()
    }

    pub fn is_deleted(&self, path: &PathBuf) -> bool {
        self.deleted.binary_search(path).is_ok()
    }
}

/// How changes of files are batched, and what counts as a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// Changes below these paths are reported when the burst that they are part of has passed.
    pub batched: Vec<PathBuf>,
    /// Watches of the same group report a burst as one: each waits for the others.
    pub group: Option<String>,
    /// Below these paths, the modes of folders count, too.
    pub modes: Vec<PathBuf>,
}

/// A path that changed, as it was reported. A folder with a slash at its end takes nothing's place: it is new, or its mode is
/// another. The same without the slash may have taken the place of another folder. To a [`Path`] both are equal.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedPath(PathBuf);

impl ChangedPath {
    pub fn takes_no_place(path: &Path) -> bool {
        path.as_os_str().as_encoded_bytes().ends_with(b"/")
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_os_str().as_encoded_bytes()
    }
}

impl From<PathBuf> for ChangedPath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl Deref for ChangedPath {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.0
    }
}

impl PartialEq for ChangedPath {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for ChangedPath {}

impl Ord for ChangedPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for ChangedPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The contents of files when they were read, as fingerprints, to detect later changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents(pub Vec<(PathBuf, Option<u64>)>);

impl Contents {
    /// Returns the files whose content has changed, according to `read`.
    pub fn outdated(&self, read: impl Fn(&PathBuf) -> Option<Vec<u8>>) -> Vec<PathBuf> {
        let changed =
            |(path, known): &&(PathBuf, Option<u64>)| read(path).as_deref().map(fingerprint) != *known;
        self.0.iter().filter(changed).map(|(path, _)| path.clone()).collect()
    }
}

/// Returns the FNV-1a hash of a content. It detects edits, and does not resist attacks.
pub fn fingerprint(content: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    content.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Patterns in the syntax of `.dockerignore` below one directory. Without patterns, ignores `base` and everything below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoreRule {
    pub base: PathBuf,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
}

impl IgnoreRule {
    pub fn path(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), patterns: Vec::new() }
    }
}
