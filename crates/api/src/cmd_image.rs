//! `CmdImage`.

use std::path::Path;

use lilt_model::ImageName;
use lilt_model::Timestamp;
use lilt_model::image::{CustomBuild, CustomOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cmd::{environment, parse_command};
use super::convert::{image_map_names, path_text};
use super::is_empty;
use super::kinds::ApiKind;

/// An image that a command of the user's builds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImage {
    /// What is wanted.
    pub spec: CmdImageSpec,
    /// What is so. The session writes it.
    pub status: CmdImageStatus,
}

impl ApiKind for CmdImage {
    const PLURAL: &'static str = "cmdimages";
}

/// How the image is built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImageSpec {
    /// The name of the image, without a tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The command, word by word; no shell is put around it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// The folder that the command runs in. Relative ones count from the Tiltfile's folder.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dir: String,
    /// Variables for the command, each as NAME=value, on top of the session's own.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub env: Vec<String>,
    /// Names of ImageMap objects. Their images are used, and a new build of one starts this anew.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// Where the command leaves the image: local-docker, local-docker-and-remote or remote.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub output_mode: String,
    /// The tag that the command gives; without one it takes the one in $EXPECTED_REF.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub output_tag: String,
    /// The file that the command writes the image's reference to.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub outputs_image_ref_to: String,
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
pub struct CmdImageStatus {
    /// What the newest image is called in the cluster.
    #[serde(rename = "ref", default, skip_serializing_if = "is_empty")]
    pub reference: String,
    /// Set while it has not begun.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<CmdImageStateWaiting>,
    /// Set while it is built.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub building: Option<CmdImageStateBuilding>,
    /// Set when the last build has ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub completed: Option<CmdImageStateCompleted>,
}

/// It has not been built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImageStateWaiting {
    /// Why, in a word or a sentence.
    #[schemars(skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// It is built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImageStateBuilding {
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
pub struct CmdImageStateCompleted {
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

impl CmdImageSpec {
    /// Returns the specification of a build that starts from the images `depends_on`.
    pub fn new(build: &CustomBuild, depends_on: &[ImageName]) -> Self {
        let output_mode = match build.output {
            CustomOutput::LocalDocker => "local-docker",
            CustomOutput::LocalDockerAndRemote => "local-docker-and-remote",
            CustomOutput::Remote => "remote",
        };
        Self {
            args: build.command.argv.clone(),
            dir: path_text(&build.command.dir),
            env: environment(&build.command),
            image_maps: image_map_names(depends_on),
            output_mode: output_mode.to_owned(),
            output_tag: build.tag.clone(),
            outputs_image_ref_to: build.outputs_image_ref_to.as_deref().map(path_text).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Returns the build. `folder` is what relative paths are relative to.
    pub fn custom_build(&self, folder: &Path) -> CustomBuild {
        let output = match self.output_mode.as_str() {
            "local-docker-and-remote" => CustomOutput::LocalDockerAndRemote,
            "remote" => CustomOutput::Remote,
            _ => CustomOutput::LocalDocker,
        };
        let written_to = self.outputs_image_ref_to.as_str();
        CustomBuild {
            command: parse_command(&self.args, &self.dir, &self.env, folder),
            deps: Vec::new(),
            tag: self.output_tag.clone(),
            output,
            outputs_image_ref_to: (!written_to.is_empty()).then(|| folder.join(written_to)),
        }
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::command::Command;

    use super::*;

    #[test]
    fn custom_build_survives_the_round_trip() {
        let build = CustomBuild {
            command: Command {
                argv: vec!["make".into(), "image".into()],
                dir: "/p/web".into(),
                env: vec![("A".into(), "1".into())],
                unset: Vec::new(),
            },
            deps: Vec::new(),
            tag: "t".into(),
            output: CustomOutput::Remote,
            outputs_image_ref_to: Some("/p/ref".into()),
        };
        assert_eq!(CmdImageSpec::new(&build, &[]).custom_build(Path::new("/p")), build);
    }
}
