//! `DockerComposeService`.

use lilt_model::Timestamp;
use lilt_model::compose::{ComposeConfig, ComposeProject, ComposeResource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::{image_map_names, path_text};
use super::disable::{DisableSource, DisableStatus};
use super::is_empty;
use super::kinds::ApiKind;

/// A Docker Compose service that a resource runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeService {
    /// The desired state.
    pub spec: DockerComposeServiceSpec,
    /// The observed state, set by the session.
    pub status: DockerComposeServiceStatus,
}

impl ApiKind for DockerComposeService {
    const PLURAL: &'static str = "dockercomposeservices";
    const SHORT_NAMES: &'static [&'static str] = &["dc"];
}

/// The service and its project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeServiceSpec {
    /// Name of the service.
    pub service: String,
    /// Docker Compose project of the service.
    pub project: DockerComposeProject,
    /// Names of ImageMap objects whose images the service uses; a new build of one restarts it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// ConfigMap values that disable the object. It stays disabled while one is missing.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
}

/// A Docker Compose project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeProject {
    /// Paths of the Compose files.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub config_paths: Vec<String>,
    /// Directory that relative paths of the project are resolved against.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub project_path: String,
    /// Inline YAML of the project, for what is not in a file.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub yaml: String,
    /// Name of the project.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
    /// Path of the file with environment variables.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub env_file: String,
    /// Active profiles.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub profiles: Vec<String>,
    /// Whether an update waits until the service is healthy.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub wait: bool,
}

/// The observed state of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeServiceStatus {
    /// The error of the last `docker compose up`; empty on success.
    #[schemars(skip_serializing_if = "is_empty")]
    pub apply_error: String,
    /// ID of the service's container.
    #[serde(rename = "containerID", default, skip_serializing_if = "is_empty")]
    pub container_id: String,
    /// Name of the service's container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_name: String,
    /// State of the container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_state: Option<DockerContainerState>,
    /// Whether and why the object is disabled.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
    /// Time when the service was last brought up.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_apply_finish_time: Option<Timestamp>,
    /// Time when the last update of the service started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_apply_start_time: Option<Timestamp>,
    /// Ports of this machine that are bound to ports of the container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub port_bindings: Vec<DockerPortBinding>,
}

/// State of a container, as reported by Docker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerContainerState {
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Exit code of the process.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub exit_code: i32,
    /// Time when the container exited.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// Result of the container's health check.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub health_status: String,
    /// Whether the container runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: bool,
    /// Time when the container started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// One of `created`, `running`, `paused`, `restarting`, `removing`, `exited` and `dead`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub status: String,
}

/// A port of this machine that is bound to a port of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerPortBinding {
    /// Port in the container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_port: i32,
    /// IP address on this machine.
    #[serde(rename = "hostIP", default, skip_serializing_if = "is_empty")]
    pub host_ip: String,
    /// Port on this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host_port: i32,
}

impl From<&ComposeResource> for DockerComposeServiceSpec {
    fn from(body: &ComposeResource) -> Self {
        Self {
            service: body.service.clone(),
            project: DockerComposeProject::from(&body.project),
            image_maps: image_map_names(&body.image_deps),
            disable_source: None,
        }
    }
}

impl From<&ComposeProject> for DockerComposeProject {
    fn from(project: &ComposeProject) -> Self {
        let mut files = Vec::new();
        let mut texts = Vec::new();
        for config in &project.configs {
            match config {
                ComposeConfig::File(file) => files.push(path_text(file)),
                ComposeConfig::Text(text) => texts.push(text.as_str()),
            }
        }
        Self {
            config_paths: files,
            project_path: path_text(&project.directory),
            yaml: texts.join("\n---\n"),
            name: project.name.clone(),
            env_file: project.env_file.as_deref().map(path_text).unwrap_or_default(),
            profiles: project.profiles.clone(),
            wait: project.wait,
        }
    }
}
