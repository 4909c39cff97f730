//! A local resource's life.

use lilt_model::Timestamp;
use serde::Serialize;

use super::Changes;
use crate::event::CommandExit;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LocalState {
    /// Changes that no finished update has seen.
    pub(crate) changes: Changes,
    /// The last run of the command that updates it.
    pub(crate) command: Option<UpdateCommand>,
}

/// A command of an update: it was run to its end, or runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct UpdateCommand {
    /// Whose it is.
    pub(crate) update: u64,
    /// 0: it could not be started.
    pub(crate) pid: u32,
    pub(crate) since: Timestamp,
    pub(crate) ended: Option<(Timestamp, CommandExit)>,
}
