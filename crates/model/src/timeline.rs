//! Records of what each update did, and when. They are kept for the whole session, so they are small.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One update of a resource, or one load of the Tiltfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct UpdateRecord {
    /// The number of the update; later ones have greater numbers.
    pub update: u64,
    /// What caused it, as text.
    pub cause: String,
    /// When it began to wait for an update slot, or to run if it did not wait.
    pub begin: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub stages: Vec<Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Running,
    Ok,
    Failed,
    /// Somebody cancelled it.
    Cancelled,
    /// Cancelled because of newer changes.
    Superseded,
}

/// A stage of an update, or of the rollout that follows a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Stage {
    pub stage: StageKind,
    /// The image, the reference, or the command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    pub begin: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// Waiting for an update slot or, during the update, for an unreachable cluster.
    Wait,
    /// Loading the Tiltfile.
    Load,
    Build,
    Push,
    Deploy,
    /// Running a local command.
    Run,
    /// From the save of a file until the change is detected.
    Detect,
    /// Sending files to running containers.
    Send,
    /// Writing the files in the containers.
    Write,
    /// Restarting the process of a container.
    Restart,
    /// A container that ended before the files were written.
    Missed,
    /// Scheduling the pod on a node.
    Schedule,
    /// Pulling images on the node.
    Pull,
    /// Creating and starting containers.
    Start,
    /// From running until ready.
    Ready,
}

impl StageKind {
    pub fn word(self) -> &'static str {
        match self {
            StageKind::Wait => "wait",
            StageKind::Load => "load",
            StageKind::Build => "build",
            StageKind::Push => "push",
            StageKind::Deploy => "deploy",
            StageKind::Run => "run",
            StageKind::Detect => "detect",
            StageKind::Send => "send",
            StageKind::Write => "write",
            StageKind::Restart => "restart",
            StageKind::Missed => "missed",
            StageKind::Schedule => "schedule",
            StageKind::Pull => "pull",
            StageKind::Start => "start",
            StageKind::Ready => "ready",
        }
    }
}

impl Stage {
    pub fn new(stage: StageKind, detail: impl Into<String>, begin: Timestamp) -> Self {
        Self { stage, detail: detail.into(), begin, end: None }
    }

    /// Formats the stage and its detail: `build web`.
    pub fn words(&self) -> String {
        if self.detail.is_empty() {
            self.stage.word().to_owned()
        } else {
            format!("{} {}", self.stage.word(), self.detail)
        }
    }

    /// Returns whether the stage changes the cluster.
    pub fn is_deployment(&self) -> bool {
        self.stage == StageKind::Deploy
    }
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Running => "running",
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
            Outcome::Superseded => "superseded",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
