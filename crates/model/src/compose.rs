//! The spec of a resource that is a service of Docker Compose.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::image::ImageTarget;
use crate::names::ImageName;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComposeResource {
    pub project: ComposeProject,
    /// The service's name in the Compose file; the resource may have another.
    pub service: String,
    /// The service as Compose resolves it. A change to it triggers an update.
    pub config: Value,
    /// In build order: an image follows those it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageTarget>,
    /// The subset of `images` that the service itself runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_deps: Vec<ImageName>,
    /// Ports of this machine that are published for the service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_ports: Vec<u16>,
    /// Whether published ports are shown as links. None: not specified, which means yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infer_links: Option<bool>,
}

/// A Compose project: the arguments of every call of Compose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComposeProject {
    pub name: String,
    /// Paths in the Compose files are relative to it.
    pub directory: PathBuf,
    /// Later files override earlier ones.
    pub configs: Vec<ComposeConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// Whether an update ends when its service is healthy, not when it is started.
    #[serde(default)]
    pub wait: bool,
}

/// One Compose file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComposeConfig {
    File(PathBuf),
    /// The text, given in the Tiltfile.
    Text(String),
}
