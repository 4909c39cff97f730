//! `UIButton`.

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::ui_input::{UIInputSpec, UIInputStatus};

/// A button in the web UI. To click it, set `status.lastClickedAt` to the current time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIButton {
    /// The desired state.
    pub spec: UIButtonSpec,
    /// The last click, set by the client that clicks.
    pub status: UIButtonStatus,
}

impl ApiKind for UIButton {
    const PLURAL: &'static str = "uibuttons";
}

/// The location and the appearance of the button.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIButtonSpec {
    /// Location in the web UI.
    pub location: UIComponentLocation,
    /// Text of the button.
    pub text: String,
    /// Name of an icon of Material Icons.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub icon_name: String,
    /// Icon as an `<svg>` element.
    #[serde(rename = "iconSVG", default, skip_serializing_if = "is_empty")]
    pub icon_svg: String,
    /// Whether the button is disabled.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disabled: bool,
    /// Whether a second click is required to confirm.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub requires_confirmation: bool,
    /// Inputs that can be filled in before a click.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub inputs: Vec<UIInputSpec>,
}

/// A location in the web UI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIComponentLocation {
    /// Name of the resource; for `Global`, the place, such as `nav`.
    #[serde(rename = "componentID")]
    pub component_id: String,
    /// `Resource` or `Global`.
    pub component_type: String,
}

/// The last click.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIButtonStatus {
    /// Time of the last click. A later time is a new click.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_clicked_at: Option<Timestamp>,
    /// Values of the inputs at the last click.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub inputs: Vec<UIInputStatus>,
}
