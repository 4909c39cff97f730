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
