//! What people and scripts ask of a running session.

use serde::{Deserialize, Serialize};

use crate::names::ResourceName;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Update this resource now, whether or not anything changed.
    Trigger { resource: ResourceName },
}
