//! Requests of users and scripts to a running session.

use serde::{Deserialize, Serialize};

use crate::names::ResourceName;
use crate::resource::TriggerMode;

/// Who triggered an update: flags of Tilt's `build_reason`, which its `tilt-trigger-queue` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TriggerReason(u32);

impl TriggerReason {
    pub const WEB: Self = Self(16);
    pub const CLI: Self = Self(32);
    pub const TERMINAL: Self = Self(64);
    const UNKNOWN: Self = Self(128);

    /// Returns the reason of an update that was triggered for both.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flags as Tilt shows them. Without a sender the reason is unknown.
    pub fn code(self) -> u32 {
        let senders = Self::WEB.0 | Self::CLI.0 | Self::TERMINAL.0 | Self::UNKNOWN.0;
        if self.0 & senders == 0 { Self::UNKNOWN.0 } else { self.0 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Update this resource now, whether or not anything changed.
    Trigger {
        resource: ResourceName,
        #[serde(default)]
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        reason: TriggerReason,
    },
    /// Cancel the running update. Its changes stay pending until the next save or trigger.
    Cancel { resource: ResourceName },
    /// Enable and disable resources. What a disabled resource deployed or started is deleted or stopped.
    Switch { enable: Vec<ResourceName>, disable: Vec<ResourceName> },
    /// Override the trigger mode of the Tiltfile for the rest of the session.
    SetTriggerMode { resources: Vec<ResourceName>, mode: TriggerMode },
    /// Change the arguments of the Tiltfile, and reload it.
    SetArgs { args: Vec<String> },
    /// Probe all unreachable dependencies now, without waiting for the next scheduled attempt.
    Reconnect,
}
