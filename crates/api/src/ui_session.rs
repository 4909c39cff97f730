//! `UISession`.

use lilt_model::{Timestamp, annotation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::API_VERSION;
use super::is_empty;
use super::kinds::ApiKind;
use super::meta::ObjectMeta;
use super::object_kind::ApiContent as _;
use super::time::Time;

/// What the web page shows about the session as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UISession {
    /// Group and version of the object.
    pub api_version: String,
    /// What the object is.
    pub kind: String,
    /// Name, labels and what else all objects have.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub spec: UISessionSpec,
    /// What is so. The session writes it.
    pub status: UISessionStatus,
}

impl UISession {
    pub fn new(metadata: ObjectMeta, status: UISessionStatus) -> Self {
        Self {
            api_version: API_VERSION.into(),
            kind: Self::KIND.name().into(),
            metadata,
            spec: UISessionSpec {},
            status,
        }
    }
}

impl Default for UISession {
    fn default() -> Self {
        Self::new(ObjectMeta::default(), UISessionStatus::default())
    }
}

impl ApiKind for UISession {
    const PLURAL: &'static str = "uisessions";
}

/// Nothing: the command line says what the session is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct UISessionSpec {}

/// What the page shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UISessionStatus {
    /// Why the session is about to end.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub fatal_error: String,
    /// The version that it is compatible with.
    #[schemars(skip_serializing_if = "is_empty")]
    pub running_tilt_build: TiltBuild,
    /// A newer version, if there is one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub suggested_tilt_version: String,
    /// The user of Tilt Cloud, which is not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_username: String,
    /// The name of that team, which is not asked for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_team_name: String,
    /// The address of Tilt Cloud, which is not used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_scheme_host: String,
    /// The team that the Tiltfile names.
    #[serde(rename = "tiltCloudTeamID", default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_team_id: String,
    /// Whether people are to be asked about analytics; there are none.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub needs_analytics_nudge: bool,
    /// When the session began.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(with = "Option<Time>")]
    pub tilt_start_time: Option<Timestamp>,
    /// The main Tiltfile: tells sessions apart.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tiltfile_key: String,
    /// What is switched on of what is tried out.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub feature_flags: Vec<UIFeatureFlag>,
    /// What the Tiltfile says about versions.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub version_settings: Option<VersionSettings>,
}

/// A version of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltBuild {
    /// Its number.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub version: String,
    /// What it was built from.
    #[serde(rename = "commitSHA", default, skip_serializing_if = "is_empty")]
    pub commit_sha: String,
    /// When it was built.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub date: String,
    /// Whether it is no release.
    #[schemars(skip_serializing_if = "is_empty")]
    pub dev: bool,
}

/// Something that is tried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIFeatureFlag {
    /// The name.
    #[schemars(skip_serializing_if = "is_empty")]
    pub name: String,
    /// Whether it is on.
    #[schemars(skip_serializing_if = "is_empty")]
    pub value: bool,
}

/// What the Tiltfile says about versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct VersionSettings {
    /// Whether people are told of newer versions.
    #[schemars(skip_serializing_if = "is_empty")]
    pub check_updates: bool,
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
    /// The unreachable services named in the annotation [`annotation::UNREACHABLE`].
    pub fn unreachable(&self) -> Vec<UnreachableService> {
        let annotation = self.metadata.annotations.get(annotation::UNREACHABLE);
        annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}
