//! Sets of files on this machine, by roots and ignore rules.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The files under `roots` that no rule ignores. All paths are absolute and clean (no `.` or `..`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Files or directories; one that does not exist yet counts from when it appears.
    pub roots: Vec<PathBuf>,
    pub ignores: Vec<IgnoreRule>,
}

impl FileSet {
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
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
