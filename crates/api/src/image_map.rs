//! `ImageMap`.

use lilt_model::Timestamp;
use lilt_model::image::ImageTarget;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;

/// Maps an image name in deployed objects to the newest build of that image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMap {
    /// The desired state.
    pub spec: ImageMapSpec,
    /// The observed state, set by the session.
    pub status: ImageMapStatus,
}

impl ApiKind for ImageMap {
    const PLURAL: &'static str = "imagemaps";
    const SHORT_NAMES: &'static [&'static str] = &["im"];
}

/// How references to the image are found in deployed objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapSpec {
    /// Name of the image, as written in deployed objects.
    pub selector: String,
    /// Whether the tag must match as well.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_exact: bool,
    /// Whether the image is also matched in the environment variables of containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_in_env_vars: bool,
    /// Replaces the command of containers that run the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub override_command: Option<ImageMapOverrideCommand>,
    /// Replaces the arguments of containers that run the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub override_args: Option<ImageMapOverrideArgs>,
}

/// A command that replaces that of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapOverrideCommand {
    /// Command and arguments. They are not run in a shell.
    pub command: Vec<String>,
}

/// Arguments that replace those of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapOverrideArgs {
    /// Arguments. An empty list removes all arguments.
    pub args: Vec<String>,
}

/// The newest build of the image; empty until the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapStatus {
    /// Reference of the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image: String,
    /// Reference that the cluster pulls.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_from_cluster: String,
    /// Reference on this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_from_local: String,
    /// Time when the build started; earlier file changes are in the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub build_start_time: Option<Timestamp>,
}

impl From<&ImageTarget> for ImageMapSpec {
    fn from(image: &ImageTarget) -> Self {
        let command = image.entrypoint.clone().filter(|words| !words.is_empty());
        Self {
            selector: image.name.to_string(),
            match_exact: image.match_exact,
            match_in_env_vars: image.match_in_env_vars,
            override_command: command.map(|command| ImageMapOverrideCommand { command }),
            override_args: image.container_args.clone().map(|args| ImageMapOverrideArgs { args }),
        }
    }
}

impl ImageMapSpec {
    /// Returns an image target with this selector and these overrides.
    pub fn image_target(&self) -> ImageTarget {
        ImageTarget {
            name: self.selector.as_str().into(),
            match_exact: self.match_exact,
            match_in_env_vars: self.match_in_env_vars,
            entrypoint: self.override_command.clone().map(|it| it.command),
            container_args: self.override_args.clone().map(|it| it.args),
            ..ImageTarget::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_target_survives_the_round_trip() {
        let image = ImageTarget {
            name: "web".into(),
            match_exact: true,
            entrypoint: Some(vec!["sh".into()]),
            container_args: Some(Vec::new()),
            ..ImageTarget::default()
        };
        assert_eq!(ImageMapSpec::from(&image).image_target(), image);
    }
}
