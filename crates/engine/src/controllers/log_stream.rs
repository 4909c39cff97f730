//! Logs of pods: those of a resource, together with the pods' startup and notices, and those that
//! `PodLogStream` objects name.
//!
//! Only the runner knows the position in a log, so there is no state here.

mod filter;
mod plan;
mod status;

pub use filter::ContainerFilter;
pub(crate) use plan::plan;
pub(crate) use status::{container_statuses, status};
