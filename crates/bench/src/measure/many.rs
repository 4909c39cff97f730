//! Many local resources that run `true` one at a time.
//!
//! Measured with `lilt ci`, whose exit says that all are done. What one more resource costs is what is left after the
//! cost of a session with one; it should not grow with their number.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::samples::{Samples, milliseconds};

/// Resources, and how often to measure.
const SIZES: [(usize, usize); 4] = [(10, 10), (100, 5), (1_000, 3), (10_000, 1)];

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let single = project(1);
    let base = Samples::collect(effort.samples(10), |_| milliseconds(lilt.ci(&single, false).0)).median();
    let (mut figures, mut costs) = (Vec::new(), Vec::new());
    for (count, samples) in SIZES {
        if effort.quick && count > 1_000 {
            continue;
        }
        let project = project(count);
        let runs: Vec<(Duration, f64)> =
            (0..effort.samples(samples)).map(|_| lilt.ci(&project, true)).collect();
        let seconds = Samples::new(runs.iter().map(|(took, _)| took.as_secs_f64()).collect());
        let memory = Samples::new(runs.iter().map(|(_, peak)| *peak).collect());
        let each = (seconds.median() * 1e6 - base * 1e3) / (count as f64 - 1.0);
        let name = grouped(count);
        let mut time = Figure::new(
            format!("many-{count}"),
            format!("{name} resources: start → all done, exit"),
            Unit::Seconds,
            seconds,
        );
        let mut peak = Figure::new(
            format!("many-{count}-memory"),
            format!("{name} resources: most memory"),
            Unit::Megabytes,
            memory,
        );
        if count == 1_000 {
            (time, peak) = (time.at_most(5.0), peak.at_most(40.0));
        }
        figures.extend([time, peak]);
        let work = format!("{name} resources: each one more");
        costs.push(Figure::new(format!("many-{count}-each"), work, Unit::Microseconds, each));
    }
    figures.extend(costs);
    let work = "for comparison: sh -c true, one after another, each";
    figures.push(Figure::new("shell-each", work, Unit::Microseconds, shell(effort.samples(1_000))));
    figures
}

fn project(count: usize) -> Project {
    let mut tiltfile = String::new();
    for index in 0..count {
        let _ = writeln!(tiltfile, "local_resource('resource-{index}', 'true')");
    }
    Project::new(&[("Tiltfile", &tiltfile)])
}

/// What this machine takes for the same commands with nothing around them.
fn shell(count: usize) -> Samples {
    Samples::collect(count, |_| {
        let begin = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null());
        assert!(command.status().expect("there is a shell").success());
        begin.elapsed().as_secs_f64() * 1e6
    })
}

fn grouped(count: usize) -> String {
    match count {
        0..1_000 => count.to_string(),
        _ => format!("{},{:03}", count / 1_000, count % 1_000),
    }
}
