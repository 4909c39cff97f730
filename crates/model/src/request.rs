//! What people and scripts ask of a running session.

use serde::{Deserialize, Serialize};

use crate::names::ResourceName;
use crate::resource::TriggerMode;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Update this resource now, whether or not anything changed.
    Trigger { resource: ResourceName },
    /// Give up the update that runs; what it had not done stays pending until the next save or trigger.
    Cancel { resource: ResourceName },
    /// Switch resources on and off: what a disabled one had deployed or started goes away.
    Switch { enable: Vec<ResourceName>, disable: Vec<ResourceName> },
    /// Whether saves update these by themselves, whatever the Tiltfile says; lasts as long as the session.
    SetTriggerMode { resources: Vec<ResourceName>, mode: TriggerMode },
    /// Load the Tiltfile with these arguments from now on.
    SetArgs { args: Vec<String> },
    /// Probe everything that is unreachable now, without waiting for the next scheduled attempt.
    Reconnect,
}
