//! The Tiltfile's own life.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use lilt_model::files::{Contents, FileSet};
use lilt_model::{Failure, Timestamp};
use serde::Serialize;

use super::looping::Looping;
use super::resource::{FinishedUpdate, HISTORY};
use crate::cause::Cause;
use crate::hold::Hold;
use crate::objects::FileEvents;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct TiltfileState {
    /// The load that runs.
    pub(crate) loading: Option<Load>,
    /// What the last load read: a change asks for another.
    pub(crate) files: FileSet,
    /// Grows when the files become others.
    pub(crate) watch_version: u64,
    /// What these files held when they were first read.
    pub(crate) contents: Contents,
    pub(crate) events: FileEvents,
    /// Changes that no finished load has seen.
    pub(crate) changes: BTreeMap<PathBuf, u64>,
    /// Asked for by hand.
    pub(crate) triggered: bool,
    /// What it is loaded with.
    pub(crate) args: Vec<String>,
    /// They are others than those of the last load that succeeded: what it enables counts again.
    pub(crate) args_changed: bool,
    /// A load has succeeded once.
    pub(crate) loaded: bool,
    pub(crate) failure: Option<Failure>,
    pub(crate) warnings: Vec<String>,
    pub(crate) history: VecDeque<FinishedUpdate>,
    pub(crate) looping: Looping,
    /// Why changes to its files do not load it.
    pub(crate) hold: Option<Hold>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Load {
    pub(crate) id: u64,
    pub(crate) cause: Cause,
    pub(crate) started: Timestamp,
}

impl TiltfileState {
    pub(crate) fn remember(&mut self, finished: FinishedUpdate) {
        self.history.push_back(finished);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }
}
