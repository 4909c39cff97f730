//! The spec of a resource.

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::compose::ComposeResource;
use crate::files::FileSet;
use crate::kubernetes::KubernetesResource;
use crate::names::ResourceName;
use crate::probe::Probe;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Resources that must have been ready once before the first update.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_deps: Vec<ResourceName>,
    pub trigger_mode: TriggerMode,
    /// Whether it is updated when the session starts.
    pub auto_init: bool,
    /// Whether an update of one of `resource_deps` also updates this resource.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cascade: bool,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Local(LocalResource),
    Kubernetes(KubernetesResource),
    Compose(ComposeResource),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalResource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Command>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serve: Option<Command>,
    /// A change to one of these files runs `update` and restarts `serve`.
    pub files: FileSet,
    pub allow_parallel: bool,
    /// The readiness probe of `serve`. Without one it is ready when it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
    /// Whether `serve` is restarted, with a growing delay, when it exits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub restart: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TriggerMode {
    #[default]
    Auto,
    /// File changes wait for a trigger.
    Manual,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
