//! `ToggleButton`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::ui_button::UIComponentLocation;

/// A button that toggles between two states and stores the state in a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButton {
    /// The desired state.
    pub spec: ToggleButtonSpec,
    /// The observed state, set by the session.
    pub status: ToggleButtonStatus,
}

impl ApiKind for ToggleButton {
    const PLURAL: &'static str = "togglebuttons";
}

/// The location and the two states of the button.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButtonSpec {
    /// Location in the web UI.
    pub location: UIComponentLocation,
    /// Whether the button is on while the stored value is missing.
    pub default_on: bool,
    /// Appearance while the button is on; a click turns it off.
    pub on: ToggleButtonStateSpec,
    /// Appearance while the button is off; a click turns it on.
    pub off: ToggleButtonStateSpec,
    /// Where the state is stored.
    pub state_source: StateSource,
}

/// Appearance of the button in one state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButtonStateSpec {
    /// Text of the button.
    pub text: String,
    /// Name of an icon of Material Icons.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub icon_name: String,
    /// Icon as an `<svg>` element.
    #[serde(rename = "iconSVG", default, skip_serializing_if = "is_empty")]
    pub icon_svg: String,
    /// Whether a second click is required to confirm.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub requires_confirmation: bool,
}

/// Storage of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct StateSource {
    /// A value of a ConfigMap.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub config_map: Option<ConfigMapStateSource>,
}

/// A value of a ConfigMap that stores the state of a button.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapStateSource {
    /// Name of the ConfigMap.
    pub name: String,
    /// Key of the value.
    pub key: String,
    /// Value while the button is on.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub on_value: String,
    /// Value while the button is off.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub off_value: String,
}

/// The observed state of the button.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ToggleButtonStatus {
    /// The error; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
}
