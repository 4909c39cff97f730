//! The size of the released binary: stripped, with the page inside.

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;

pub(crate) fn measure(lilt: &Lilt, _: Effort) -> Vec<Figure> {
    vec![Figure::new("size", "release binary, stripped", Unit::Megabytes, lilt.megabytes()).at_most(30.0)]
}
