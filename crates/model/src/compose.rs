//! What a resource runs by Docker Compose: one service of a project.

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
    /// The service as Compose resolves it: a change to it asks for an update.
    pub config: Value,
    /// Built in this order: an image stands behind those it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageTarget>,
    /// Of `images`, those that the service itself runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_deps: Vec<ImageName>,
    /// Ports of this machine that lead to the service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_ports: Vec<u16>,
    /// Whether published ports are shown as links. None: the user does not say, and they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infer_links: Option<bool>,
}

/// What all calls of Compose for one project are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComposeProject {
    pub name: String,
    /// Relative paths of the Compose files count from it.
    pub directory: PathBuf,
    /// In the order in which they override each other.
    pub configs: Vec<ComposeConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// An update ends when its service is healthy, not when it is started.
    #[serde(default)]
    pub wait: bool,
}

/// One Compose file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComposeConfig {
    File(PathBuf),
    /// Its text, given in the Tiltfile.
    Text(String),
}
