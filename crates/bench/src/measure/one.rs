//! One local resource that runs `true`.

use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::page;
use crate::samples::{Samples, milliseconds};

pub(super) const TILTFILE: &str = "local_resource('one', 'true')\n";

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let mut ends = Vec::new();
    let done = Samples::collect(effort.samples(20), |_| {
        let session = lilt.up(&project, []);
        let took = page::wait_until_done(&session, "one");
        ends.push(milliseconds(session.end()));
        milliseconds(took)
    });
    let ci = Samples::collect(effort.samples(20), |_| milliseconds(lilt.ci(&project)));
    vec![
        Figure::new(
            "up-one",
            "lilt up, one resource: start → the page says it is done",
            Unit::Milliseconds,
            done,
        )
        .at_most(50.0),
        Figure::new("ci-one", "lilt ci, one resource: start → exit", Unit::Milliseconds, ci),
        Figure::new("interrupt", "Ctrl-C of an idle lilt up → exit", Unit::Milliseconds, Samples::new(ends)),
    ]
}
