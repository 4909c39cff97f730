//! The batches that `experimental_telemetry_cmd` receives, and their times.

mod support;

use std::time::Duration;

use lilt_engine::{Event, Task, TaskId, TelemetryJob, plan};
use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_model::project::{Project, Settings};
use lilt_model::settings::Telemetry;
use support::{Script, local, workload};

const PERIOD: Duration = Duration::from_secs(60);

fn loaded() -> Script {
    let command = Command::shell("cat", "/p");
    let telemetry = Some(Telemetry { command, directory: "/p".into(), period: PERIOD });
    let mut script = Script::new();
    script.load_with(Project {
        resources: vec![workload("w"), local("l")],
        settings: Settings { telemetry, ..Settings::default() },
        ..Project::default()
    });
    script.connect();
    script
}

fn job(script: &Script) -> Option<TelemetryJob> {
    match plan(&script.state).remove(&TaskId::Telemetry) {
        Some(Task::Telemetry(job)) => Some(*job),
        _ => None,
    }
}

fn batch(script: &Script) -> Vec<(String, Vec<&'static str>)> {
    let batch = job(script).and_then(|job| job.batch).unwrap_or_default();
    batch.iter().map(|span| (span.target_names.clone(), span.build_types.clone())).collect()
}

#[test]
fn spans_are_sent_in_one_batch_after_the_period() {
    let mut script = loaded();
    assert_eq!(job(&script), None, "nothing to send");
    script.succeed("l");
    let waiting = job(&script).expect("a span waits");
    assert_eq!(waiting.batch, None);
    script.deploy("w", "1");
    assert_eq!(job(&script), Some(waiting.clone()), "the wait is not started again");
    script.event(Event::TelemetryDue { run: waiting.run });
    let local = ("local:l".to_owned(), vec!["local"]);
    let deployed = ("image:w,k8s:w".to_owned(), vec!["image", "k8s"]);
    assert_eq!(batch(&script), [local, deployed]);
    script.event(Event::TelemetrySent { run: waiting.run, delivered: true });
    assert_eq!(job(&script), None);
    script.save("l", "/p/l/x").succeed("l");
    let next = job(&script).expect("a span waits");
    assert!(next.due > waiting.due, "a period after the last batch");
    assert_ne!(next.run, waiting.run);
}

#[test]
fn failed_update_has_a_span_without_build_type() {
    let mut script = loaded();
    script.fail("l");
    let run = job(&script).expect("a span waits").run;
    script.event(Event::TelemetryDue { run });
    assert_eq!(batch(&script), [("local:l".to_owned(), vec![])]);
}

#[test]
fn undelivered_spans_are_sent_again_before_newer_ones() {
    let mut script = loaded();
    script.succeed("l");
    script.event(Event::TelemetryDue { run: 0 });
    script.deploy("w", "1");
    script.event(Event::TelemetrySent { run: 0, delivered: false });
    assert_eq!(job(&script).map(|job| (job.run, job.batch)), Some((1, None)));
    script.event(Event::TelemetryDue { run: 1 });
    let names: Vec<String> = batch(&script).into_iter().map(|(names, _)| names).collect();
    assert_eq!(names, ["local:l", "image:w,k8s:w"]);
    let failure = Failure::internal("a bug");
    script.event(Event::TaskBroke { task: TaskId::Telemetry, failure });
    script.event(Event::TelemetryDue { run: 2 });
    assert_eq!(batch(&script).len(), 2);
}

#[test]
fn without_a_command_nothing_is_collected() {
    let mut script = Script::loaded(vec![local("l")]);
    script.succeed("l");
    assert_eq!(job(&script), None);
}
