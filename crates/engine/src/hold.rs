//! Holds: the reasons why an update has not started.

use lilt_model::{Failure, ImageName, ResourceName, Unreachable};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hold", rename_all = "snake_case")]
pub enum Hold {
    /// It waits for a manual trigger. `changed`: there are pending changes; `files`: the number of changed
    /// files.
    Trigger {
        changed: bool,
        #[serde(default)]
        files: usize,
    },
    /// These dependencies have never been ready.
    Dependencies { on: Vec<Dependency> },
    /// The maximum number of updates is running, or one that must run alone. `alone`: this one must run
    /// alone.
    Slot { alone: bool },
    /// The Tiltfile is being loaded and may change it.
    Tiltfile,
    /// Its files are not watched yet: a change to them could be missed.
    Files,
    /// The cluster has not answered yet.
    Cluster { failure: Option<Failure> },
    /// Its last update failed because this dependency was unreachable.
    Outage { unreachable: Unreachable, message: String },
    /// `uncategorized`, which carries namespaces and definitions, is being deployed.
    Uncategorized,
    /// Another resource builds an image that this one needs, too.
    Image { image: ImageName, resource: ResourceName },
    /// The command of a local resource writes files that its images are built from.
    Producing { by: ResourceName },
    /// Its former deployment is being deleted.
    Cleanup,
    /// Its changes are for a container that is not running yet.
    Container,
    /// Its updates write files that it watches, so each caused the next.
    Loop { updates: u32, files: Vec<String> },
}

/// A resource that another waits for, and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    pub name: ResourceName,
    /// `updating`, `starting: pod db-0: ContainerCreating` …
    pub state: String,
}

impl Hold {
    /// Returns Tilt's `waiting.reason` of a UIResource, if it has one.
    pub fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Hold::Dependencies { .. } | Hold::Producing { .. } => "waiting-for-dep",
            Hold::Slot { alone: true } => "is-unparallelizable-local",
            Hold::Slot { alone: false } => "waiting-for-local",
            Hold::Tiltfile => "tiltfile-reload",
            Hold::Cluster { .. } => "waiting-for-cluster",
            Hold::Uncategorized => "waiting-for-uncategorized",
            Hold::Image { .. } => "building-component",
            Hold::Container => "waiting-for-deploy",
            Hold::Outage { unreachable: Unreachable::Cluster, .. } => "waiting-for-cluster",
            Hold::Files | Hold::Cleanup | Hold::Outage { .. } => "reconciling",
            Hold::Trigger { .. } | Hold::Loop { .. } => return None,
        })
    }

    pub fn words(&self) -> String {
        match self {
            Hold::Trigger { changed: false, .. } => "waiting for a trigger".into(),
            Hold::Trigger { changed: true, files: 0 } => "definition changed; waiting for a trigger".into(),
            Hold::Trigger { changed: true, files: 1 } => "1 file changed; waiting for a trigger".into(),
            Hold::Trigger { changed: true, files } => format!("{files} files changed; waiting for a trigger"),
            Hold::Dependencies { on } => {
                let names: Vec<String> = on.iter().map(|it| format!("{} ({})", it.name, it.state)).collect();
                format!("waiting for {}", names.join(", "))
            }
            Hold::Slot { alone: true } => "waiting for other updates to finish: it must run alone".into(),
            Hold::Slot { alone: false } => "waiting for other updates to finish".into(),
            Hold::Tiltfile => "waiting for the Tiltfile".into(),
            Hold::Files => "waiting for its files to be watched".into(),
            Hold::Cluster { failure: None } => "waiting for the cluster".into(),
            Hold::Cluster { failure: Some(failure) } => {
                format!("waiting for the cluster: {}", failure.message)
            }
            Hold::Outage { unreachable, message } => format!("waiting for {unreachable}: {message}"),
            Hold::Uncategorized => "waiting for uncategorized to be deployed".into(),
            Hold::Image { image, resource } => {
                format!("waiting for the image {image}, which is being built for {resource}")
            }
            Hold::Producing { by } => {
                format!("waiting for {by}, which writes files that its images are built from")
            }
            Hold::Cleanup => "waiting until what it had deployed is deleted".into(),
            Hold::Container => "waiting for the container to run".into(),
            Hold::Loop { updates, files } => format!(
                "held: {updates} updates in a row changed files that it watches ({}); name them in ignore=[…], \
                 then trigger it or save another file",
                files.join(", ")
            ),
        }
    }

    /// Returns a short form without details of other resources, for dependents of this one.
    pub(crate) fn brief(&self) -> String {
        match self {
            Hold::Dependencies { on } => {
                let names: Vec<&str> = on.iter().map(|it| it.name.as_str()).collect();
                format!("waiting for {}", names.join(", "))
            }
            Hold::Loop { .. } => "held: its updates cause one another".into(),
            other => other.words(),
        }
    }
}
