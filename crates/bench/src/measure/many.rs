//! Many local resources that run `true` one at a time.
//!
//! Measured with `lilt ci`, whose exit says that all are done. What one more resource costs is what is left after the
//! cost of a session with one; it should not grow with their number.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Run};
use crate::samples::Samples;

/// Linux tells programs of a hundred ticks in a second, whatever its own clock does.
const MICROSECONDS_PER_TICK: f64 = 1e4;
/// Resources, and how often to measure.
const SIZES: [(usize, usize); 4] = [(10, 10), (100, 5), (1_000, 3), (10_000, 1)];

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let single = project(1);
    let base = Samples::collect(effort.samples(10), |_| lilt.ci(&single).as_secs_f64()).median();
    let mut figures = Vec::new();
    for (count, samples) in SIZES {
        if effort.quick && count > 1_000 {
            continue;
        }
        let project = project(count);
        let runs: Vec<Run> = (0..effort.samples(samples)).map(|_| lilt.watch_ci(&project)).collect();
        figures.extend(figures_of(count, base, &runs));
    }
    // Together, so that they can be compared.
    figures.sort_by_key(|figure| figure.unit == Unit::Microseconds);
    let work = "for comparison: sh -c true, one after another, each";
    figures.push(Figure::new("shell-each", work, Unit::Microseconds, shell(effort.samples(1_000))));
    figures
}

fn figures_of(count: usize, base: f64, runs: &[Run]) -> Vec<Figure> {
    let of = |measured: fn(&Run) -> f64| Samples::new(runs.iter().map(measured).collect());
    let (seconds, memory, ticks) =
        (of(|run| run.took.as_secs_f64()), of(|run| run.peak), of(|run| run.ticks as f64));
    let name = grouped(count);
    let figure = |key: &str, work: &str, unit: Unit, samples: Samples| {
        Figure::new(format!("many-{count}{key}"), format!("{name} resources: {work}"), unit, samples)
    };
    let each = (seconds.median() - base) * 1e6 / (count as f64 - 1.0);
    let own = ticks.median() * MICROSECONDS_PER_TICK / count as f64;
    let mut time = figure("", "start → all done, exit", Unit::Seconds, seconds);
    let mut peak = figure("-memory", "most memory", Unit::Megabytes, memory);
    if count == 1_000 {
        (time, peak) = (time.at_most(5.0), peak.at_most(40.0));
    }
    let each = figure("-each", "one more takes", Unit::Microseconds, each.into());
    let own = figure("-own", "lilt's own processor time for each", Unit::Microseconds, own.into());
    // Few resources take less than a tick.
    [time, peak, each].into_iter().chain((count >= 1_000).then_some(own)).collect()
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
