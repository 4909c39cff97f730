//! Watched files: of Tiltfiles, of resources, and of `FileWatch` objects.
//!
//! Each watch remembers the last saves, for its `FileWatch` and for what is restarted by saves. What a save means for
//! builds, commands and live updates is decided by their owners.

mod object;
mod plan;
mod reconcile;
mod state;
mod status;

pub(crate) use object::{forget as forget_object, reconcile as reconcile_object};
pub(crate) use plan::{plan, task};
pub(crate) use reconcile::{changed, changes_lost, troubled, watching};
pub(crate) use state::{FileEvents, FileWatch, FileWatches};
pub(crate) use status::status;
