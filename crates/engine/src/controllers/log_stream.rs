//! Logs of pods: of those of a resource, with what happens to them, and of those that `PodLogStream` objects name.
//!
//! How far a log was read is known to its runner alone, so there is no state here.

mod filter;
mod plan;
mod status;

pub use filter::ContainerFilter;
pub(crate) use plan::plan;
pub(crate) use status::{container_statuses, status};
