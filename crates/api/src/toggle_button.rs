//! `ToggleButton`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::ui_button::UIComponentLocation;

/// A button that switches a value between two; each position has its own look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButton {
    /// What is wanted.
    pub spec: ToggleButtonSpec,
    /// What is so. The session writes it.
    pub status: ToggleButtonStatus,
}

impl ApiKind for ToggleButton {
    const PLURAL: &'static str = "togglebuttons";
}

/// The two positions of the button.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButtonSpec {
    /// Where on the page it stands.
    pub location: UIComponentLocation,
    /// Which position counts while the value is missing.
    pub default_on: bool,
    /// How it looks when it is on, and can be switched off.
    pub on: ToggleButtonStateSpec,
    /// How it looks when it is off, and can be switched on.
    pub off: ToggleButtonStateSpec,
    /// Where the position is written.
    pub state_source: StateSource,
}

/// How the button looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButtonStateSpec {
    /// What stands on it.
    pub text: String,
    /// The name of an icon of Material Icons.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub icon_name: String,
    /// An icon as an <svg> element.
    #[serde(rename = "iconSVG", default, skip_serializing_if = "is_empty")]
    pub icon_svg: String,
    /// Whether a second click is needed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub requires_confirmation: bool,
}

/// Where a state is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct StateSource {
    /// A value of a ConfigMap.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub config_map: Option<ConfigMapStateSource>,
}

/// A value of a ConfigMap that is one of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapStateSource {
    /// The name of the ConfigMap.
    pub name: String,
    /// Which value of it.
    pub key: String,
    /// What it is when the button is on.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub on_value: String,
    /// What it is when the button is off.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub off_value: String,
}

/// Whether it works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButtonStatus {
    /// What went wrong; empty if nothing did.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}
