//! Settings of a Tiltfile that concern the session, not a resource.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command::Command;

/// Timeouts of `ci`. None: not set in the Tiltfile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiSettings {
    /// How long a pod may have errors before it counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k8s_grace_period: Option<Duration>,
    /// Timeout of the whole run. Defaults to that of the command line, or else to [`CiSettings::TIMEOUT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Timeout of a resource from its deployment until it is ready. Defaults to [`CiSettings::READINESS_TIMEOUT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_timeout: Option<Duration>,
}

impl CiSettings {
    pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);
    pub const READINESS_TIMEOUT: Duration = Duration::from_secs(5 * 60);
}

/// The settings of pruning: the removal of old images, built by lilt, from the local engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DockerPrune {
    pub enabled: bool,
    pub max_age_mins: i64,
    /// Prune after so many builds. 0: every `interval_hrs`.
    pub num_builds: i64,
    pub interval_hrs: i64,
    /// The number of newest tags of each image that are kept whatever their age.
    pub keep_recent: i64,
}

/// When old images are pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneSchedule {
    /// After this number of builds, at least 1.
    Builds(u64),
    Interval(Duration),
}

impl DockerPrune {
    /// Returns the age from which images are pruned. A negative age prunes all of them.
    pub fn max_age(&self) -> Duration {
        let minutes = u64::try_from(self.max_age_mins).unwrap_or(0);
        Duration::from_secs(minutes.saturating_mul(60))
    }

    /// Returns the schedule. With a negative number of builds or hours, Tilt prunes whenever it is idle, lilt after every
    /// build.
    pub fn schedule(&self) -> PruneSchedule {
        match (self.num_builds, self.interval_hrs) {
            (0, hours @ 0..) => {
                PruneSchedule::Interval(Duration::from_secs(hours.unsigned_abs().saturating_mul(3600)))
            }
            (builds @ 1.., _) => PruneSchedule::Builds(builds.unsigned_abs()),
            _ => PruneSchedule::Builds(1),
        }
    }

    /// Returns how many tags of each image are kept.
    pub fn keep_recent(&self) -> u32 {
        u32::try_from(self.keep_recent.max(0)).unwrap_or(u32::MAX)
    }
}

impl Default for DockerPrune {
    fn default() -> Self {
        Self { enabled: true, max_age_mins: 6 * 60, num_builds: 0, interval_hrs: 1, keep_recent: 2 }
    }
}

/// Whether the API server or this machine merges an applied object with the one in the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSideApply {
    #[default]
    Auto,
    /// `true` in the Tiltfile.
    Always,
    /// `false` in the Tiltfile.
    Never,
}

/// What to do about drift: objects that were deleted or changed in the cluster by others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftPolicy {
    /// Report it; the next update corrects it.
    #[default]
    Report,
    /// Correct it at once.
    Correct,
    /// Do not watch for it.
    Ignore,
}

/// A command that receives the measurements of a session periodically.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telemetry {
    pub command: Command,
    /// The directory of the Tiltfile that set it.
    pub directory: PathBuf,
    pub period: Duration,
}

impl Telemetry {
    pub const PERIOD: Duration = Duration::from_secs(60);
}

/// A feature flag of Tiltfiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    pub name: &'static str,
    /// The default.
    pub enabled: bool,
    /// Whether it has no effect any more.
    pub obsolete: bool,
}

/// Tilt's feature flags, by name.
pub const FEATURES: [Feature; 11] = [
    feature("bulk_disable_resources", false, true),
    feature("cluster_refresh", false, false),
    feature("disable_resources", true, true),
    feature("events", true, true),
    feature("facets", true, true),
    feature("labels", true, true),
    feature("live_update_v2", true, true),
    feature("multiple_containers_per_pod", true, true),
    feature("offline_snapshot_creation", true, true),
    feature("snapshots", true, false),
    feature("update_history", false, true),
];

const fn feature(name: &'static str, enabled: bool, obsolete: bool) -> Feature {
    Feature { name, enabled, obsolete }
}
