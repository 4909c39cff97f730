//! Everything that is known at one moment, in the form of Tilt's `/api/view`: for dumps and snapshots.

mod snapshot;
pub(crate) mod updates;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use lilt_model::api::UIResource;
use lilt_model::log::{Level, Line};
use lilt_model::secret::Redactor;
use lilt_model::{ResourceName, Timestamp};
use lilt_store::{ApiReader, Filter, Reader};
use serde_json::{Value, json};

use crate::Context;
use crate::question::blocking;
pub(crate) use snapshot::snapshot;
pub use snapshot::{Beyond, Reports, SNAPSHOT_BEGIN, snapshot_end, snapshot_view};

/// Lines taken from the log at once.
const PAGE: usize = 1000;
/// Bytes after which a piece of the view is sent. No more than that and a line is in memory, however long the log is.
const PIECE: usize = 64 * 1024;

/// `GET /api/view`
pub(crate) async fn view(State(context): State<Context>) -> Response {
    let pieces = pieces(context.reader, context.objects.as_ref());
    ([(header::CONTENT_TYPE, "application/json")], body(pieces)).into_response()
}

/// `GET /api/dump/logstore`: every line of log up to now.
pub(crate) async fn logs(State(context): State<Context>) -> Response {
    let pieces = Pieces::new(context.reader, "{\"segments\":[".to_owned(), "}");
    ([(header::CONTENT_TYPE, "application/json")], body(pieces)).into_response()
}

/// Sends pieces as the client takes them. The next one is made when the last one was taken, on a thread that may read
/// files; a client that disconnects ends that.
fn body(pieces: impl Iterator<Item = String> + Send + 'static) -> Body {
    Body::from_stream(stream::unfold(pieces, |mut pieces| async move {
        let next = blocking(move || pieces.next().map(|piece| (piece, pieces)));
        next.await.ok().flatten().map(|(piece, pieces)| (Ok::<_, Infallible>(piece), pieces))
    }))
}

/// `GET /api/resources`: those that are there now, in the Tiltfile's order.
pub(crate) async fn resources(State(context): State<Context>) -> Json<Vec<Arc<UIResource>>> {
    let mut resources = context.reader.changes_since(0).resources;
    resources.sort_by_cached_key(rank);
    Json(resources)
}

/// The Tiltfile first, then as it declares them.
fn rank(resource: &Arc<UIResource>) -> (bool, i32, String) {
    let name = ResourceName::new(&resource.metadata.name);
    (!name.is_tiltfile(), resource.status.order, name.to_string())
}

/// The view as JSON text, piece by piece: session, resources, buttons, clusters, and every line of log up to now.
pub fn pieces(reader: Reader, objects: Option<&ApiReader>) -> impl Iterator<Item = String> + use<> {
    redacted_pieces(reader, objects, Redactor::default())
}

fn redacted_pieces(
    reader: Reader,
    objects: Option<&ApiReader>,
    redactor: Redactor,
) -> impl Iterator<Item = String> + use<> {
    let mut state = whole_state(&reader, objects);
    snapshot::redact_values(&mut state, &redactor);
    let mut view = state.to_string();
    // The brace that ends it.
    view.pop();
    Pieces { redactor, ..Pieces::new(reader, format!("{view},\"logList\":{{\"segments\":["), "}}") }
}

/// Kinds of the object API that Tilt's view has, under which names.
const KINDS: [(&str, &str); 2] = [("UIButton", "uiButtons"), ("Cluster", "clusters")];

/// More than a Tiltfile has.
const MOST_OBJECTS: usize = 10_000;

fn whole_state(reader: &Reader, objects: Option<&ApiReader>) -> Value {
    let mut all = reader.changes_since(0);
    all.resources.sort_by_cached_key(rank);
    let mut view = json!({
        "uiResources": all.resources,
        "tiltStartTime": started(reader),
        "isComplete": true,
    });
    if let Some(session) = all.session {
        view["uiSession"] = json!(session);
    }
    for (kind, name) in objects.into_iter().flat_map(|_| KINDS) {
        view[name] = json!(objects_of(objects, kind));
    }
    view
}

/// All objects of a kind.
fn objects_of(objects: Option<&ApiReader>, kind: &'static str) -> Vec<Value> {
    let found = objects.map(|objects| objects.list(kind, None, MOST_OBJECTS).1).unwrap_or_default();
    // The store holds nothing but objects.
    found.iter().filter_map(|object| serde_json::from_str(&object.text).ok()).collect()
}

fn started(reader: &Reader) -> Option<Timestamp> {
    reader.changes_since(0).session.and_then(|session| session.status.tilt_start_time)
}

/// A list of log segments, with what stands before and behind it.
struct Pieces {
    reader: Reader,
    next: u64,
    /// Lines that come while the view is made are left out.
    end: u64,
    first: bool,
    /// The spans of the lines so far, with their resources.
    spans: BTreeMap<String, String>,
    begin: Option<String>,
    /// None once it was given.
    closing: Option<&'static str>,
    /// Redacts lines that were kept before their secrets were known.
    redactor: Redactor,
}

impl Iterator for Pieces {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if let Some(begin) = self.begin.take() {
            return Some(begin);
        }
        let closing = self.closing?;
        let segments = self.segments();
        if !segments.is_empty() {
            return Some(segments);
        }
        self.closing = None;
        Some(self.ending(closing))
    }
}

impl Pieces {
    fn new(reader: Reader, begin: String, closing: &'static str) -> Self {
        let end = reader.logs().end();
        let (begin, closing) = (Some(begin), Some(closing));
        let redactor = Redactor::default();
        Pieces { reader, next: 0, end, first: true, spans: BTreeMap::new(), begin, closing, redactor }
    }

    /// The next lines, about [`PIECE`] bytes of them; empty if there are no more.
    fn segments(&mut self) -> String {
        let mut text = String::new();
        while text.len() < PIECE && self.next < self.end {
            let Some(lines) = self.reader.logs().take(&Filter::default(), self.next, PAGE) else { break };
            for line in lines.iter() {
                if line.seq >= self.end || text.len() >= PIECE {
                    self.next = line.seq.min(self.end);
                    return text;
                }
                self.push(line.to_line(), &mut text);
            }
            self.next = lines.next;
        }
        text
    }

    fn push(&mut self, mut line: Line, text: &mut String) {
        self.redactor.redact_in_place(&mut line.text);
        if !std::mem::take(&mut self.first) {
            text.push(',');
        }
        text.push_str(&segment(&line).to_string());
        let resource = || line.resource.as_ref().map(ToString::to_string).unwrap_or_default();
        self.spans.entry(line.span.to_string()).or_insert_with(resource);
    }

    fn ending(&self, closing: &str) -> String {
        let named = |(span, resource): (&String, &String)| (span.clone(), json!({"manifestName": resource}));
        let spans: serde_json::Map<_, _> = self.spans.iter().map(named).collect();
        format!("],\"spans\":{},\"toCheckpoint\":{}{closing}", serde_json::Value::Object(spans), self.end)
    }
}

/// A line as Tilt tells it.
fn segment(line: &Line) -> Value {
    json!({
        "spanId": line.span,
        "time": line.time,
        "text": if line.open { line.text.clone() } else { format!("{}\n", line.text) },
        "level": level(line.level),
    })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERROR",
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::SpanId;
    use lilt_model::log::Source;
    use lilt_store::LogWriter;

    use super::*;

    #[test]
    fn pieces_are_bounded_by_bytes_and_have_every_line() {
        let (writer, logs) = LogWriter::open(None, || Timestamp(7));
        let (_objects, reader) = lilt_store::open(logs);
        let mut span = writer.span(SpanId::new("a"), None, Source::Runtime);
        for _ in 0..50 {
            span.write(&[&[b'x'; 50_000][..], b"\n"].concat());
        }
        let pieces: Vec<String> = pieces(reader, None).collect();
        let longest = pieces.iter().map(String::len).max();
        assert!(longest.is_some_and(|longest| longest < PIECE + 60_000), "{longest:?}");
        let view: Value = serde_json::from_str(&pieces.concat()).expect("JSON");
        assert_eq!(view["logList"]["segments"].as_array().map(Vec::len), Some(50));
    }
}
