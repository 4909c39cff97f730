//! Many local resources that run `true`, sequentially and in parallel.
//!
//! Measured with `lilt ci`, which exits when all are done. The cost of one more resource is the rest after subtracting the
//! cost of a session with one resource; it should not grow with their number.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Run};
use crate::samples::Samples;

/// Linux reports a hundred ticks per second, whatever its own clock rate is.
const MICROSECONDS_PER_TICK: f64 = 1e4;
/// One size of the project.
struct Size {
    count: usize,
    /// The number of runs.
    samples: usize,
    /// The limits: seconds sequentially, seconds in parallel, megabytes; none: only for comparison.
    at_most: Option<(f64, f64, f64)>,
}

const SIZES: [Size; 4] = [
    Size { count: 10, samples: 10, at_most: None },
    Size { count: 200, samples: 5, at_most: Some((1.0, 0.6, 25.0)) },
    Size { count: 1_000, samples: 3, at_most: Some((5.0, 3.0, 40.0)) },
    Size { count: 10_000, samples: 1, at_most: Some((50.0, 30.0, 150.0)) },
];

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let single = project(1, "");
    let base = Samples::collect(effort.samples(10), |_| lilt.ci(&single).as_secs_f64()).median();
    let mut figures = Vec::new();
    for size in SIZES.iter().filter(|size| !effort.quick || size.count <= 1_000) {
        let watch = |project: &Project| -> Vec<Run> {
            (0..effort.samples(size.samples)).map(|_| lilt.watch_ci(project)).collect()
        };
        figures.extend(figures_of(size, base, &watch(&project(size.count, ""))));
        if let Some((_, seconds, _)) = size.at_most {
            let runs = watch(&project(size.count, ", allow_parallel=True"));
            figures.push(at_once(size.count, &runs).at_most(seconds));
        }
    }
    // Measured together, so that they can be compared.
    figures.sort_by_key(|figure| figure.unit == Unit::Microseconds);
    let work = "for comparison: sh -c true, one after another, each";
    figures.push(Figure::new("shell-each", work, Unit::Microseconds, shell(effort.samples(1_000))));
    figures
}

fn at_once(count: usize, runs: &[Run]) -> Figure {
    let seconds = Samples::new(runs.iter().map(|run| run.took.as_secs_f64()).collect());
    let work = format!("{} resources with allow_parallel: start → all done, exit", grouped(count));
    Figure::new(format!("many-{count}-parallel"), work, Unit::Seconds, seconds)
}

fn figures_of(size: &Size, base: f64, runs: &[Run]) -> Vec<Figure> {
    let count = size.count;
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
    if let Some((seconds, _, megabytes)) = size.at_most {
        (time, peak) = (time.at_most(seconds), peak.at_most(megabytes));
    }
    let each = figure("-each", "one more takes", Unit::Microseconds, each.into());
    let own = figure("-own", "lilt's own processor time for each", Unit::Microseconds, own.into());
    // A few resources take less than a tick.
    [time, peak, each].into_iter().chain((count >= 1_000).then_some(own)).collect()
}

/// Writes a project; `more` are further arguments of each resource.
fn project(count: usize, more: &str) -> Project {
    let mut tiltfile = String::new();
    for index in 0..count {
        let _ = writeln!(tiltfile, "local_resource('resource-{index}', 'true'{more})");
    }
    Project::new(&[("Tiltfile", &tiltfile)])
}

/// Measures the same commands in a plain shell.
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
