//! `Extension`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;

/// A Tiltfile from a repository of extensions that is loaded beside the session's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Extension {
    /// What is wanted.
    pub spec: ExtensionSpec,
    /// What is so. The session writes it.
    pub status: ExtensionStatus,
}

impl ApiKind for Extension {
    const PLURAL: &'static str = "extensions";
    const SHORT_NAMES: &'static [&'static str] = &["ext"];
}

/// Which extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionSpec {
    /// The name of the ExtensionRepo.
    pub repo_name: String,
    /// The folder of the extension in the repository.
    pub repo_path: String,
    /// Arguments for its Tiltfile.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionStatus {
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Its Tiltfile on this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
}
