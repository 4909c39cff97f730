//! `UIButton`.

use lilt_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;
use super::ui_input::{UIInputSpec, UIInputStatus};

/// A button of the web page. Whoever writes the time of a click into its status clicks it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIButton {
    /// What is wanted.
    pub spec: UIButtonSpec,
    /// What is so. The session writes it.
    pub status: UIButtonStatus,
}

impl ApiKind for UIButton {
    const PLURAL: &'static str = "uibuttons";
}

/// How the button looks, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIButtonSpec {
    /// Where on the page it stands.
    pub location: UIComponentLocation,
    /// What stands on it.
    pub text: String,
    /// The name of an icon of Material Icons.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub icon_name: String,
    /// An icon as an <svg> element.
    #[serde(rename = "iconSVG", default, skip_serializing_if = "is_empty")]
    pub icon_svg: String,
    /// Whether it cannot be clicked.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disabled: bool,
    /// Whether a second click is needed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub requires_confirmation: bool,
    /// What can be entered before a click.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub inputs: Vec<UIInputSpec>,
}

/// A place on the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIComponentLocation {
    /// The name of the resource; of global ones, nav or another place.
    #[serde(rename = "componentID")]
    pub component_id: String,
    /// Resource or Global.
    pub component_type: String,
}

/// The last click.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIButtonStatus {
    /// When it was clicked. A later time is a click.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_clicked_at: Option<Timestamp>,
    /// What was entered with it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub inputs: Vec<UIInputStatus>,
}
