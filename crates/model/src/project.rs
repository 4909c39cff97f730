//! What a Tiltfile says, assembled.

use serde::{Deserialize, Serialize};

use crate::cluster::Registry;
use crate::resource::Resource;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// In the order the user sees them. Names are unique, `resource_deps` name resources of this list.
    pub resources: Vec<Resource>,
    pub settings: Settings,
    /// Told to the user, one line each; they stop nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub max_parallel_updates: u32,
    /// From `default_registry`; one that the cluster announces comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_registry: Option<Registry>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_parallel_updates: 3, default_registry: None }
    }
}
