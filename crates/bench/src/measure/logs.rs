//! Floods of log lines: the cost of storing them, and the time to read the last ones.

use std::time::{Duration, Instant};

use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Run, Session};
use crate::memory;
use crate::samples::{Samples, milliseconds};

const SECONDS_PER_TICK: f64 = 0.01;
const TIMEOUT: Duration = Duration::from_secs(600);

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let mut figures = flood(lilt, effort);
    figures.extend(stored(lilt, effort, if effort.quick { 1_000_000 } else { 10_000_000 }));
    figures
}

fn project(lines: usize) -> Project {
    let command = format!("seq -f \"a line of some length with number %.0f in it\" {lines}");
    Project::new(&[("Tiltfile", &format!("local_resource('many', '{command}')\n"))])
}

fn flood(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let project = project(500_000);
    let runs: Vec<Run> = (0..effort.samples(5)).map(|_| lilt.watch_ci(&project)).collect();
    let of = |measured: fn(&Run) -> f64| Samples::new(runs.iter().map(measured).collect());
    let cpu = of(|run| run.ticks as f64 * SECONDS_PER_TICK);
    vec![
        Figure::new("logs-flood", "500,000 log lines: lilt's own processor time", Unit::Seconds, cpu)
            .at_most(0.6),
        Figure::new(
            "logs-flood-memory",
            "500,000 log lines: most memory",
            Unit::Megabytes,
            of(|run| run.peak),
        )
        .at_most(40.0),
        Figure::new("logs-flood-time", "    start → exit", Unit::Seconds, of(|run| run.took.as_secs_f64())),
    ]
}

/// Measures a session with this many lines.
fn stored(lilt: &Lilt, effort: Effort, lines: usize) -> Vec<Figure> {
    let project = project(lines);
    let session = lilt.up(&project, []);
    wait_for_last(lilt, &project, &session, lines);
    let name = format!("{} million log lines stored", lines / 1_000_000);
    let port = session.port.to_string();
    let timed = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["logs", "--port", &port].iter().chain(arguments).copied().collect();
        Samples::collect(effort.samples(20), |_| milliseconds(lilt.run(project.path(), &arguments)))
    };
    let tail = timed(&["--tail", "100"]);
    let of_resource = timed(&["--tail", "100", "many"]);
    let none = timed(&["--level", "error", "many"]);
    let begin = Instant::now();
    let kept = lilt.count_lines(project.path(), &["logs", "--port", &port, "many", "--match", "^a line of"]);
    let all = begin.elapsed();
    assert_eq!(kept, lines, "lines that were kept");
    let peak = memory::peak(session.pid()).expect("the session runs");
    vec![
        Figure::new("logs-tail", format!("{name}: lilt logs --tail 100"), Unit::Milliseconds, tail)
            .at_most(30.0),
        Figure::new("logs-tail-resource", "    of one resource", Unit::Milliseconds, of_resource),
        Figure::new("logs-errors", "    its errors, of which there are none", Unit::Milliseconds, none),
        Figure::new("logs-all", "    all of them by a regular expression", Unit::Seconds, all.as_secs_f64()),
        Figure::new("logs-stored-memory", format!("{name}: most memory"), Unit::Megabytes, peak)
            .at_most(40.0),
    ]
}

fn wait_for_last(lilt: &Lilt, project: &Project, session: &Session, lines: usize) {
    let last = format!("a line of some length with number {lines} in it\n");
    let port = session.port.to_string();
    lilt.wait_for_port(session, TIMEOUT);
    while lilt.output(project.path(), &["logs", "--port", &port, "--tail", "1"])
        != format!("         many │ {last}")
    {
        assert!(session.begin.elapsed() < TIMEOUT, "the lines were not there after {TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
