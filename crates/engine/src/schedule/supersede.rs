//! An update that a newer save made useless is given up, where that is safe.

use lilt_model::ResourceName;
use lilt_model::log::Level;

use crate::state::{State, UpdateKind};
use crate::task::{ImageJob, UpdateJob};
use crate::timeline::{Outcome, record_end};

/// So many times in a row; then one is let through, or who saves again and again would never see anything.
const AT_MOST: u32 = 3;

/// Looks at a resource whose files changed. Images are built from what is outdated then, and nothing has reached the
/// cluster before the deployment begins. A local command is never cut off: nobody knows what it has done so far.
pub(crate) fn give_up_outdated(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get_mut(name) else { return };
    if !resource.is_automatic() || resource.superseded >= AT_MOST {
        return;
    }
    let is_building = resource.update.as_ref().is_some_and(|update| {
        // A command that deploys may run already where nothing is built before it.
        let is_built = |image: &ImageJob| matches!(image, ImageJob::Build(_));
        let builds = match &update.kind {
            UpdateKind::Job(job) => {
                matches!(&**job, UpdateJob::Deploy(job) if job.images.iter().any(is_built))
            }
            UpdateKind::Live => false,
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
    state.note(name, Level::Info, "Update given up: newer changes came before anything was deployed");
    state.touch(name);
}
