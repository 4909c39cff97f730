//! `ImageMap`.

use lilt_model::Timestamp;
use lilt_model::image::ImageTarget;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;

/// How an image is found in what is deployed, and what its newest build is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMap {
    /// What is wanted.
    pub spec: ImageMapSpec,
    /// What is so. The session writes it.
    pub status: ImageMapStatus,
}

impl ApiKind for ImageMap {
    const PLURAL: &'static str = "imagemaps";
    const SHORT_NAMES: &'static [&'static str] = &["im"];
}

/// How the image is found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapSpec {
    /// The image's name, as objects that are deployed write it.
    pub selector: String,
    /// Whether the tag counts, too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_exact: bool,
    /// Whether it is also looked for in the values of variables of containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub match_in_env_vars: bool,
    /// In place of the command of containers that run it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub override_command: Option<ImageMapOverrideCommand>,
    /// In place of the arguments of containers that run it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub override_args: Option<ImageMapOverrideArgs>,
}

/// A command for containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapOverrideCommand {
    /// The command, word by word.
    pub command: Vec<String>,
}

/// Arguments for containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapOverrideArgs {
    /// The arguments; none at all if empty.
    pub args: Vec<String>,
}

/// What the newest build is called; nothing while there was none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageMapStatus {
    /// The reference of the image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image: String,
    /// The reference that the cluster pulls.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_from_cluster: String,
    /// The reference on this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_from_local: String,
    /// When that build began: what was saved before is in it.
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
    /// Returns how the image is found in objects.
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
