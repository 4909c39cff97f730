//! A local resource's life.

use lilt_model::Timestamp;
use lilt_model::command::Command;
use lilt_model::probe::Probe;
use serde::Serialize;

use super::Changes;
use crate::event::ServeExit;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LocalState {
    /// Changes that no finished update has seen.
    pub(crate) changes: Changes,
    pub(crate) serve: Option<Box<Serve>>,
    /// The last run of the command that updates it.
    pub(crate) command: Option<CommandRun>,
}

/// A command that was run to its end, or runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CommandRun {
    /// Whose it is.
    pub(crate) update: u64,
    /// 0: it could not be started.
    pub(crate) pid: u32,
    pub(crate) since: Timestamp,
    pub(crate) ended: Option<(Timestamp, ServeExit)>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Serve {
    /// Every start has its own number.
    pub(crate) generation: u64,
    /// As it was when it was started.
    pub(crate) command: Command,
    /// As it was when it was started. None: it counts as ready as soon as it runs.
    pub(crate) probe: Option<Probe>,
    /// How often it was started again because it had ended.
    pub(crate) restarts: u32,
    /// When it began to run.
    pub(crate) started: Option<Timestamp>,
    /// Of what runs or ran; 0: nothing did.
    pub(crate) pid: u32,
    /// Whether it was ready when it ended.
    pub(crate) was_ready: bool,
    pub(crate) state: ServeState,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum ServeState {
    Starting,
    /// `probed` is what its probe has found out; without a probe nothing ever sets it.
    Running {
        pid: u32,
        since: Timestamp,
        probed: Option<Probed>,
    },
    Ended {
        exit: ServeExit,
        at: Timestamp,
    },
}

/// What a probe last found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Probed {
    pub(crate) ready: bool,
    /// Why the last attempts failed, if they did.
    pub(crate) cause: Option<String>,
}
