//! `DockerImage`.

use std::path::Path;

use lilt_model::ImageName;
use lilt_model::Timestamp;
use lilt_model::image::{BuildRecord, BuildStage, DockerBuild};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::{assignments, image_map_names, parse_assignments, path_text};
use super::file_watch::{IgnoreDef, file_set, ignore_defs};
use super::is_empty;
use super::kinds::ApiKind;

/// An image built from a Dockerfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImage {
    /// The desired state.
    pub spec: DockerImageSpec,
    /// The observed state, set by the session.
    pub status: DockerImageStatus,
}

impl ApiKind for DockerImage {
    const PLURAL: &'static str = "dockerimages";
}

/// The build of an image from a Dockerfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageSpec {
    /// Name of the image, without a tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Contents of the Dockerfile.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dockerfile_contents: String,
    /// Directory of the build context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub context: String,
    /// Ignore rules of the build context.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub context_ignores: Vec<IgnoreDef>,
    /// Build arguments as `NAME=value`; the value of a bare name is taken from the environment.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// Build stage to build. Defaults to the last one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub target: String,
    /// SSH agent sockets and keys, in the syntax of `docker build --ssh`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ssh_agent_configs: Vec<String>,
    /// Build secrets, in the syntax of `docker build --secret`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub secrets: Vec<String>,
    /// Network of the build steps.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub network: String,
    /// Whether to check for newer versions of base images.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pull: bool,
    /// Images to use as cache sources.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cache_from: Vec<String>,
    /// Target platform, such as `linux/arm64`. Defaults to that of the cluster.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub platform: String,
    /// Additional tags of the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_tags: Vec<String>,
    /// Names of ImageMap objects whose images the build uses; a new build of one rebuilds the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// Additional host entries for the build, as `NAME:ADDRESS`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_hosts: Vec<String>,
    /// Name of the Cluster object. Defaults to `default`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
    /// How the cluster uses the image: `push` if the image must be in a registry.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster_needs: String,
}

/// The observed state of the build; one of `waiting`, `building` and `completed` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStatus {
    /// Reference of the newest image, as used in the cluster.
    #[serde(rename = "ref", default, skip_serializing_if = "is_empty")]
    pub reference: String,
    /// Set while the build has not started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<DockerImageStateWaiting>,
    /// Set while the build runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub building: Option<DockerImageStateBuilding>,
    /// Set when the last build has finished.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub completed: Option<DockerImageStateCompleted>,
    /// Steps of the last build.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stage_statuses: Vec<DockerImageStageStatus>,
}

/// Details of a build that has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStateWaiting {
    /// Reason why the build is waiting.
    #[schemars(skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// Details of a running build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStateBuilding {
    /// Time when the build started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// Reason for the build.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// Details of a finished build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStateCompleted {
    /// Time when the build started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// Time when the build finished.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Reason for the build.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// A step of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStageStatus {
    /// Name of the step.
    pub name: String,
    /// Whether the result was taken from the cache.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cached: bool,
    /// Time when the step started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// Time when the step finished.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

impl DockerImageSpec {
    /// Converts a build that depends on the images `depends_on`.
    pub fn new(build: &DockerBuild, depends_on: &[ImageName]) -> Self {
        Self {
            dockerfile_contents: build.dockerfile.clone(),
            context: build.context.roots.first().map(|root| path_text(root)).unwrap_or_default(),
            context_ignores: ignore_defs(&build.context.ignores),
            args: assignments(&build.build_args),
            target: build.target.clone(),
            ssh_agent_configs: build.ssh.clone(),
            secrets: build.secrets.clone(),
            network: build.network.clone(),
            pull: build.pull,
            cache_from: build.cache_from.clone(),
            platform: build.platform.clone(),
            extra_tags: build.extra_tags.clone(),
            image_maps: image_map_names(depends_on),
            extra_hosts: build.extra_hosts.clone(),
            ..Self::default()
        }
    }

    /// Returns the build. Relative paths are resolved against `folder`.
    pub fn docker_build(&self, folder: &Path) -> DockerBuild {
        DockerBuild {
            context: file_set(std::slice::from_ref(&self.context), &self.context_ignores, folder),
            dockerfile: self.dockerfile_contents.clone(),
            build_args: parse_assignments(&self.args),
            target: self.target.clone(),
            platform: self.platform.clone(),
            network: self.network.clone(),
            extra_tags: self.extra_tags.clone(),
            cache_from: self.cache_from.clone(),
            extra_hosts: self.extra_hosts.clone(),
            pull: self.pull,
            ssh: self.ssh_agent_configs.clone(),
            secrets: self.secrets.clone(),
            ..DockerBuild::default()
        }
    }
}

impl From<&BuildStage> for DockerImageStageStatus {
    fn from(stage: &BuildStage) -> Self {
        Self {
            name: stage.name.clone(),
            cached: stage.cached,
            started_at: Some(stage.began),
            finished_at: stage.ended,
            error: stage.error.clone().unwrap_or_default(),
        }
    }
}

/// Returns the statuses of the stages of a build.
pub fn stage_statuses(record: &BuildRecord) -> Vec<DockerImageStageStatus> {
    record.stages.iter().map(DockerImageStageStatus::from).collect()
}

#[cfg(test)]
mod tests {
    use lilt_model::files::{FileSet, IgnoreRule};

    use super::*;

    #[test]
    fn docker_build_survives_the_round_trip() {
        let rule = IgnoreRule { base: "/p/web".into(), patterns: vec!["*.md".into()] };
        let build = DockerBuild {
            context: FileSet::new(vec!["/p/web".into()], vec![rule]),
            dockerfile: "FROM busybox".into(),
            build_args: vec![("A".into(), "1=2".into()), ("B".into(), String::new())],
            target: "last".into(),
            extra_tags: vec!["web:mine".into()],
            pull: true,
            secrets: vec!["id=a".into()],
            ..DockerBuild::default()
        };
        assert_eq!(DockerImageSpec::new(&build, &[]).docker_build(Path::new("/p")), build);
    }
}
