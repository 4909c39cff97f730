//! `ConfigMap`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::kinds::ApiKind;

/// Key-value data that other objects read. The one named `RESOURCE-disable` enables and disables a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMap {
    /// Strings by key.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub data: BTreeMap<String, String>,
}

impl ApiKind for ConfigMap {
    const PLURAL: &'static str = "configmaps";
    const SHORT_NAMES: &'static [&'static str] = &["cm"];
}
