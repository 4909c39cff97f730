//! A store that holds what a snapshot says.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};

use lilt_api::kinds::kinds;
use lilt_api::{UIResource, UISession};
use lilt_host::session_dir::SessionDir;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId, Timestamp};
use lilt_server::view::{Beyond, Reports};
use lilt_store::{ApiReader, Commit, Draft, Key, LogWriter, Reader, Span, Wanted, Writer};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Snapshot {
    view: View,
    created_at: Option<Timestamp>,
    #[serde(default)]
    lilt: Beyond,
}

/// A snapshot that can be looked at.
pub(super) struct Stored {
    pub(super) reader: Reader,
    pub(super) objects: ApiReader,
    /// When it was made.
    pub(super) made: Timestamp,
    writer: Writer,
    reports: Reports,
    /// Where its log is; goes with it.
    _folder: SessionDir,
}

impl Stored {
    /// Answers what a session would be asked for, and nobody who asks for what the snapshot does not tell. Never ends.
    pub(super) async fn answer(mut self) {
        loop {
            let inspection = self.writer.inspected().await;
            let found = match &inspection.wanted {
                Wanted::All => None,
                Wanted::Notices(resource) => self.reports.notices.get(resource),
                Wanted::Objects(resource) => self.reports.conditions.get(resource),
            };
            if let Some(found) = found.cloned() {
                inspection.answer(found);
            }
        }
    }
}

/// Of Tilt's view, what the page shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct View {
    ui_session: Option<UISession>,
    ui_resources: Vec<UIResource>,
    ui_buttons: Vec<Value>,
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

/// Reads a snapshot into a store, with a folder of its own for the log, however long that is.
pub(super) fn open(text: &[u8]) -> Result<Stored, Failure> {
    let snapshot: Snapshot =
        serde_json::from_slice(text).map_err(|error| Failure::user(error.to_string()))?;
    let folder = SessionDir::create()?;
    // What was kept once is kept again, whatever a session may keep.
    let (logs, log_reader) = LogWriter::open_limited(Some(folder.path().to_owned()), u64::MAX, time_of_line);
    write_log(&logs, snapshot.view.log_list);
    let (writer, reader) = lilt_store::open(log_reader);
    let Beyond { timeline, mut objects, reports } = snapshot.lilt;
    let records = timeline.into_iter();
    let records = records.flat_map(|(name, records)| records.into_iter().map(move |it| (name.clone(), it)));
    writer.commit(Commit {
        resources: snapshot.view.ui_resources.into_iter().map(std::sync::Arc::new).collect(),
        removed: Vec::new(),
        session: snapshot.view.ui_session,
        timeline: records.collect(),
    });
    objects.insert("UIButton".to_owned(), snapshot.view.ui_buttons);
    let made = snapshot.created_at.unwrap_or_default();
    let objects = put_objects(objects, made);
    Ok(Stored { reader, objects, made, writer, reports, _folder: folder })
}

/// The objects of the API that the page looks at.
fn put_objects(objects: BTreeMap<String, Vec<Value>>, made: Timestamp) -> ApiReader {
    let (writer, reader) = lilt_store::open_api();
    let drafts = objects.into_iter().flat_map(|(kind, objects)| {
        let kind = kinds().named(&kind).map(|kind| kind.name);
        objects.into_iter().filter_map(move |object| draft(kind?, object))
    });
    writer.commit(made, drafts, [], []);
    reader
}

/// Without what the store adds by itself.
fn draft(kind: &'static str, mut object: Value) -> Option<Draft> {
    let members = object.as_object_mut()?;
    let mut metadata = members.remove("metadata")?;
    for name in ["apiVersion", "kind"] {
        members.remove(name);
    }
    let named = metadata.as_object_mut()?;
    for name in ["uid", "resourceVersion", "creationTimestamp"] {
        named.remove(name);
    }
    let key = Key::new(kind, named.get("name")?.as_str()?);
    Some(Draft::new(key, None, &metadata.to_string(), &object.to_string()))
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
