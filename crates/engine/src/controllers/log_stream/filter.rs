//! Which containers of a pod.

use lilt_api::Object;
use serde::{Deserialize, Serialize};

/// Selects containers by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerFilter {
    /// Empty: all of them.
    pub only: Vec<String>,
    pub ignored: Vec<String>,
}

impl ContainerFilter {
    /// As a `PodLogStream` says.
    pub fn of(object: &Object) -> Self {
        Self { only: object.texts("/spec/onlyContainers"), ignored: object.texts("/spec/ignoreContainers") }
    }

    pub fn matches(&self, container: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == container);
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.ignored)
    }
}
