//! Why an update does not start yet.

use lilt_model::{Failure, ResourceName};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hold", rename_all = "snake_case")]
pub enum Hold {
    /// Waits for a trigger by hand; `changed` if there is something to update with.
    Trigger { changed: bool },
    /// These have not been ready yet.
    Dependencies { on: Vec<ResourceName> },
    /// As many updates as allowed are running, or one that must run alone.
    Slot,
    /// The Tiltfile is being loaded and may change it.
    Tiltfile,
    /// Its files are not watched yet: a change to them could be missed.
    Files,
    /// The cluster has not answered yet.
    Cluster { failure: Option<Failure> },
    /// What it had deployed is being deleted.
    Cleanup,
    /// Its changes go into a container that is not running yet.
    Container,
}

impl Hold {
    /// Tilt's word for it (`waiting.reason` of a UIResource).
    pub fn reason(&self) -> &'static str {
        match self {
            Hold::Trigger { .. } => "waiting-for-trigger",
            Hold::Dependencies { .. } => "waiting-for-dep",
            Hold::Slot => "waiting-for-local",
            Hold::Tiltfile => "tiltfile-reload",
            Hold::Files => "reconciling",
            Hold::Cluster { .. } => "waiting-for-cluster",
            Hold::Container => "waiting-for-deploy",
            Hold::Cleanup => "reconciling",
        }
    }

    pub fn words(&self) -> String {
        match self {
            Hold::Trigger { changed: false } => "waiting for a trigger".into(),
            Hold::Trigger { changed: true } => "files changed; waiting for a trigger".into(),
            Hold::Dependencies { on } => {
                let names: Vec<&str> = on.iter().map(ResourceName::as_str).collect();
                format!("waiting for {}", names.join(", "))
            }
            Hold::Slot => "waiting for other updates to finish".into(),
            Hold::Tiltfile => "waiting for the Tiltfile".into(),
            Hold::Files => "waiting for its files to be watched".into(),
            Hold::Cluster { failure: None } => "waiting for the cluster".into(),
            Hold::Cluster { failure: Some(failure) } => {
                format!("waiting for the cluster: {}", failure.message)
            }
            Hold::Cleanup => "waiting until what it had deployed is deleted".into(),
            Hold::Container => "waiting for the container to run".into(),
        }
    }
}
