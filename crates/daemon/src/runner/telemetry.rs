//! Sends spans to the command of `experimental_telemetry_cmd`, as JSON lines on its stdin.
//!
//! The form is that of Tilt, which keeps the structures of opentelemetry-go 0.2.

use bytes::Bytes;
use lilt_engine::{Event, TelemetryJob, UsageSpan};
use lilt_host::process::Launch;
use lilt_model::log::Source;
use lilt_model::{ResourceName, SpanId, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::local::exit_failure;
use super::wake;
use crate::context::Context;
use crate::program;

pub(crate) async fn run(context: Context, job: &TelemetryJob) {
    let Some(batch) = &job.batch else {
        if wake::sleep_until(&context, job.due).await.is_ok() {
            context.send(Event::TelemetryDue { run: job.run }).await;
        }
        return;
    };
    let failure = tokio::select! {
        failure = send(&context, job, batch) => failure,
        () = context.cancel.cancelled() => return,
    };
    if let Some(failure) = &failure {
        let id = SpanId::from(format!("telemetry:{}", job.run + 1));
        context.logs.span(id, Some(ResourceName::tiltfile()), Source::Build).info(failure);
    }
    context.send(Event::TelemetrySent { run: job.run, delivered: failure.is_none() }).await;
}

/// Returns what to log if the command did not succeed.
async fn send(context: &Context, job: &TelemetryJob, batch: &[UsageSpan]) -> Option<String> {
    // As in Tilt: the working directory is the Tiltfile's, whatever `dir` is, and the environment is lilt's own.
    let launch = Launch { dir: job.settings.directory.clone(), ..Launch::from(&job.settings.command) };
    // A single message, sent before the command starts.
    let (sender, input) = mpsc::channel(1);
    sender.send(Bytes::from(json_lines(context.started, batch))).await.ok()?;
    drop(sender);
    let (cause, output) = match program::run(&context.guardian, &launch, Some(input)).await {
        Ok(ran) => (exit_failure(ran.exit)?, ran.output + &ran.errors),
        Err(failure) => (failure.to_string(), String::new()),
    };
    Some(format!("Telemetry command failed: {cause}\noutput: {}", output.trim_end()))
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SpanRecord {
    span_context: SpanContext,
    #[serde(rename = "ParentSpanID")]
    parent_span_id: &'static str,
    span_kind: u8,
    name: &'static str,
    start_time: Timestamp,
    end_time: Timestamp,
    attributes: Vec<Value>,
    message_events: Option<()>,
    links: Option<()>,
    status: u32,
    has_remote_parent: bool,
    dropped_attribute_count: u32,
    dropped_message_event_count: u32,
    dropped_link_count: u32,
    child_span_count: u32,
}

#[derive(Serialize)]
struct SpanContext {
    #[serde(rename = "TraceID")]
    trace_id: String,
    #[serde(rename = "SpanID")]
    span_id: String,
    #[serde(rename = "TraceFlags")]
    trace_flags: u8,
}

/// One line per span. `session_start` makes the ids of different sessions differ.
fn json_lines(session_start: Timestamp, batch: &[UsageSpan]) -> String {
    let line = |span: &UsageSpan| {
        let record = record(session_start, span);
        serde_json::to_string(&record).expect("invariant: the record has string keys only") + "\n"
    };
    batch.iter().map(line).collect()
}

fn record(session_start: Timestamp, span: &UsageSpan) -> SpanRecord {
    let attribute =
        |key: String, kind: &str, value: Value| json!({"Key": key, "Value": {"Type": kind, "Value": value}});
    let names = attribute("targetNames".into(), "STRING", json!(span.target_names));
    let types = span.build_types.iter();
    let types = types.map(|kind| attribute(format!("buildType.{kind}"), "BOOL", json!(true)));
    SpanRecord {
        span_context: SpanContext {
            trace_id: format!("{:016x}{:016x}", session_start.0, span.id),
            span_id: format!("{:016x}", span.id),
            // Sampled.
            trace_flags: 1,
        },
        parent_span_id: "0000000000000000",
        // Internal.
        span_kind: 1,
        name: "tilt.dev/usage/update",
        start_time: span.started,
        end_time: span.ended,
        attributes: std::iter::once(names).chain(types).collect(),
        message_events: None,
        links: None,
        status: 0,
        has_remote_parent: false,
        dropped_attribute_count: 0,
        dropped_message_event_count: 0,
        dropped_link_count: 0,
        child_span_count: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_has_the_fields_and_order_of_tilt() {
        let span = UsageSpan {
            id: 7,
            started: Timestamp(1_000_000),
            ended: Timestamp(2_500_000),
            target_names: "image:web,k8s:web".into(),
            build_types: vec!["image", "k8s"],
        };
        let expected = concat!(
            r#"{"SpanContext":{"TraceID":"00000000000000010000000000000007","SpanID":"0000000000000007","TraceFlags":1},"#,
            r#""ParentSpanID":"0000000000000000","SpanKind":1,"Name":"tilt.dev/usage/update","#,
            r#""StartTime":"1970-01-01T00:00:01.000000Z","EndTime":"1970-01-01T00:00:02.500000Z","#,
            r#""Attributes":[{"Key":"targetNames","Value":{"Type":"STRING","Value":"image:web,k8s:web"}},"#,
            r#"{"Key":"buildType.image","Value":{"Type":"BOOL","Value":true}},"#,
            r#"{"Key":"buildType.k8s","Value":{"Type":"BOOL","Value":true}}],"#,
            r#""MessageEvents":null,"Links":null,"Status":0,"HasRemoteParent":false,"DroppedAttributeCount":0,"#,
            r#""DroppedMessageEventCount":0,"DroppedLinkCount":0,"ChildSpanCount":0}"#,
            "\n",
        );
        assert_eq!(json_lines(Timestamp(1), &[span]), expected);
    }
}
