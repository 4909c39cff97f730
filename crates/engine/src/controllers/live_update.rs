//! Live updates: changed files go into running containers, without a build.
//!
//! A resource updates the containers of its images, an object the containers that its selector finds. Each container has
//! a task that keeps its connection; what it lacks is given to that task as a job. Which files count, and when jobs begin,
//! is decided in [`resource`] and [`object`]; the rest is the same for both.

mod object;
mod plan;
mod reconcile;
mod resource;
mod selector;
mod state;
mod status;

pub(crate) use object::{
    begin_touched as begin_touched_objects, forget as forget_object, reconcile as reconcile_object,
    retry as retry_object, touch_all as touch_objects,
};
pub(crate) use plan::plan;
pub(crate) use reconcile::{broke, stage_began, synced};
pub(crate) use resource::{
    LiveUpdateRun, NeededSync, begin, cancel, drop_missing_jobs, follow_containers, needed_sync,
};
pub(crate) use state::{LiveUpdates, SyncContainer, SyncContainers};
pub(crate) use status::{object_status, running_container, waiting_container};
