//! One controller per concern, whichever owner requests it: see [`Owner`](crate::Owner).
//!
//! Each has the roles it needs: `state` (private to the controller), `reconcile` (events and specifications become
//! state), `plan` (state becomes tasks), `status` (what readers see). A controller does not reach into another one.

pub(crate) mod command;
pub(crate) mod file_watch;
pub(crate) mod live_update;
pub(crate) mod log_stream;
pub(crate) mod port_forward;
