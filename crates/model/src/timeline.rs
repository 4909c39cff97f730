//! What each update did, and when: kept for the whole session, so the records are small.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One update of a resource, or one load of the Tiltfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct UpdateRecord {
    /// Its number; greater is later.
    pub update: u64,
    /// What caused it, in words.
    pub cause: String,
    /// When it began to wait for its turn, or to run where there was nothing to wait for.
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
    /// Somebody gave it up.
    Cancelled,
    /// Given up because newer changes came.
    Superseded,
}

/// A part of an update, or of what follows a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Stage {
    pub stage: StageKind,
    /// The image, the reference, the command …
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
    /// For its turn, or, while it runs, for an unreachable cluster.
    Wait,
    /// Of the Tiltfile.
    Load,
    Build,
    Push,
    Deploy,
    /// A local command.
    Run,
    /// From the save of a file to its being noticed.
    Detect,
    /// Files go to running containers …
    Send,
    /// … and are put in their places there.
    Write,
    /// A container's process is started anew.
    Restart,
    /// A container that was gone before the files were in it.
    Missed,
    /// The pod looks for a node.
    Schedule,
    /// The node fetches images.
    Pull,
    /// Containers are made and started.
    Start,
    /// From running to ready.
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

    /// `build web`
    pub fn words(&self) -> String {
        if self.detail.is_empty() {
            self.stage.word().to_owned()
        } else {
            format!("{} {}", self.stage.word(), self.detail)
        }
    }

    /// From here on the cluster is changed.
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
