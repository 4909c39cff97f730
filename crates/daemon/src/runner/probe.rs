//! Runs the readiness probe of a running command, and reports changes of its result.

use std::time::Duration;

use lilt_engine::{Event, Owner};
use lilt_host::probe::{Attempt, attempt};
use lilt_model::ResourceName;
use lilt_model::command::Command;
use lilt_model::log::{Level, Source};
use lilt_model::probe::{Probe, ProbeAction, ProbeStreak};
use lilt_store::Span;
use tokio::time::{Instant, sleep, sleep_until};

use super::command;
use super::local::launch;
use crate::context::Context;

/// How many lines of a probe's output are logged.
const SHOWN_LINES: usize = 20;

pub(crate) async fn run(
    context: Context,
    owner: Owner,
    run: u64,
    probe: Probe,
    resource: Option<ResourceName>,
) {
    let probed = Probed { context: &context, owner, run, resource };
    tokio::select! {
        () = context.cancel.cancelled() => {}
        () = watch(&probed, &probe) => {}
    }
}

/// The probed command, and where results are sent.
struct Probed<'c> {
    context: &'c Context,
    owner: Owner,
    run: u64,
    resource: Option<ResourceName>,
}

impl Probed<'_> {
    /// Returns the log span of the command.
    fn span(&self) -> Span {
        let id = command::span_id(&self.owner, self.run);
        self.context.logs.span(id, self.resource.clone(), Source::Runtime)
    }

    async fn send(&self, ready: bool, cause: Option<String>) {
        let (owner, run) = (self.owner.clone(), self.run);
        self.context.send(Event::CommandProbed { owner, run, ready, cause }).await;
    }
}

/// Probes for ever. Dropping the future ends a running attempt.
async fn watch(probed: &Probed<'_>, probe: &Probe) {
    let context = probed.context;
    sleep(probe.initial_delay()).await;
    let mut pace = Pace::new(probe, Instant::now());
    let mut streak = ProbeStreak::default();
    let mut sent: Option<(bool, Option<String>)> = None;
    loop {
        let found = attempt(&context.guardian, &probe.action, probe.timeout(), |argv| {
            launch(context, &Command { argv: argv.to_vec(), ..Command::shell("", folder(context)) })
        })
        .await;
        // A failure before the first regular attempt does not count against the server.
        if (pace.is_regular() || found.succeeded()) && streak.record(probe, found.succeeded()) {
            show(probed.span(), &found);
        }
        let now = (streak.is_ready(), found.cause);
        if sent.as_ref() != Some(&now) {
            let (ready, cause) = now.clone();
            probed.send(ready, cause).await;
            sent = Some(now);
        }
        sleep_until(pace.next(streak.is_ready(), Instant::now())).await;
    }
}

/// Returns the working directory of exec probes. As in Tilt: the folder of the Tiltfile, whatever `serve_dir` is.
fn folder(context: &Context) -> &std::path::Path {
    context.settings.folder()
}

/// Logs an attempt. Scripts look for Tilt's format.
fn show(mut span: Span, found: &Attempt) {
    let (word, level) = if found.succeeded() { ("success", Level::Info) } else { ("failure", Level::Warn) };
    for line in shown_lines(found) {
        span.print(level, &format!("[readiness probe: {word}] {line}"));
    }
}

/// Returns the output of an attempt and the cause of its failure, without a cause that repeats the output.
fn shown_lines(found: &Attempt) -> Vec<&str> {
    let shown = || found.output.lines().take(SHOWN_LINES);
    let last = shown().map(str::trim).filter(|line| !line.is_empty()).last();
    let repeats = |cause: &&str| last.is_some_and(|last| cause.ends_with(last));
    let cause = found.cause.as_deref().filter(|cause| !repeats(cause));
    shown().chain(cause).collect()
}

/// Schedules the attempts of a probe.
///
/// Until the first success, cheap probes also run between their regular times, with growing pauses: most servers listen
/// long before the default period of ten seconds has passed.
#[derive(Debug)]
struct Pace {
    period: Duration,
    regular: Instant,
    /// None: only at regular times.
    early: Option<Duration>,
    is_regular: bool,
}

const FIRST_EARLY: Duration = Duration::from_millis(50);

impl Pace {
    fn new(probe: &Probe, now: Instant) -> Self {
        // A success threshold above one asks for stability over time, which early attempts would defeat.
        let cheap = !matches!(probe.action, ProbeAction::Exec { .. }) && probe.successes() == 1;
        Self { period: probe.period(), regular: now, early: cheap.then_some(FIRST_EARLY), is_regular: true }
    }

    fn is_regular(&self) -> bool {
        self.is_regular
    }

    /// Returns the time of the next attempt after one that ended at `now`.
    fn next(&mut self, ready: bool, now: Instant) -> Instant {
        if ready {
            self.early = None;
        }
        if self.is_regular {
            // An attempt that took longer than the period is followed by one attempt at once, not by several.
            self.regular = (self.regular + self.period).max(now);
        }
        let early = self.early.map(|pause| now + pause).filter(|early| *early < self.regular);
        self.early = self.early.map(|pause| pause * 2);
        self.is_regular = early.is_none();
        early.unwrap_or(self.regular)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times of attempts in milliseconds. Each takes no time and fails before `ready_from`.
    fn times(probe: &Probe, count: usize, ready_from: usize) -> Vec<(u128, bool)> {
        let begin = Instant::now();
        let mut pace = Pace::new(probe, begin);
        let mut now = begin;
        let mut times = Vec::new();
        for index in 0..count {
            times.push(((now - begin).as_millis(), pace.is_regular()));
            now = pace.next(index >= ready_from, now);
        }
        times
    }

    #[test]
    fn failed_probe_does_not_repeat_its_output() {
        let attempt = |output: &str, cause: &str| Attempt {
            cause: (!cause.is_empty()).then(|| cause.to_owned()),
            output: output.to_owned(),
        };
        let said = attempt("not yet\n", "`sh` ended with exit status 1: not yet");
        assert_eq!(shown_lines(&said), ["not yet"]);
        assert_eq!(shown_lines(&attempt("", "connection refused")), ["connection refused"]);
        let hangs = attempt("waiting\n", "`sh` did not end within 1s");
        assert_eq!(shown_lines(&hangs), ["waiting", "`sh` did not end within 1s"]);
        assert_eq!(shown_lines(&attempt("yes\n", "")), ["yes"]);
    }

    #[test]
    fn long_output_of_a_probe_ends_with_the_cause() {
        let output: Vec<String> = (1..=30).map(|line| format!("line {line}.")).collect();
        let cause = "`sh` ended with exit status 1: line 30.".to_owned();
        let attempt = Attempt { cause: Some(cause.clone()), output: output.join("\n") };
        let shown = shown_lines(&attempt);
        assert_eq!(shown.len(), SHOWN_LINES + 1);
        assert_eq!((shown[SHOWN_LINES - 1], shown[SHOWN_LINES]), ("line 20.", &*cause));
    }

    #[test]
    fn cheap_probes_run_early_until_the_first_success() {
        let tcp = ProbeAction::TcpSocket { port: 1, host: String::new() };
        let probe = Probe { period_secs: 1, ..Probe::new(tcp) };
        assert_eq!(
            times(&probe, 8, 8),
            [
                (0, true),
                (50, false),
                (150, false),
                (350, false),
                (750, false),
                (1000, true),
                (2000, true),
                (3000, true)
            ]
        );
        assert_eq!(times(&probe, 4, 1), [(0, true), (50, false), (1000, true), (2000, true)]);
        let steady = Probe { success_threshold: 2, ..probe };
        assert_eq!(times(&steady, 3, 3), [(0, true), (1000, true), (2000, true)]);
    }

    #[test]
    fn exec_probes_run_at_regular_times_only() {
        let exec = ProbeAction::Exec { command: vec!["true".into()] };
        let probe = Probe { period_secs: 2, ..Probe::new(exec) };
        assert_eq!(times(&probe, 3, 3), [(0, true), (2000, true), (4000, true)]);
    }
}
