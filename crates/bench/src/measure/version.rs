//! `lilt version`: from before the process exists until it has ended.

use std::path::Path;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::samples::{Samples, milliseconds};

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let run = || milliseconds(lilt.run(Path::new("/"), &["version"]));
    // The first run reads the program from disk.
    run();
    let samples = Samples::collect(effort.samples(50), |_| run());
    vec![Figure::new("version", "lilt version, start → exit", Unit::Milliseconds, samples).at_most(10.0)]
}
