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

/// An image that is built from a Dockerfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImage {
    /// What is wanted.
    pub spec: DockerImageSpec,
    /// What is so. The session writes it.
    pub status: DockerImageStatus,
}

impl ApiKind for DockerImage {
    const PLURAL: &'static str = "dockerimages";
}

/// How the image is built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageSpec {
    /// The name of the image, without a tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The text of the Dockerfile.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dockerfile_contents: String,
    /// The folder that the build sees.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub context: String,
    /// What of the folder the build does not see.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub context_ignores: Vec<IgnoreDef>,
    /// Build arguments, each as NAME=value; a name alone takes its value from the environment.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// The stage of the Dockerfile that is built; without one the last.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub target: String,
    /// Agents and keys for steps of the build, as `docker build --ssh` takes them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ssh_agent_configs: Vec<String>,
    /// Secrets for steps of the build, as `docker build --secret` takes them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub secrets: Vec<String>,
    /// The network that steps of the build use.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub network: String,
    /// Whether newer base images are looked for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pull: bool,
    /// Images whose layers may be used.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cache_from: Vec<String>,
    /// For which platform, such as linux/arm64; without one, that of the cluster.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub platform: String,
    /// More tags for the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_tags: Vec<String>,
    /// Names of ImageMap objects. Their images are used, and a new build of one starts this anew.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// More hosts for the build, each as NAME:ADDRESS.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_hosts: Vec<String>,
    /// The name of the Cluster object; without one it is "default".
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
    /// What the cluster does with the image: "push" if it must be in a registry.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster_needs: String,
}

/// How far the build is; one of waiting, building and completed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStatus {
    /// What the newest image is called in the cluster.
    #[serde(rename = "ref", default, skip_serializing_if = "is_empty")]
    pub reference: String,
    /// Set while it has not begun.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<DockerImageStateWaiting>,
    /// Set while it is built.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub building: Option<DockerImageStateBuilding>,
    /// Set when the last build has ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub completed: Option<DockerImageStateCompleted>,
    /// The steps of the last build.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stage_statuses: Vec<DockerImageStageStatus>,
}

/// It has not been built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStateWaiting {
    /// Why, in a word or a sentence.
    #[schemars(skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// It is built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStateBuilding {
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// The last build has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStateCompleted {
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// A step of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct DockerImageStageStatus {
    /// The name.
    pub name: String,
    /// Whether its result was known already.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cached: bool,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}

impl DockerImageSpec {
    /// Returns the specification of a build that starts from the images `depends_on`.
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

    /// Returns the build. `folder` is what relative paths are relative to.
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

/// Returns the stages of a build.
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
