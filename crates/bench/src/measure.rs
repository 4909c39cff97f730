//! The measurements, one file each.

mod api;
mod build;
mod deployed;
mod forward;
mod idle;
pub(crate) mod live;
mod logs;
mod many;
mod one;
mod ready;
mod size;
mod tiltfile;
mod version;
mod watch;

use crate::Effort;
use crate::figure::Figure;
use crate::lilt::Lilt;

/// Panics with a message when it cannot measure.
type Measure = fn(&Lilt, Effort) -> Vec<Figure>;

pub(crate) const ALL: [(&str, Measure); 15] = [
    ("version", version::measure),
    ("tiltfile", tiltfile::measure),
    ("one", one::measure),
    ("many", many::measure),
    ("watch", watch::measure),
    ("idle", idle::measure),
    ("live", live::measure),
    ("build", build::measure),
    ("deployed", deployed::measure),
    ("ready", ready::measure),
    ("forward", forward::measure),
    ("logs", logs::measure),
    ("api", api::measure),
    ("recovery", live::recovery::measure),
    ("size", size::measure),
];

pub(crate) fn names() -> [&'static str; 15] {
    ALL.map(|(name, _)| name)
}
