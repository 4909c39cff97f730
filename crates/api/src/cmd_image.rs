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

/// An image built by a custom command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImage {
    /// The desired state.
    pub spec: CmdImageSpec,
    /// The observed state, set by the session.
    pub status: CmdImageStatus,
}

impl ApiKind for CmdImage {
    const PLURAL: &'static str = "cmdimages";
}

/// The build of an image by a custom command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImageSpec {
    /// Name of the image, without a tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Command and arguments. They are not run in a shell.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// Working directory, relative to the Tiltfile's directory. Defaults to that directory.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dir: String,
    /// Environment variables as `NAME=value`, in addition to those of the session.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub env: Vec<String>,
    /// Names of ImageMap objects whose images the build uses; a new build of one rebuilds the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// Where the command puts the image: `local-docker` (default), `local-docker-and-remote` or `remote`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub output_mode: String,
    /// Tag that the command gives to the image. Defaults to the tag of `$EXPECTED_REF`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub output_tag: String,
    /// Path of the file that the command writes the image reference to.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub outputs_image_ref_to: String,
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
pub struct CmdImageStatus {
    /// Reference of the newest image, as used in the cluster.
    #[serde(rename = "ref", default, skip_serializing_if = "is_empty")]
    pub reference: String,
    /// Set while the build has not started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<CmdImageStateWaiting>,
    /// Set while the build runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub building: Option<CmdImageStateBuilding>,
    /// Set when the last build has finished.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub completed: Option<CmdImageStateCompleted>,
}

/// Details of a build that has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImageStateWaiting {
    /// Reason why the build is waiting.
    #[schemars(skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// Details of a running build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdImageStateBuilding {
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
pub struct CmdImageStateCompleted {
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

impl CmdImageSpec {
    /// Converts a build that depends on the images `depends_on`.
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

    /// Returns the build. Relative paths are resolved against `folder`.
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
