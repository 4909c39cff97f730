//! Commands that run for as long as they are wanted: servers of local resources, and `Cmd` objects.
//!
//! Owners decide when to start and stop one: a resource with its updates, an object with its specification
//! and the objects that it names. Commands that belong to an update end with it and are not handled here.

mod plan;
mod reconcile;
mod restart;
mod state;
mod status;

pub(crate) use plan::plan;
pub(crate) use reconcile::{broke, ended, probe_broke, probed, refuse, start, started, stop};
pub(crate) use restart::{restart_at, restart_if_due};
pub use state::OnExit;
pub(crate) use state::{CommandPhase, CommandRun, CommandSpec, Commands, Readiness};
pub(crate) use status::{api_pid, status, terminated, waiting};
