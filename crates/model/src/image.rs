//! How an image is built and how a running container of it is kept up to date.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::files::FileSet;
use crate::names::ImageName;

/// An image that a resource needs built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageTarget {
    pub name: ImageName,
    pub build: DockerBuild,
    /// What triggers a build: the context, less what the user ignores.
    pub files: FileSet,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_update: Option<LiveUpdate>,
    /// Images of the same project that the Dockerfile builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ImageName>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DockerBuild {
    /// The build context; its `ignores` stay out of it. One root.
    pub context: FileSet,
    /// Where the Dockerfile was read, for messages; none if its text was given in the Tiltfile.
    pub dockerfile_path: Option<PathBuf>,
    pub dockerfile: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build_args: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub platform: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub network: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_from: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_hosts: Vec<String>,
    #[serde(default)]
    pub pull: bool,
}

/// How a change goes into a running container without a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveUpdate {
    /// A change to one of these (absolute paths; a directory means all below) asks for a full build.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_paths: Vec<PathBuf>,
    pub syncs: Vec<Sync>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sync {
    /// Absolute path of a file or directory on this machine.
    pub local: PathBuf,
    /// Absolute path in the container.
    pub container: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub argv: Vec<String>,
    /// Run only if one of these (absolute paths; a directory means all below) changed; empty means always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<PathBuf>,
    /// Do not print the command.
    #[serde(default)]
    pub echo_off: bool,
}
