//! The state of a local resource.

use lilt_model::Timestamp;
use serde::Serialize;

use super::Changes;
use crate::event::CommandExit;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LocalState {
    /// Changes that no finished update has covered.
    pub(crate) changes: Changes,
    /// The last run of the command that updates it.
    pub(crate) command: Option<UpdateCommand>,
}

/// A command of an update, running or ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct UpdateCommand {
    /// Whose it is.
    pub(crate) update: u64,
    /// The process ID; 0: it could not be started.
    pub(crate) pid: u32,
    pub(crate) since: Timestamp,
    pub(crate) ended: Option<(Timestamp, CommandExit)>,
}
