//! One task for each container, with the job that it has.

use lilt_model::ContainerId;
use lilt_model::ResourceName;
use lilt_model::files::FileSet;
use lilt_model::image::LiveUpdate;

use super::state::SyncContainer;
use super::{object, resource};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{SyncJob, SyncTask, Task};

/// What all containers of one image, or of one object, have in common.
pub(super) struct SyncPlan {
    pub(super) live_update: LiveUpdate,
    /// lilt's agent must not come into them.
    pub(super) without_agent: bool,
    /// No files, but what is ignored where all synced files are copied.
    pub(super) ignored: FileSet,
    /// Whose log they write to.
    pub(super) resource: ResourceName,
    pub(super) unattended: bool,
}

/// The tasks of the live updates of one owner.
pub(crate) fn plan(state: &State, owner: &Owner) -> Plan {
    match owner {
        Owner::Resource(name) => resource::plan(state, owner, name),
        Owner::Object(key) => object::plan(state, owner, key),
    }
}

impl SyncPlan {
    pub(super) fn task(&self, owner: &Owner, id: &ContainerId, container: &SyncContainer) -> Task {
        let job = container.job.as_ref().map(|job| SyncJob {
            update: job.run,
            cause: job.cause.clone(),
            paths: job.paths.clone(),
            everything: job.everything.then(|| self.ignored.clone()),
        });
        let task = SyncTask {
            pod: container.pod.clone(),
            container: container.name.clone(),
            id: id.clone(),
            agent: container.agent,
            without_agent: self.without_agent,
            live_update: self.live_update.clone(),
            given_up: container.given_up,
            unattended: self.unattended,
            job,
        };
        Task::Sync { owner: owner.clone(), resource: self.resource.clone(), task: Box::new(task) }
    }
}
