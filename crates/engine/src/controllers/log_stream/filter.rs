//! The containers of a pod whose logs are read.

use lilt_api::PodLogStreamSpec;
use serde::{Deserialize, Serialize};

/// Selects containers by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerFilter {
    /// Empty: all of them.
    pub only: Vec<String>,
    pub ignored: Vec<String>,
}

impl From<&PodLogStreamSpec> for ContainerFilter {
    fn from(spec: &PodLogStreamSpec) -> Self {
        Self { only: spec.only_containers.clone(), ignored: spec.ignore_containers.clone() }
    }
}

impl ContainerFilter {
    pub fn matches(&self, container: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == container);
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.ignored)
    }
}
