//! Sets of files on this machine, by roots and ignore rules.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The files under `roots` that no rule ignores. All paths are absolute and clean (no `.` or `..`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Files or directories; one that does not exist yet counts from when it appears.
    pub roots: Vec<PathBuf>,
    /// Paths that count only by themselves: if one is a directory, what is below it is not in the set.
    ///
    /// May repeat paths of `roots`, which then have no depth either.
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

/// Which of some changed files are certain to be new, or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Existence {
    /// Files that were created where there was nothing; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<PathBuf>,
    /// When the first of these creations was noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_since: Option<Timestamp>,
    /// Files that were deleted or moved away, and have not come back; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<PathBuf>,
}

impl Existence {
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.deleted.is_empty()
    }

    /// Returns whether this file was created where there was nothing, not before `time`.
    pub fn is_created_after(&self, path: &PathBuf, time: Timestamp) -> bool {
        self.created_since.is_some_and(|since| since >= time) && self.created.binary_search(path).is_ok()
    }

    pub fn is_deleted(&self, path: &PathBuf) -> bool {
        self.deleted.binary_search(path).is_ok()
    }
}

/// How changes of files are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// What changes below these is told when the burst that it is part of has passed …
    pub together: Vec<PathBuf>,
    /// … also as far as others see that burst who belong to the same group.
    pub group: Option<String>,
    /// Below these, the modes of folders count, too.
    pub modes: Vec<PathBuf>,
}

/// A path that changed, as it was told. A folder with a slash at its end takes nothing's place: it is new, or its mode is
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

/// What files held when they were read, to tell later whether they still do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents(pub Vec<(PathBuf, Option<u64>)>);

impl Contents {
    /// The files that hold something else now, as `look` reads them.
    pub fn outdated(&self, look: impl Fn(&PathBuf) -> Option<Vec<u8>>) -> Vec<PathBuf> {
        let changed =
            |(path, known): &&(PathBuf, Option<u64>)| look(path).as_deref().map(fingerprint) != *known;
        self.0.iter().filter(changed).map(|(path, _)| path.clone()).collect()
    }
}

/// Tells contents apart (FNV-1a): made for noticing an edit, not for resisting an attack.
pub fn fingerprint(content: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    content.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Patterns of `.dockerignore` syntax below one directory. Without patterns, `base` itself and all below it.
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
