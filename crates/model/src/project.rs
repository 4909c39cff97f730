//! The result of loading a Tiltfile.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::files::IgnoreRule;
use crate::names::ResourceName;
use crate::registry::Registry;
use crate::resource::Resource;
use crate::secret::Secret;
use crate::settings::{CiSettings, DockerPrune, DriftPolicy, ServerSideApply, Telemetry};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// In display order. Names are unique, and `resource_deps` name resources of this list.
    pub resources: Vec<Resource>,
    pub settings: Settings,
    /// Warnings for the user, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The enabled resources with their dependencies, in order. None: all resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<Vec<ResourceName>>,
    /// API objects (`v1alpha1.*`), in the order of the calls. Names are unique within a kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_objects: Vec<serde_json::Value>,
    /// Values to redact. Empty if the Tiltfile disables redaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Secret>,
}

impl Project {
    pub fn is_enabled(&self, name: &ResourceName) -> bool {
        self.enabled.as_ref().is_none_or(|enabled| enabled.contains(name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub max_parallel_updates: u32,
    /// From `default_registry`. A registry that the cluster announces takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_registry: Option<Registry>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub server_side_apply: ServerSideApply,
    /// Whether lilt's agent may be added to containers, unless a resource specifies it.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub live_update_agent: bool,
    /// The default of [`Resource::cascade`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub cascade: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub drift: DriftPolicy,
    /// Unused images without a warning; `*` means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppress_unused_image_warnings: Vec<String>,
    /// From `watch_settings`. Already included in all file sets of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch_ignores: Vec<IgnoreRule>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ci: CiSettings,
    #[serde(default, skip_serializing_if = "is_default")]
    pub docker_prune: DockerPrune,
    /// Whether the Tiltfile enables analytics, which lilt does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analytics: Option<bool>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub analytics_tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
    /// The [`FEATURES`](crate::settings::FEATURES) that the Tiltfile enables or disables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub features: BTreeMap<String, bool>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// Whether users are notified of newer versions.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub check_updates: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_parallel_updates: 3,
            default_registry: None,
            server_side_apply: ServerSideApply::default(),
            live_update_agent: true,
            cascade: false,
            drift: DriftPolicy::default(),
            suppress_unused_image_warnings: Vec::new(),
            watch_ignores: Vec::new(),
            ci: CiSettings::default(),
            docker_prune: DockerPrune::default(),
            analytics: None,
            analytics_tags: BTreeMap::new(),
            telemetry: None,
            features: BTreeMap::new(),
            team: String::new(),
            check_updates: true,
        }
    }
}

fn yes() -> bool {
    true
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
