//! `DockerComposeService`.

use lilt_model::Timestamp;
use lilt_model::compose::{ComposeConfig, ComposeProject, ComposeResource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::{image_map_names, path_text};
use super::disable::{DisableSource, DisableStatus};
use super::is_empty;
use super::kinds::ApiKind;

/// A service of a Docker Compose project, as a resource runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeService {
    /// What is wanted.
    pub spec: DockerComposeServiceSpec,
    /// What is so. The session writes it.
    pub status: DockerComposeServiceStatus,
}

impl ApiKind for DockerComposeService {
    const PLURAL: &'static str = "dockercomposeservices";
    const SHORT_NAMES: &'static [&'static str] = &["dc"];
}

/// Which service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeServiceSpec {
    /// The name of the service.
    pub service: String,
    /// The project of the service.
    pub project: DockerComposeProject,
    /// Names of ImageMap objects. Their images are used, and a new build of one starts this anew.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// Values that switch the object off. As long as one is missing it is off, too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
}

/// A Docker Compose project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeProject {
    /// Its files.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub config_paths: Vec<String>,
    /// The folder that its paths count from.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub project_path: String,
    /// Its text, where it is in no file.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub yaml: String,
    /// The name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: String,
    /// The file with its variables.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub env_file: String,
    /// The profiles that are on.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub profiles: Vec<String>,
    /// Whether its services are waited for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub wait: bool,
}

/// What became of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerComposeServiceStatus {
    /// Why it could not be brought up.
    #[schemars(skip_serializing_if = "is_empty")]
    pub apply_error: String,
    /// The container of it.
    #[serde(rename = "containerID", default, skip_serializing_if = "is_empty")]
    pub container_id: String,
    /// The name of that container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_name: String,
    /// How that container is.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_state: Option<DockerContainerState>,
    /// Whether the object is switched off, and by what.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
    /// When it was last brought up.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_apply_finish_time: Option<Timestamp>,
    /// When that began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_apply_start_time: Option<Timestamp>,
    /// The ports of this machine that lead to it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub port_bindings: Vec<DockerPortBinding>,
}

/// How a container is, as Docker says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerContainerState {
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// The code that the process ended with.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub exit_code: i32,
    /// When it ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// What its health check says.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub health_status: String,
    /// Whether it runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: bool,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// created, running, paused, restarting, removing, exited or dead.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub status: String,
}

/// A port of this machine that leads to a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerPortBinding {
    /// The port in the container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_port: i32,
    /// The address on this machine.
    #[serde(rename = "hostIP", default, skip_serializing_if = "is_empty")]
    pub host_ip: String,
    /// The port on this machine.
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
