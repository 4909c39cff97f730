//! The pure core of lilt: events change the state, and the plan is derived from the state.
//!
//! Four functions over [`State`]: [`apply`] applies an event, [`schedule`] chooses the updates to start,
//! [`plan`] returns the tasks that should be running, [`project`] makes the API objects that readers see.
//! There is no clock, no IO and no waiting here: every event carries its time, and the daemon runs the plan.
//! Only resources that an event touched are evaluated (see [`State::take_touched`]), so the cost of a turn
//! depends on the changes, not on the size of the project.

mod apply;
mod cause;
mod controllers;
mod describe;
mod dump;
mod event;
mod hold;
mod notices;
mod objects;
mod outage;
mod owner;
mod plan;
mod project;
mod prune;
mod record;
mod runtime;
mod schedule;
mod state;
mod task;
mod telemetry;
mod timeline;
mod verdict;

pub use apply::apply;
pub use cause::Cause;
pub use controllers::command::OnExit;
pub use controllers::log_stream::ContainerFilter;
pub use controllers::port_forward::ForwardSlot;
pub use dump::{all_notices, applied_objects, dump, notices};
pub use event::{
    AppliedObjects, BuiltReference, CommandExit, Deployed, Drift, Event, FileChanges, ForwardState,
    FoundCluster, ProvidedRepository, SyncFault, UpdateOutcome, WatchId,
};
pub use hold::{Dependency, Hold};
pub use notices::Notices;
pub use objects::{ANNOTATION_RESOURCE, has_controller, parse_bool, plan_object, project_object};
pub use outage::Outage;
pub use owner::Owner;
pub use plan::{Plan, plan, plan_resource, plan_session};
pub use project::{
    project_owner, project_resource, project_resource_objects, project_session, project_session_objects,
    project_targets,
};
pub use prune::PruneJob;
pub use record::{Entry, Recorder, replay};
pub use schedule::schedule;
pub use state::{FinishedUpdate, Mode, Note, Options, State, Touched};
pub use task::{
    ApplyJob, ApplySource, CleanupReason, ClusterSource, DeployJob, ForwardTarget, ImageJob, Inspection,
    Leftovers, LocalJob, RepositorySource, SyncJob, SyncTask, Task, TaskId, UpdateJob,
};
pub use telemetry::{TelemetryJob, UsageSpan};
pub use verdict::{Verdict, verdict};
