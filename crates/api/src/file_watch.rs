//! `FileWatch`.

use std::path::Path;

use lilt_model::Timestamp;
use lilt_model::files::{FileSet, IgnoreRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::{path_text, resolve_path};
use super::disable::{DisableSource, DisableStatus};
use super::is_empty;
use super::kinds::ApiKind;

/// Follows files and tells which were saved, so that others can start anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileWatch {
    /// What is wanted.
    pub spec: FileWatchSpec,
    /// What is so. The session writes it.
    pub status: FileWatchStatus,
}

impl ApiKind for FileWatch {
    const PLURAL: &'static str = "filewatches";
    const SHORT_NAMES: &'static [&'static str] = &["fw"];
}

/// Which files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileWatchSpec {
    /// Files and folders; what is below a folder counts.
    pub watched_paths: Vec<String>,
    /// What of them is left out.
    #[schemars(skip_serializing_if = "is_empty")]
    pub ignores: Vec<IgnoreDef>,
    /// Values that switch the object off. As long as one is missing it is off, too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
}

/// Files that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct IgnoreDef {
    /// The folder that the patterns count from.
    pub base_path: String,
    /// Patterns as in .dockerignore; without any, all below the folder.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub patterns: Vec<String>,
}

/// What was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileWatchStatus {
    /// Whether the object is switched off, and by what.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// The newest saves, the last at the end.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file_events: Vec<FileEvent>,
    /// When the newest was seen.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_event_time: Option<Timestamp>,
    /// Since when nothing is missed.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub monitor_start_time: Option<Timestamp>,
}

/// Files that were saved together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileEvent {
    /// The files.
    pub seen_files: Vec<String>,
    /// When it was seen.
    pub time: Option<Timestamp>,
}

impl From<&FileSet> for FileWatchSpec {
    fn from(files: &FileSet) -> Self {
        Self {
            watched_paths: files.roots.iter().map(|root| path_text(root)).collect(),
            ignores: ignore_defs(&files.ignores),
            disable_source: None,
        }
    }
}

impl FileWatchSpec {
    /// Returns the watched files. `folder` is what relative paths are relative to.
    pub fn files(&self, folder: &Path) -> FileSet {
        file_set(&self.watched_paths, &self.ignores, folder)
    }
}

impl From<&IgnoreRule> for IgnoreDef {
    fn from(rule: &IgnoreRule) -> Self {
        Self { base_path: path_text(&rule.base), patterns: rule.patterns.clone() }
    }
}

pub fn ignore_defs(rules: &[IgnoreRule]) -> Vec<IgnoreDef> {
    rules.iter().map(IgnoreDef::from).collect()
}

pub(crate) fn file_set(roots: &[String], ignores: &[IgnoreDef], folder: &Path) -> FileSet {
    let rule = |ignore: &IgnoreDef| IgnoreRule {
        base: resolve_path(folder, &ignore.base_path),
        patterns: ignore.patterns.clone(),
    };
    FileSet::new(
        roots.iter().map(|path| resolve_path(folder, path)).collect(),
        ignores.iter().map(rule).collect(),
    )
}
