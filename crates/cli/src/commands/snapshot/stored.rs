//! Loads a snapshot into a store.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};

use lilt_api::{ObjectKind, UIResource, UISession};
use lilt_host::session_dir::SessionDir;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId, Timestamp};
use lilt_server::view::{Beyond, Reports};
use lilt_store::{Draft, Key, LogWriter, QuerySubject, Reader, SessionQueries, Span};
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

/// A loaded snapshot.
pub(super) struct Stored {
    pub(super) reader: Reader,
    /// Its time.
    pub(super) made: Timestamp,
    queries: SessionQueries,
    reports: Reports,
    /// The temporary folder of its log.
    _folder: SessionDir,
}

impl Stored {
    /// Answers queries as a session would; those that a snapshot cannot answer are dropped. Never ends.
    pub(super) async fn answer(mut self) {
        loop {
            let query = self.queries.next().await;
            let found = match &query.subject {
                QuerySubject::Engine => None,
                QuerySubject::Notices(resource) => self.reports.notices.get(resource),
                QuerySubject::Objects(resource) => self.reports.conditions.get(resource),
            };
            if let Some(found) = found.cloned() {
                query.answer(found);
            }
        }
    }
}

/// The parts of Tilt's view that the page shows.
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

/// The time of the line that is being written, returned to the store as its clock.
static TIME: AtomicI64 = AtomicI64::new(0);

fn time_of_line() -> Timestamp {
    Timestamp(TIME.load(Ordering::Relaxed))
}

/// Loads a snapshot into a store, with a temporary folder for the log.
pub(super) fn open(text: &[u8]) -> Result<Stored, Failure> {
    let snapshot: Snapshot =
        serde_json::from_slice(text).map_err(|error| Failure::user(error.to_string()))?;
    let folder = SessionDir::create()?;
    // Without a limit: the snapshot contains what the session kept.
    let (logs, log_reader) = LogWriter::open_limited(Some(folder.path().to_owned()), u64::MAX, time_of_line);
    write_log(&logs, snapshot.view.log_list);
    let (mut writer, queries, reader) = lilt_store::open(log_reader);
    let Beyond { timeline, mut objects, reports } = snapshot.lilt;
    for (name, records) in timeline {
        records.into_iter().for_each(|record| writer.put_record(name.clone(), record));
    }
    let session = snapshot.view.ui_session.map(|session| Draft::session(session.into(), None));
    let resources = snapshot.view.ui_resources.into_iter();
    let resources = resources.map(|resource| Draft::resource(resource.into(), None));
    objects.insert("UIButton".to_owned(), snapshot.view.ui_buttons);
    session.into_iter().chain(resources).chain(drafts(objects)).for_each(|draft| writer.put(draft));
    let made = snapshot.created_at.unwrap_or_default();
    writer.commit(made);
    Ok(Stored { reader, made, queries, reports, _folder: folder })
}

/// Converts the API objects that the page shows.
fn drafts(objects: BTreeMap<String, Vec<Value>>) -> impl Iterator<Item = Draft> {
    objects.into_iter().flat_map(|(kind, objects)| {
        let kind = ObjectKind::named(&kind);
        objects.into_iter().filter_map(move |object| draft(kind?, object))
    })
}

/// Removes metadata that the store sets itself.
fn draft(kind: ObjectKind, mut object: Value) -> Option<Draft> {
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
        // Tilt splits lines into arbitrary segments; consecutive ones are joined.
        match level {
            Level::Info => span.write(segment.text.as_bytes()),
            level => span.print(level, segment.text.strip_suffix('\n').unwrap_or(&segment.text)),
        }
    }
}
