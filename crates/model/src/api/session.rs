//! `UISession`: the session as the page sees it.

use serde::{Deserialize, Serialize};

use super::meta::ObjectMeta;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UISession {
    pub api_version: String,
    pub kind: String,
    pub metadata: ObjectMeta,
    pub status: UISessionStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UISessionStatus {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fatal_error: String,
    pub running_tilt_build: TiltBuild,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tilt_start_time: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tiltfile_key: String,
    /// The page has no use for these two.
    #[cfg_attr(feature = "ts", ts(skip))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_flags: Vec<FeatureFlag>,
    #[cfg_attr(feature = "ts", ts(skip))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_settings: Option<VersionSettings>,
}

/// A cluster, Docker engine or registry that does not respond.
///
/// Front ends show it as it is, so that all of them use the same words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UnreachableService {
    /// `Cluster kind-dev is unreachable`.
    pub title: String,
    /// Why, in one sentence.
    pub message: String,
    /// The address of a cluster's API server, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub server: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub hint: Option<String>,
    pub since: Timestamp,
}

impl UISession {
    /// The unreachable services named in the annotation [`super::annotation::UNREACHABLE`].
    pub fn unreachable(&self) -> Vec<UnreachableService> {
        let annotation = self.metadata.annotations.get(super::annotation::UNREACHABLE);
        annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// Something that is tried out, and whether it is on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeatureFlag {
    pub name: String,
    pub value: bool,
}

/// What the Tiltfile says about versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VersionSettings {
    pub check_updates: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltBuild {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(rename = "commitSHA", default, skip_serializing_if = "String::is_empty")]
    pub commit_sha: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    pub dev: bool,
}
