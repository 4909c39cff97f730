//! The state of a Tiltfile.

use std::collections::VecDeque;
use std::path::PathBuf;

use lilt_api::TiltfileSpec;
use lilt_model::secret::Secret;
use lilt_model::{Failure, Timestamp};
use serde::Serialize;

use super::Changes;
use super::looping::Looping;
use super::resource::{FinishedUpdate, HISTORY};
use crate::cause::Cause;
use crate::controllers::file_watch::FileWatch;
use crate::hold::Hold;
use crate::objects;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct TiltfileState {
    /// Absolute.
    pub(crate) path: PathBuf,
    /// Labels that are added to its resources.
    pub(crate) labels: Vec<String>,
    /// The triggers of its object that reload it and stop its load.
    pub(crate) triggers: Triggers,
    #[serde(skip)]
    pub(crate) secrets: Vec<Secret>,
    /// The load that runs.
    pub(crate) loading: Option<Load>,
    /// The watch of the files that the last load read. A change requests another load.
    pub(crate) watch: FileWatch,
    /// Changes that no finished load has covered.
    pub(crate) changes: Changes,
    /// A manual trigger.
    pub(crate) triggered: bool,
    /// The arguments.
    pub(crate) args: Vec<String>,
    /// The arguments changed since the last successful load: the resources it enables apply again.
    pub(crate) args_changed: bool,
    /// A load has succeeded once.
    pub(crate) loaded: bool,
    pub(crate) failure: Option<Failure>,
    pub(crate) warnings: Vec<String>,
    pub(crate) history: VecDeque<FinishedUpdate>,
    pub(crate) looping: Looping,
    /// The reason why changes of its files do not reload it.
    pub(crate) hold: Option<Hold>,
}

/// The triggers that reload a Tiltfile and stop its load, besides changes of the files it read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Triggers {
    /// The specification that names them, without the watch of what it read.
    pub(crate) spec: TiltfileSpec,
    /// The triggers that were handled.
    pub(crate) followed: objects::Triggers,
    pub(crate) stopped: Option<Timestamp>,
    /// Changes of the files it read reload it.
    pub(crate) follows_files: bool,
}

impl Default for Triggers {
    fn default() -> Self {
        Self {
            spec: TiltfileSpec::default(),
            followed: objects::Triggers::default(),
            stopped: None,
            follows_files: true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Load {
    pub(crate) id: u64,
    pub(crate) cause: Cause,
    pub(crate) started: Timestamp,
    /// The activity of a load that takes long.
    pub(crate) activity: Option<String>,
}

impl TiltfileState {
    pub(crate) fn remember(&mut self, finished: FinishedUpdate) {
        self.history.push_back(finished);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }
}
