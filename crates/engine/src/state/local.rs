//! A local resource's life.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lilt_model::Timestamp;
use lilt_model::command::Command;

use crate::event::ServeExit;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LocalState {
    /// Changes that no finished update has seen.
    pub(crate) changes: BTreeMap<PathBuf, u64>,
    pub(crate) serve: Option<Serve>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Serve {
    /// Every start has its own number.
    pub(crate) generation: u64,
    /// As it was when it was started.
    pub(crate) command: Command,
    pub(crate) state: ServeState,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServeState {
    Starting,
    Running { pid: u32, since: Timestamp },
    Ended { exit: ServeExit, at: Timestamp },
}
