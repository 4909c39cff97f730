//! A store that holds what a snapshot says.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};

use lilt_model::api::{UIResource, UISession};
use lilt_model::log::{Level, Source};
use lilt_model::timeline::UpdateRecord;
use lilt_model::{Failure, ResourceName, SpanId, Timestamp};
use lilt_store::{Commit, LogWriter, Reader, Span};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Snapshot {
    view: View,
    created_at: Option<Timestamp>,
    #[serde(default)]
    lilt: Beyond,
}

/// What Tilt's form has no place for.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Beyond {
    timeline: BTreeMap<ResourceName, Vec<UpdateRecord>>,
}

/// A snapshot that can be looked at.
pub(super) struct Stored {
    pub(super) reader: Reader,
    /// When it was made.
    pub(super) made: Timestamp,
}

/// Of Tilt's view, what the page shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct View {
    ui_session: Option<UISession>,
    ui_resources: Vec<UIResource>,
    log_list: LogList,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LogList {
    spans: HashMap<String, LogSpan>,
    segments: Vec<Segment>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LogSpan {
    manifest_name: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Segment {
    span_id: String,
    time: Option<Timestamp>,
    text: String,
    level: String,
}

/// When the line that is being written was written once: the store asks for the time.
static TIME: AtomicI64 = AtomicI64::new(0);

fn time_of_line() -> Timestamp {
    Timestamp(TIME.load(Ordering::Relaxed))
}

/// Reads a snapshot into a store. Its log is kept in memory only as far as a store without a folder keeps it.
pub(super) fn open(text: &[u8]) -> Result<Stored, Failure> {
    let snapshot: Snapshot =
        serde_json::from_slice(text).map_err(|error| Failure::user(error.to_string()))?;
    let (logs, log_reader) = LogWriter::open(None, time_of_line);
    write_log(&logs, snapshot.view.log_list);
    let (writer, reader) = lilt_store::open(log_reader);
    let records = snapshot.lilt.timeline.into_iter();
    let records = records.flat_map(|(name, records)| records.into_iter().map(move |it| (name.clone(), it)));
    writer.commit(Commit {
        resources: snapshot.view.ui_resources.into_iter().map(std::sync::Arc::new).collect(),
        removed: Vec::new(),
        session: snapshot.view.ui_session,
        timeline: records.collect(),
    });
    Ok(Stored { reader, made: snapshot.created_at.unwrap_or_default() })
}

fn write_log(logs: &LogWriter, list: LogList) {
    let mut spans: HashMap<String, Span> = HashMap::new();
    for segment in list.segments {
        TIME.store(segment.time.unwrap_or_default().0, Ordering::Relaxed);
        let span = spans.entry(segment.span_id).or_insert_with_key(|id| {
            let name = list.spans.get(id).map(|span| span.manifest_name.as_str()).unwrap_or_default();
            let resource = (!name.is_empty()).then(|| ResourceName::new(name));
            let source = if id.starts_with("build:") { Source::Build } else { Source::Runtime };
            logs.span(SpanId::from(id.clone()), resource, source)
        });
        let level = match segment.level.as_str() {
            "WARN" => Level::Warn,
            "ERROR" => Level::Error,
            _ => Level::Info,
        };
        // Tilt cuts lines into segments where it likes; ordinary ones go together again.
        match level {
            Level::Info => span.write(segment.text.as_bytes()),
            level => span.print(level, segment.text.strip_suffix('\n').unwrap_or(&segment.text)),
        }
    }
}
