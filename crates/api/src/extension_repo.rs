//! `ExtensionRepo`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::time::Time;

/// A repository of extensions: a Git repository or a local directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionRepo {
    /// The desired state.
    pub spec: ExtensionRepoSpec,
    /// The observed state, set by the session.
    pub status: ExtensionRepoStatus,
}

impl ApiKind for ExtensionRepo {
    const PLURAL: &'static str = "extensionrepos";
    const SHORT_NAMES: &'static [&'static str] = &["repo", "extrepo"];
}

/// The location of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionRepoSpec {
    /// Location of the repository: an `https://`, `http://` or `file://` URL.
    pub url: String,
    /// Branch, tag or commit. Defaults to the head of the default branch.
    #[serde(rename = "ref", default, skip_serializing_if = "is_empty")]
    pub reference: String,
    /// Host part of the `ext://` URLs with which `load()` refers to this repository.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub load_host: String,
    /// Directory of the Git repository that contains the extensions. Defaults to its root.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub git_subpath: String,
}

/// The observed state of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionRepoStatus {
    /// Commit that is checked out.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub checkout_ref: String,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Time when the repository was last fetched.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_fetched_at: Option<Time>,
    /// Path of the repository on this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
    /// Reason why the checkout may be out of date.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stale_reason: String,
}
