//! An idle session with one resource.

use std::time::Duration;

use lilt_testbed_env::Project;

use super::one::TILTFILE;
use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::memory::Activity;
use crate::{memory, page};

/// After this time the start has no effect any more: tokio keeps the threads of blocking calls for ten seconds.
const SETTLE: Duration = Duration::from_secs(12);
const IDLE: Duration = Duration::from_secs(10);

pub(crate) fn measure(lilt: &Lilt, _: Effort) -> Vec<Figure> {
    let project = Project::new(&[("Tiltfile", TILTFILE)]);
    let session = lilt.up(&project, []);
    page::wait_until_done(&session, "one");
    std::thread::sleep(SETTLE);
    let pid = session.pid();
    let ticks = || memory::ticks(pid).expect("the session runs");
    let (begin, activity) = (ticks(), Activity::of(pid));
    std::thread::sleep(IDLE);
    let spent = ticks() - begin;
    let (woken, ran) = Activity::of(pid).since(&activity);
    let megabytes = |file, field| memory::megabytes(pid, file, field).expect("the session runs");
    vec![
        Figure::new(
            "idle-memory",
            "idle, one resource: memory (RSS)",
            Unit::Megabytes,
            megabytes("status", "VmRSS"),
        )
        .at_most(15.0),
        Figure::new(
            "idle-own-memory",
            "    of it not from files (anonymous)",
            Unit::Megabytes,
            megabytes("status", "RssAnon"),
        ),
        Figure::new("idle-pss", "    its share (PSS)", Unit::Megabytes, megabytes("smaps_rollup", "Pss")),
        Figure::new("idle-peak", "    most since its start", Unit::Megabytes, megabytes("status", "VmHWM")),
        Figure::new("idle-ticks", "idle, one resource: processor time in 10 s", Unit::Ticks, spent as f64)
            .at_most(0.0),
        Figure::new("idle-time", "    more exactly", Unit::Microseconds, ran as f64 / 1e3),
        Figure::new("idle-wakeups", "    woken up in 10 s", Unit::Times, woken as f64),
    ]
}
