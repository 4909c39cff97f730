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

/// The state of a session, as shown in the web UI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UISession {
    /// API group and version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub spec: UISessionSpec,
    /// The observed state, set by the session.
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

/// Empty: sessions are configured on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct UISessionSpec {}

/// The observed state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UISessionStatus {
    /// The error that ends the session; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub fatal_error: String,
    /// The Tilt version that this build is compatible with.
    #[schemars(skip_serializing_if = "is_empty")]
    pub running_tilt_build: TiltBuild,
    /// Newer version to update to; empty if there is none.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub suggested_tilt_version: String,
    /// Not used: Tilt Cloud is not supported.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_username: String,
    /// Not used: Tilt Cloud is not supported.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_team_name: String,
    /// Not used: Tilt Cloud is not supported.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_scheme_host: String,
    /// Tilt Cloud team set in the Tiltfile.
    #[serde(rename = "tiltCloudTeamID", default, skip_serializing_if = "is_empty")]
    pub tilt_cloud_team_id: String,
    /// Not used: there are no analytics.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub needs_analytics_nudge: bool,
    /// Time when the session started.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(with = "Option<Time>")]
    pub tilt_start_time: Option<Timestamp>,
    /// Path of the main Tiltfile; identifies the session.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tiltfile_key: String,
    /// Feature flags of the session.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub feature_flags: Vec<UIFeatureFlag>,
    /// Version settings of the Tiltfile.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub version_settings: Option<VersionSettings>,
}

/// Version and origin of a build of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TiltBuild {
    /// Version number.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub version: String,
    /// Source revision of the build.
    #[serde(rename = "commitSHA", default, skip_serializing_if = "is_empty")]
    pub commit_sha: String,
    /// Date of the build.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub date: String,
    /// Whether the build is not a release.
    #[schemars(skip_serializing_if = "is_empty")]
    pub dev: bool,
}

/// A feature flag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIFeatureFlag {
    /// Name of the flag.
    #[schemars(skip_serializing_if = "is_empty")]
    pub name: String,
    /// Whether the feature is enabled.
    #[schemars(skip_serializing_if = "is_empty")]
    pub value: bool,
}

/// Version settings of the Tiltfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct VersionSettings {
    /// Whether to notify users of newer versions.
    #[schemars(skip_serializing_if = "is_empty")]
    pub check_updates: bool,
}

/// A cluster, Docker engine or registry that does not respond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UnreachableService {
    /// Summary, such as `Cluster kind-dev is unreachable`.
    pub title: String,
    /// Cause, in one sentence.
    pub message: String,
    /// Address of the cluster's API server, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub server: Option<String>,
    /// Suggested fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub hint: Option<String>,
    pub since: Timestamp,
}

impl UISession {
    /// Returns the unreachable services listed in the annotation [`annotation::UNREACHABLE`].
    pub fn unreachable(&self) -> Vec<UnreachableService> {
        let annotation = self.metadata.annotations.get(annotation::UNREACHABLE);
        annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}
