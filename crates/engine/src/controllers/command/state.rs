//! The state of each command.

use std::collections::BTreeMap;

use lilt_model::command::Command;
use lilt_model::probe::Probe;
use lilt_model::{ResourceName, Timestamp};
use serde::{Deserialize, Serialize, Serializer};

use crate::event::CommandExit;
use crate::owner::Owner;

/// The meaning of a command's exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExit {
    /// An error. Processes that it left running are stopped, and it is restarted if its resource requests
    /// that.
    Fail,
    /// Permitted. Processes that it left running are kept until the command is no longer wanted.
    Keep,
}

/// The specification of a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CommandSpec {
    pub(crate) command: Command,
    /// None: it is ready as soon as it runs.
    pub(crate) probe: Option<Probe>,
    pub(crate) on_exit: OnExit,
    /// Whose log it writes to.
    pub(crate) resource: Option<ResourceName>,
}

/// One start of a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CommandRun {
    /// The number of this start.
    pub(super) number: u64,
    /// The specification at its start.
    pub(super) spec: CommandSpec,
    /// The number of restarts after an exit.
    pub(super) restarts: u32,
    pub(super) phase: CommandPhase,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum CommandPhase {
    Starting,
    Running { pid: u32, since: Timestamp, readiness: Readiness },
    Ended { exit: CommandExit, at: Timestamp, ran: Option<Ran> },
}

/// A process that has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Ran {
    pub(super) pid: u32,
    pub(crate) since: Timestamp,
    /// It was ready when it ended.
    pub(super) ready: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Readiness {
    Ready,
    /// None: its probe has not reported yet.
    NotReady(Option<String>),
}

/// The commands that were started, by owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Commands {
    /// Boxed: a tree that grew in order is half empty.
    pub(super) runs: BTreeMap<Owner, Box<CommandRun>>,
}

impl Commands {
    pub(crate) fn get(&self, owner: &Owner) -> Option<&CommandRun> {
        self.runs.get(owner).map(Box::as_ref)
    }
}

impl Serialize for Commands {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.runs)
    }
}

impl CommandRun {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn phase(&self) -> &CommandPhase {
        &self.phase
    }

    /// Returns whether a probe decides about its readiness.
    pub(crate) fn has_probe(&self) -> bool {
        self.spec.probe.is_some()
    }

    pub(crate) fn running_since(&self) -> Option<Timestamp> {
        match &self.phase {
            CommandPhase::Running { since, .. } => Some(*since),
            CommandPhase::Starting | CommandPhase::Ended { .. } => None,
        }
    }

    /// Returns the ID of the running process; 0: none.
    pub(crate) fn pid(&self) -> u32 {
        match &self.phase {
            CommandPhase::Running { pid, .. } => *pid,
            CommandPhase::Starting | CommandPhase::Ended { .. } => 0,
        }
    }
}
