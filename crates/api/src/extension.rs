//! `Extension`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;

/// A Tiltfile of an extension repository, loaded in addition to the main Tiltfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Extension {
    /// The desired state.
    pub spec: ExtensionSpec,
    /// The observed state, set by the session.
    pub status: ExtensionStatus,
}

impl ApiKind for Extension {
    const PLURAL: &'static str = "extensions";
    const SHORT_NAMES: &'static [&'static str] = &["ext"];
}

/// The location and the arguments of an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionSpec {
    /// Name of the ExtensionRepo object.
    pub repo_name: String,
    /// Directory of the extension in the repository.
    pub repo_path: String,
    /// Arguments of the extension's Tiltfile.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
}

/// The observed state of an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionStatus {
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Path of the extension's Tiltfile on this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
}
