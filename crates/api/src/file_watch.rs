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

/// Watches files and reports changes, so that other objects can restart on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileWatch {
    /// The desired state.
    pub spec: FileWatchSpec,
    /// The observed state, set by the session.
    pub status: FileWatchStatus,
}

impl ApiKind for FileWatch {
    const PLURAL: &'static str = "filewatches";
    const SHORT_NAMES: &'static [&'static str] = &["fw"];
}

/// The files to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileWatchSpec {
    /// Files and directories to watch; directories are watched recursively.
    pub watched_paths: Vec<String>,
    /// Ignore rules.
    #[schemars(skip_serializing_if = "is_empty")]
    pub ignores: Vec<IgnoreDef>,
    /// ConfigMap values that disable the object. It stays disabled while one is missing.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
}

/// A rule that excludes files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct IgnoreDef {
    /// Directory that the patterns are relative to.
    pub base_path: String,
    /// Patterns in the syntax of `.dockerignore`. Defaults to everything below `basePath`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub patterns: Vec<String>,
}

/// The observed changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileWatchStatus {
    /// Whether and why the object is disabled.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Recent changes, oldest first.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file_events: Vec<FileEvent>,
    /// Time of the most recent change.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_event_time: Option<Timestamp>,
    /// Time when watching started; changes after it are reported.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub monitor_start_time: Option<Timestamp>,
}

/// Files that changed together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct FileEvent {
    /// Paths of the changed files.
    pub seen_files: Vec<String>,
    /// Time when the changes were observed.
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
    /// Returns the watched files. Relative paths are resolved against `folder`.
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
