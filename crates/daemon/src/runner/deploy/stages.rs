//! Records the stages of one image: the steps of its build, and its delivery.

use std::collections::HashMap;

use lilt_docker::{BuildProgress, StepId};
use lilt_host::clock;
use lilt_model::image::{BuildRecord, BuildStage};
use lilt_model::{Failure, ImageName, Timestamp};

#[derive(Debug, Default)]
pub(crate) struct Stages {
    all: Vec<BuildStage>,
    indexes: HashMap<StepId, usize>,
}

impl Stages {
    pub(crate) fn record(&mut self, progress: &BuildProgress) {
        match progress {
            BuildProgress::Started { step, name, at } => {
                let at = at.unwrap_or_else(clock::now);
                // BuildKit starts a step again to add details.
                if !self.indexes.contains_key(step) {
                    self.indexes.insert(step.clone(), self.all.len());
                    self.begin(name, at);
                }
            }
            BuildProgress::Finished { step, cached, at, error, .. } => {
                if let Some(stage) = self.indexes.get(step).and_then(|index| self.all.get_mut(*index)) {
                    let at = at.unwrap_or_else(clock::now);
                    stage.ended = stage.ended.max(Some(at));
                    stage.cached = *cached;
                    stage.error.clone_from(error);
                }
            }
            BuildProgress::Log { .. } | BuildProgress::Advanced { .. } | BuildProgress::Warning { .. } => {}
        }
    }

    fn begin(&mut self, name: &str, began: Timestamp) {
        self.all.push(BuildStage { name: name.to_owned(), cached: false, began, ended: None, error: None });
    }

    /// Begins a stage that no builder reports. It lasts until [`Stages::finish`].
    pub(crate) fn begin_own(&mut self, name: &str) {
        self.begin(name, clock::now());
    }

    /// Returns the record of an image that is built or has failed, and resets the stages for the next one.
    pub(crate) fn finish(
        &mut self,
        image: &ImageName,
        began: Timestamp,
        failure: Option<&Failure>,
    ) -> BuildRecord {
        let ended = clock::now();
        let error = failure.map(ToString::to_string);
        let mut stages = std::mem::take(self).all;
        for stage in stages.iter_mut().filter(|stage| stage.ended.is_none()) {
            stage.ended = Some(ended);
            stage.error.clone_from(&error);
        }
        BuildRecord { image: image.clone(), began, ended, stages, error }
    }
}
