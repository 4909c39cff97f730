//! Inputs of a `UIButton`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;

/// An input of a button; one of `text`, `bool`, `choice` and `hidden` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIInputSpec {
    /// Name of the input and of the environment variable with its value.
    pub name: String,
    /// Label shown next to the input.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub label: String,
    /// A text field.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub text: Option<UITextInputSpec>,
    /// A checkbox.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub bool: Option<UIBoolInputSpec>,
    /// A value that is submitted without being shown.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub hidden: Option<UIHiddenInputSpec>,
    /// A choice of one of several values.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub choice: Option<UIChoiceInputSpec>,
}

/// A text field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UITextInputSpec {
    /// Initial value.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub default_value: String,
    /// Text shown while the field is empty.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub placeholder: String,
}

/// A checkbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBoolInputSpec {
    /// Whether the box is checked initially.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub default_value: bool,
    /// Value of the environment variable if the box is checked. Defaults to `true`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub true_string: Option<String>,
    /// Value of the environment variable if the box is not checked. Defaults to `false`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub false_string: Option<String>,
}

/// A value that is submitted without being shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIHiddenInputSpec {
    /// Value of the input.
    pub value: String,
}

/// A choice of one of several values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIChoiceInputSpec {
    /// Values to choose from. The first one is the default.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub choices: Vec<String>,
}

/// Value of an input at the last click.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIInputStatus {
    /// Name of the input.
    pub name: String,
    /// Value of a text field.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub text: Option<UITextInputStatus>,
    /// Value of a checkbox.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub bool: Option<UIBoolInputStatus>,
    /// Value of a hidden input.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub hidden: Option<UIHiddenInputStatus>,
    /// Value of a choice.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub choice: Option<UIChoiceInputStatus>,
}

/// Value of a text field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UITextInputStatus {
    /// Text that was entered.
    pub value: String,
}

/// Value of a checkbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBoolInputStatus {
    /// Whether the box was checked.
    pub value: bool,
}

/// Value of a hidden input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIHiddenInputStatus {
    /// Value of the input.
    pub value: String,
}

/// Value of a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIChoiceInputStatus {
    /// Value that was chosen.
    pub value: String,
}
