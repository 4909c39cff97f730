//! Inputs of a `UIButton`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;

/// Something to enter; one of text, bool, choice and hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIInputSpec {
    /// The name of the variable that gets it.
    pub name: String,
    /// What stands beside it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub label: String,
    /// A text.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub text: Option<UITextInputSpec>,
    /// A check box.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub bool: Option<UIBoolInputSpec>,
    /// Nothing to see: a value that goes along.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub hidden: Option<UIHiddenInputSpec>,
    /// One of several.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub choice: Option<UIChoiceInputSpec>,
}

/// A text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UITextInputSpec {
    /// What stands there at first.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub default_value: String,
    /// What stands there in grey while nothing does.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub placeholder: String,
}

/// A check box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBoolInputSpec {
    /// Whether it is checked at first.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub default_value: bool,
    /// The variable's value if it is checked; without one: true.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub true_string: Option<String>,
    /// The variable's value if it is not checked; without one: false.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub false_string: Option<String>,
}

/// A value that goes along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIHiddenInputSpec {
    /// The value.
    pub value: String,
}

/// One of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIChoiceInputSpec {
    /// What can be chosen. The first one is, at first.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub choices: Vec<String>,
}

/// What was entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIInputStatus {
    /// Which of the inputs.
    pub name: String,
    /// Of a text.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub text: Option<UITextInputStatus>,
    /// Of a check box.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub bool: Option<UIBoolInputStatus>,
    /// What went along.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub hidden: Option<UIHiddenInputStatus>,
    /// Of several.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub choice: Option<UIChoiceInputStatus>,
}

/// What was entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UITextInputStatus {
    /// The value.
    pub value: String,
}

/// What was entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIBoolInputStatus {
    /// The value.
    pub value: bool,
}

/// What went along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIHiddenInputStatus {
    /// The value.
    pub value: String,
}

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct UIChoiceInputStatus {
    /// The value.
    pub value: String,
}
