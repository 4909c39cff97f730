//! `DockerComposeLogStream`.

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::docker_compose_service::DockerComposeProject;
use super::is_empty;
use super::kinds::ApiKind;
use super::time::Time;

/// Brings the log of a Docker Compose service into a resource's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeLogStream {
    /// What is wanted.
    pub spec: DockerComposeLogStreamSpec,
    /// What is so. The session writes it.
    pub status: DockerComposeLogStreamStatus,
}

impl ApiKind for DockerComposeLogStream {
    const PLURAL: &'static str = "dockercomposelogstreams";
    const SHORT_NAMES: &'static [&'static str] = &["dclog", "dcls"];
}

/// Whose log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeLogStreamSpec {
    /// The project of the service.
    pub project: DockerComposeProject,
    /// The name of the service.
    pub service: String,
    /// Lines before that are left out.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub since_time: Option<Time>,
}

/// How it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeLogStreamStatus {
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
}
