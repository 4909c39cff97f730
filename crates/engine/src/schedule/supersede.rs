//! Cancels updates that a newer save has made obsolete, where that is safe.
//!
//! Files written by the session's own commands do not count: the first build of a resource continues.

use lilt_model::log::Level;
use lilt_model::timeline::StageKind;
use lilt_model::{ImageName, ResourceName, Timestamp};

use super::producers;
use crate::state::{RunningUpdate, State, UpdateKind};
use crate::task::{ImageJob, UpdateJob};
use crate::timeline::{Outcome, record_end};

/// The maximum number of cancelled updates in a row. Then one runs to its end, or frequent saves would
/// prevent any result.
const AT_MOST: u32 = 3;

/// Handles change number `sequence`, of files that were written at this time. They are inputs of `image`.
pub(crate) fn files_changed(
    state: &mut State,
    name: &ResourceName,
    image: Option<&ImageName>,
    sequence: u64,
    written: Option<Timestamp>,
) {
    let Some(resource) = state.resources.get(name) else { return };
    let is_first = resource.update.as_ref().map_or(!resource.started_once, |it| it.before.is_first());
    let is_produced =
        is_first && resource.kubernetes().is_some() && producers::note_change(state, name, written);
    let Some(resource) = state.resources.get_mut(name) else { return };
    let Some(update) = resource.update.as_mut().filter(|update| sequence > update.snapshot) else { return };
    if image.is_some_and(|image| has_not_read(update, image)) {
        update.snapshot = sequence;
        resource.attempted = resource.attempted.max(sequence);
        return;
    }
    if !is_produced {
        give_up_outdated(state, name);
    }
}

/// Returns whether the update builds the image and has not read its inputs yet, because it waits for their
/// changes to be reported.
fn has_not_read(update: &RunningUpdate, image: &ImageName) -> bool {
    let UpdateKind::Job(job) = &update.kind else { return false };
    let UpdateJob::Deploy(job) = &**job else { return false };
    let is_built = |it: &ImageJob| matches!(it, ImageJob::Build(target) if target.name == *image);
    let has_begun = update.stages.iter().any(|stage| stage.stage != StageKind::Detect);
    job.follows_command && job.images.iter().any(is_built) && !has_begun
}

/// Cancels the update of a resource whose files changed, if its builds are outdated and its deployment has
/// not begun. A local command is never cancelled: its effects so far are unknown.
pub(crate) fn give_up_outdated(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get_mut(name) else { return };
    if !resource.is_automatic() || resource.superseded >= AT_MOST {
        return;
    }
    let is_building = resource.update.as_ref().is_some_and(|update| {
        // A deploy command may run already if no image is built before it.
        let is_built = |image: &ImageJob| matches!(image, ImageJob::Build(_));
        let builds = match &update.kind {
            UpdateKind::Job(job) => {
                matches!(&**job, UpdateJob::Deploy(job) if job.images.iter().any(is_built))
            }
            UpdateKind::Live(_) => false,
        };
        builds && !update.stages.iter().any(|stage| stage.is_deployment())
    });
    if !is_building {
        return;
    }
    let Some(update) = resource.update.take() else { return };
    resource.superseded += 1;
    resource.restore(&update.before);
    state.updating.remove(name);
    if update.before.triggered.is_some() {
        state.touch_session();
    }
    record_end(state, name, &update, Outcome::Superseded, None);
    state.note(name, Level::Info, "Files changed during the build: building the new version");
    state.touch(name);
}
