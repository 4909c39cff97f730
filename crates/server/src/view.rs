//! The state of a session in the form of Tilt's `/api/view`, for dumps and snapshots.

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
use lilt_api::{ObjectKind, UIResource};
use lilt_model::escape;
use lilt_model::log::{Level, Line};
use lilt_model::secret::{Redactor, redact_values};
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_store::{Filter, Reader};
use serde_json::{Value, json};

use crate::Context;
use crate::log_query::blocking;
pub(crate) use snapshot::snapshot;
pub use snapshot::{Beyond, Reports, SNAPSHOT_BEGIN, snapshot_end, snapshot_view};

/// How many lines are read from the log at once.
const PAGE: usize = 1000;
/// The size in bytes at which a piece of the view is sent, so that memory is bounded however long the log is.
const PIECE: usize = 64 * 1024;

/// `GET /api/view`
pub(crate) async fn view(State(context): State<Context>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body(pieces(context.reader))).into_response()
}

/// `GET /api/dump/logstore`: all log lines up to now.
pub(crate) async fn logs(State(context): State<Context>) -> Response {
    let pieces = Pieces::new(context.reader, "{\"segments\":[".to_owned(), "}");
    ([(header::CONTENT_TYPE, "application/json")], body(pieces)).into_response()
}

/// Streams pieces. The next one is generated when the client has taken the last one, on a thread for blocking work.
fn body(pieces: impl Iterator<Item = String> + Send + 'static) -> Body {
    Body::from_stream(stream::unfold(pieces, |mut pieces| async move {
        let next = blocking(move || pieces.next().map(|piece| (piece, pieces)));
        next.await.ok().flatten().map(|(piece, pieces)| (Ok::<_, Infallible>(piece), pieces))
    }))
}

/// `GET /api/resources`: the current resources, in the Tiltfile's order.
pub(crate) async fn resources(State(context): State<Context>) -> Json<Vec<Arc<UIResource>>> {
    let mut resources = context.reader.changes_since(0).resources;
    resources.sort_by_cached_key(rank);
    Json(resources)
}

/// Returns the sort key of a resource: the Tiltfile first, then in the order of declaration.
fn rank(resource: &Arc<UIResource>) -> (bool, i32, String) {
    let name = ResourceName::new(&resource.metadata.name);
    (!name.is_tiltfile(), resource.status.order, name.to_string())
}

/// Returns the view as JSON text in pieces: session, resources, buttons, clusters, and all log lines up to now.
pub fn pieces(reader: Reader) -> impl Iterator<Item = String> + use<> {
    redacted_pieces(reader, Redactor::default())
}

fn redacted_pieces(reader: Reader, redactor: Redactor) -> impl Iterator<Item = String> + use<> {
    let mut view = redact_values("", whole_state(&reader), &redactor).to_string();
    // The closing brace.
    view.pop();
    Pieces { redactor, ..Pieces::new(reader, format!("{view},\"logList\":{{\"segments\":["), "}}") }
}

/// Kinds of the object API in Tilt's view, with the names of their fields.
const KINDS: [(ObjectKind, &str); 2] =
    [(ObjectKind::UIButton, "uiButtons"), (ObjectKind::Cluster, "clusters")];

/// More than Tiltfiles have.
const MOST_OBJECTS: usize = 10_000;

fn whole_state(reader: &Reader) -> Value {
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
    for (kind, name) in KINDS {
        view[name] = json!(objects_of(reader, kind));
    }
    view
}

/// Returns all objects of a kind.
fn objects_of(reader: &Reader, kind: ObjectKind) -> Vec<Value> {
    let (_, found) = reader.list(kind, None, MOST_OBJECTS);
    // All objects of the store are valid.
    found.iter().filter_map(|object| serde_json::from_str(object.text()).ok()).collect()
}

fn started(reader: &Reader) -> Option<Timestamp> {
    reader.changes_since(0).session.and_then(|session| session.status.tilt_start_time)
}

/// Generates the list of log segments, with the text before and after it.
struct Pieces {
    reader: Reader,
    next: u64,
    /// Later lines are not included.
    end: u64,
    first: bool,
    /// The resources of the spans so far.
    spans: BTreeMap<String, String>,
    begin: Option<String>,
    /// The text after the list; none once it was returned.
    closing: Option<&'static str>,
    /// Redacts lines that were stored before their secrets were known.
    redactor: Redactor,
    /// The secrets with several lines that the next line of a span may continue.
    partial: BTreeMap<SpanId, Vec<PartialMatch>>,
}

/// A secret of which the lines before `next` were found.
#[derive(Clone, Copy, Debug)]
struct PartialMatch {
    /// The index among the redactor's blocks.
    block: usize,
    /// The index of the next line of the secret.
    next: usize,
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
        let (spans, partial) = (BTreeMap::new(), BTreeMap::new());
        Pieces { reader, next: 0, end, first: true, spans, begin, closing, redactor, partial }
    }

    /// Returns the next lines, about [`PIECE`] bytes of them; empty if there are no more.
    fn segments(&mut self) -> String {
        let mut text = String::new();
        while text.len() < PIECE && self.next < self.end {
            let Some(lines) = self.reader.logs().take(&Filter::default(), self.next, PAGE) else { break };
            for line in lines.iter() {
                if line.seq >= self.end || text.len() >= PIECE {
                    self.next = line.seq.min(self.end);
                    return text;
                }
                let mut line = line.to_line();
                self.redact(&mut line);
                self.push(&line, &mut text);
            }
            self.next = lines.next;
        }
        text
    }

    /// Redacts a line, which may be a part of a secret with several lines.
    fn redact(&mut self, line: &mut Line) {
        let partial = self.partial.remove(&line.span);
        if !self.redactor.blocks().is_empty() {
            self.redact_block(line, partial.unwrap_or_default());
        }
        self.redactor.redact_in_place(&mut line.text);
    }

    /// Redacts the part of the line that continues a secret in `partial`, or begins one.
    ///
    /// The first line of a secret may be a common one, so whether it begins one depends on the next line of its span.
    fn redact_block(&mut self, line: &mut Line, mut partial: Vec<PartialMatch>) {
        let plain = escape::plain(&line.text).into_owned();
        let blocks = self.redactor.blocks();
        let end_in = |it: &PartialMatch| blocks[it.block].continues_in(plain.as_bytes(), it.next);
        partial.retain(|it| end_in(it).is_some());
        if let Some((block, end)) = partial.first().and_then(|it| Some((it.block, end_in(it)?))) {
            let rest = plain.get(end..).unwrap_or_default();
            line.text = format!("{}{rest}", blocks[block].replacement);
            partial.retain(|it| !blocks[it.block].is_last(it.next));
            partial.iter_mut().for_each(|it| it.next += 1);
        } else {
            let started = self.redactor.blocks_starting_in(plain.as_bytes());
            let started: Vec<(usize, usize)> = started.collect();
            let Some(next) = (!started.is_empty()).then(|| self.line_after(line)).flatten() else { return };
            let next = escape::plain(&next);
            let goes_on =
                |(block, _): &(usize, usize)| blocks[*block].continues_in(next.as_bytes(), 1).is_some();
            let started: Vec<(usize, usize)> = started.into_iter().filter(goes_on).collect();
            let Some((block, from)) = started.first() else { return };
            let before = plain.get(..*from).unwrap_or_default();
            line.text = format!("{before}{}", blocks[*block].replacement);
            partial = started.iter().map(|(block, _)| PartialMatch { block: *block, next: 1 }).collect();
        }
        if !partial.is_empty() {
            self.partial.insert(line.span.clone(), partial);
        }
    }

    /// Returns the text of the next line of the same span.
    fn line_after(&self, line: &Line) -> Option<String> {
        let filter = Filter { span: Some(line.span.clone()), ..Filter::default() };
        let mut next = line.seq + 1;
        while next < self.end {
            let found = self.reader.logs().take(&filter, next, 1)?;
            if let Some(found) = found.iter().find(|found| *found.span == line.span) {
                return Some(found.text.to_owned());
            }
            next = found.next;
        }
        None
    }

    fn push(&mut self, line: &Line, text: &mut String) {
        if !std::mem::take(&mut self.first) {
            text.push(',');
        }
        text.push_str(&segment(line).to_string());
        let resource = || line.resource.as_ref().map(ToString::to_string).unwrap_or_default();
        self.spans.entry(line.span.to_string()).or_insert_with(resource);
    }

    fn ending(&self, closing: &str) -> String {
        let named = |(span, resource): (&String, &String)| (span.clone(), json!({"manifestName": resource}));
        let spans: serde_json::Map<_, _> = self.spans.iter().map(named).collect();
        format!("],\"spans\":{},\"toCheckpoint\":{}{closing}", serde_json::Value::Object(spans), self.end)
    }
}

/// Returns a line as a log segment of Tilt.
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
    use lilt_model::log::Source;
    use lilt_model::secret::Secret;
    use lilt_store::LogWriter;

    use super::*;

    #[test]
    fn pieces_are_bounded_by_bytes_and_have_every_line() {
        let (writer, logs) = LogWriter::open(None, || Timestamp(7));
        let (_writer, _queries, reader) = lilt_store::open(logs);
        let mut span = writer.span(SpanId::new("a"), None, Source::Runtime);
        for _ in 0..50 {
            span.write(&[&[b'x'; 50_000][..], b"\n"].concat());
        }
        let pieces: Vec<String> = pieces(reader).collect();
        let longest = pieces.iter().map(String::len).max();
        assert!(longest.is_some_and(|longest| longest < PIECE + 60_000), "{longest:?}");
        let view: Value = serde_json::from_str(&pieces.concat()).expect("JSON");
        assert_eq!(view["logList"]["segments"].as_array().map(Vec::len), Some(50));
    }

    #[test]
    fn secret_with_several_lines_that_became_known_later_is_redacted() {
        let (writer, logs) = LogWriter::open(None, || Timestamp(7));
        let (_writer, _queries, reader) = lilt_store::open(logs);
        let mut span = writer.span(SpanId::new("a"), None, Source::Runtime);
        let mut other = writer.span(SpanId::new("b"), None, Source::Runtime);
        let lines = ["{ other", "key: {", "  \"a\": 1", "}, end", "{", "nothing"];
        for line in lines {
            span.write(format!("{line}\n").as_bytes());
            other.write(b"between\n");
        }
        let value = b"{\n\"a\": 1\n}".to_vec();
        let secret =
            Secret { name: "db".into(), key: "json".into(), value, encoded: "ewoiYSI6IDEKfQ==".into() };
        let view = redacted_pieces(reader, Redactor::new(&[secret]));
        let view: Value = serde_json::from_str(&view.collect::<String>()).expect("JSON");
        let segments = view["logList"]["segments"].as_array().expect("segments");
        let texts: Vec<&str> =
            segments.iter().filter(|it| it["spanId"] == "a").filter_map(|it| it["text"].as_str()).collect();
        let hidden = "[redacted secret db:json]";
        assert_eq!(
            texts,
            [
                "{ other\n".to_owned(),
                format!("key: {hidden}\n"),
                format!("{hidden}\n"),
                format!("{hidden}, end\n"),
                "{\n".to_owned(),
                "nothing\n".to_owned(),
            ]
        );
    }
}
