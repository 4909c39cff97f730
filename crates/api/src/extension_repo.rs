//! `ExtensionRepo`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::time::Time;

/// A repository of extensions: a Git repository or a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionRepo {
    /// What is wanted.
    pub spec: ExtensionRepoSpec,
    /// What is so. The session writes it.
    pub status: ExtensionRepoStatus,
}

impl ApiKind for ExtensionRepo {
    const PLURAL: &'static str = "extensionrepos";
    const SHORT_NAMES: &'static [&'static str] = &["repo", "extrepo"];
}

/// Where the repository is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionRepoSpec {
    /// http://, https:// or file://.
    pub url: String,
    /// A branch, tag or commit; without one the newest of the default branch.
    #[serde(rename = "ref", default, skip_serializing_if = "is_empty")]
    pub reference: String,
    /// What stands after ext:// in load() for extensions of this repository.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub load_host: String,
    /// The folder of the repository that holds the extensions.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub git_subpath: String,
}

/// What was fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionRepoStatus {
    /// The commit that is there.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub checkout_ref: String,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// When it was fetched.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_fetched_at: Option<Time>,
    /// Where it is on this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
    /// Why it may be outdated.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stale_reason: String,
}
