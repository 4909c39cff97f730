//! `DockerComposeLogStream`.

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::docker_compose_service::DockerComposeProject;
use super::is_empty;
use super::kinds::ApiKind;
use super::time::Time;

/// Streams the log of a Docker Compose service to the log of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeLogStream {
    /// The desired state.
    pub spec: DockerComposeLogStreamSpec,
    /// The observed state, set by the session.
    pub status: DockerComposeLogStreamStatus,
}

impl ApiKind for DockerComposeLogStream {
    const PLURAL: &'static str = "dockercomposelogstreams";
    const SHORT_NAMES: &'static [&'static str] = &["dclog", "dcls"];
}

/// The service whose log is streamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeLogStreamSpec {
    /// Docker Compose project of the service.
    pub project: DockerComposeProject,
    /// Name of the service.
    pub service: String,
    /// Skips log lines before this time.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub since_time: Option<Time>,
}

/// The observed state of the log stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeLogStreamStatus {
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Time when the stream started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
}
