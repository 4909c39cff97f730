//! The Tiltfile's own life.

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
    /// What its resources are labelled with, beside their own.
    pub(crate) labels: Vec<String>,
    /// What its object says beside: what loads it anew, and what stops that.
    pub(crate) triggers: Triggers,
    #[serde(skip)]
    pub(crate) secrets: Vec<Secret>,
    /// The load that runs.
    pub(crate) loading: Option<Load>,
    /// Watches what the last load read: a change asks for another.
    pub(crate) watch: FileWatch,
    /// Changes that no finished load has seen.
    pub(crate) changes: Changes,
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

/// What loads a Tiltfile, and stops that, beside changes to what it read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Triggers {
    /// The specification that names them, without the watch of what it read.
    pub(crate) spec: TiltfileSpec,
    /// What of it has been followed.
    pub(crate) followed: objects::Triggers,
    pub(crate) stopped: Option<Timestamp>,
    /// Changes to what it read load it anew.
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
    /// What it does, once it takes long.
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
