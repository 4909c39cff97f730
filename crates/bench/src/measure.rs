//! The measurements, one file each.

mod idle;
mod live;
mod many;
mod one;
mod size;
mod version;

use crate::Effort;
use crate::figure::Figure;
use crate::lilt::Lilt;

/// Panics with a sentence when it cannot measure.
type Measure = fn(&Lilt, Effort) -> Vec<Figure>;

pub(crate) const ALL: [(&str, Measure); 6] = [
    ("version", version::measure),
    ("one", one::measure),
    ("many", many::measure),
    ("idle", idle::measure),
    ("live", live::measure),
    ("size", size::measure),
];

pub(crate) fn names() -> [&'static str; 6] {
    ALL.map(|(name, _)| name)
}
