//! Port forwards: of resources, and of `PortForward` objects.

mod plan;
mod reconcile;
mod state;
mod status;
mod target;

pub(crate) use plan::plan;
pub(crate) use reconcile::{broke, changed, forget, reconcile};
pub use state::ForwardSlot;
pub(crate) use state::PortForwards;
pub(crate) use status::{failures, statuses};
pub(crate) use target::{forward_target, target_among};
