//! Getting, listing and watching objects.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::stream;
use lilt_api::kinds::Kind;
use lilt_store::{Key, Snapshot, WatchEvent, WatchEventType};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::select::Selector;
use super::status_error::{StatusError, json_response};
use super::table::{Attached, partial, table};

/// The minimum time between two messages to a watcher: the first change is sent at once, following ones are batched.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// The maximum number of bytes that an event adds to its object.
const MAX_FRAME: usize = "{\"type\":\"MODIFIED\",\"object\":}\n".len();

/// How often a watcher without events gets a bookmark with the newest version.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(30);

/// The parameters of a list or a watch.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListQuery {
    label_selector: Option<String>,
    field_selector: Option<String>,
    limit: Option<usize>,
    r#continue: Option<String>,
    watch: Option<String>,
    resource_version: Option<String>,
    allow_watch_bookmarks: Option<String>,
    send_initial_events: Option<String>,
    timeout_seconds: Option<u64>,
    include_object: Option<String>,
}

pub(crate) fn is_true(value: Option<&str>) -> bool {
    value.is_some_and(|value| value != "false" && value != "0")
}

impl ListQuery {
    pub(crate) fn is_watch(&self) -> bool {
        is_true(self.watch.as_deref())
    }

    pub(crate) fn selector(&self) -> Result<Selector, StatusError> {
        Selector::parse(self.label_selector.as_deref(), self.field_selector.as_deref())
    }

    fn attached(&self) -> Attached {
        match self.include_object.as_deref() {
            Some("Object") => Attached::Whole,
            Some("None") => Attached::Nothing,
            _ => Attached::Metadata,
        }
    }
}

/// The representation that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Whole,
    Table(Attached),
    Metadata,
}

impl Shape {
    fn accepted(headers: &HeaderMap, attached: Attached) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // The first one that is supported; plain objects if none was requested.
        for form in accept.split(',') {
            if form.contains("as=Table") && form.contains("g=meta.k8s.io") {
                return Shape::Table(attached);
            }
            if form.contains("as=PartialObjectMetadata") {
                return Shape::Metadata;
            }
            if form.trim() == "application/json" {
                return Shape::Whole;
            }
        }
        Shape::Whole
    }

    /// Returns one object in this representation.
    fn of(self, api: &Api, kind: &Kind, text: &str) -> String {
        let read = || serde_json::from_str::<Value>(text).unwrap_or_default();
        match self {
            Shape::Whole => text.to_owned(),
            Shape::Table(attached) => table(kind, &[read()], attached, (api.clock)()).to_string(),
            Shape::Metadata => partial(&read()).to_string(),
        }
    }
}

pub(crate) fn get(
    api: &Api,
    kind: &'static Kind,
    name: &str,
    query: &ListQuery,
    headers: &HeaderMap,
) -> Result<Response, StatusError> {
    let found =
        api.reader.get(&Key::new(kind.kind, name)).ok_or_else(|| StatusError::not_found(kind, name))?;
    let shape = Shape::accepted(headers, query.attached());
    Ok(json_response(StatusCode::OK, shape.of(api, kind, found.text())))
}

pub(crate) fn list(
    api: &Api,
    kind: &'static Kind,
    query: &ListQuery,
    headers: &HeaderMap,
) -> Result<Response, StatusError> {
    let selector = query.selector()?;
    let after = query.r#continue.as_deref().filter(|token| !token.is_empty()).map(read_token).transpose()?;
    let limit = query.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let (version, found) = api.reader.list(kind.kind, after.as_deref(), usize::MAX);
    let mut chosen: Vec<Snapshot> =
        found.into_iter().filter(|object| selector.matches_text(object.text())).collect();
    let remaining = chosen.len().saturating_sub(limit);
    chosen.truncate(limit);
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if remaining > 0 {
        let last = chosen.last().map(|object| &*object.key.name).unwrap_or_default();
        metadata["continue"] = json!(BASE64_URL_SAFE_NO_PAD.encode(last));
        if selector.selects_everything() {
            metadata["remainingItemCount"] = json!(remaining);
        }
    }
    let shape = Shape::accepted(headers, query.attached());
    Ok(json_response(StatusCode::OK, list_text(api, kind, shape, &metadata, &chosen)))
}

fn read_token(token: &str) -> Result<String, StatusError> {
    let name = BASE64_URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| StatusError::bad_request("continue key is not valid"))
}

fn list_text(api: &Api, kind: &Kind, shape: Shape, metadata: &Value, objects: &[Snapshot]) -> String {
    let read = || objects.iter().filter_map(|object| serde_json::from_str(object.text()).ok());
    match shape {
        Shape::Whole => {
            let items: Vec<&str> = objects.iter().map(|object| &**object.text()).collect();
            let items = items.join(",");
            format!(
                "{{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"{}List\",\"metadata\":{metadata},\"items\":[{items}]}}",
                kind.name
            )
        }
        Shape::Table(attached) => {
            let mut table = table(kind, &read().collect::<Vec<Value>>(), attached, (api.clock)());
            table["metadata"] = metadata.clone();
            table.to_string()
        }
        Shape::Metadata => {
            let items: Vec<Value> = read().map(|object: Value| partial(&object)).collect();
            json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": metadata, "items": items,
            })
            .to_string()
        }
    }
}

/// Streams changes, one JSON document per line, until the client goes, its time is over or the session ends.
pub(crate) fn watch(
    api: &Api,
    kind: &'static Kind,
    query: &ListQuery,
    headers: &HeaderMap,
) -> Result<Response, StatusError> {
    let shape = Shape::accepted(headers, query.attached());
    let from = query.resource_version.as_deref().filter(|text| !text.is_empty() && *text != "0");
    let initial = from.is_none() || is_true(query.send_initial_events.as_deref());
    let mut watch = Watch {
        api: api.clone(),
        kind,
        shape,
        selector: query.selector()?,
        version: 0,
        bookmarks: is_true(query.allow_watch_bookmarks.as_deref()),
        bookmark_at: tokio::time::Instant::now() + BOOKMARK_PERIOD,
        ends: query.timeout_seconds.map(|seconds| tokio::time::Instant::now() + Duration::from_secs(seconds)),
        ended: false,
        last_sent: None,
    };
    let first = if initial {
        watch.initial_chunk(is_true(query.send_initial_events.as_deref()))
    } else {
        let invalid = || StatusError::bad_request("the resourceVersion is no number");
        watch.version = from.unwrap_or_default().parse().map_err(|_| invalid())?;
        // A version that is too old is refused at once.
        api.reader
            .events_since(kind.kind, watch.version)
            .map_err(|expired| StatusError::expired(expired.newest))?;
        String::new()
    };
    let events = stream::unfold((watch, Some(first)), |(mut watch, first)| async move {
        let text = match first.filter(|text| !text.is_empty()) {
            Some(text) => text,
            None => watch.next_chunk().await?,
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), (watch, None)))
    });
    Ok(json_response(StatusCode::OK, Body::from_stream(events)))
}

struct Watch {
    api: Api,
    kind: &'static Kind,
    shape: Shape,
    selector: Selector,
    /// The version up to which all changes were sent.
    version: u64,
    bookmarks: bool,
    /// When the next bookmark is due.
    bookmark_at: tokio::time::Instant,
    ends: Option<tokio::time::Instant>,
    ended: bool,
    /// When the last events were sent.
    last_sent: Option<tokio::time::Instant>,
}

impl Watch {
    /// Returns all objects as if they had just been added, with a bookmark at the end if that is wanted.
    fn initial_chunk(&mut self, marks_end: bool) -> String {
        let (version, objects) = self.api.reader.list(self.kind.kind, None, usize::MAX);
        self.version = version;
        let chosen = objects.iter().filter(|object| self.selector.matches_text(object.text()));
        let mut text = String::new();
        for object in chosen {
            self.write_as(&mut text, WatchEventType::Added, object.text());
        }
        if marks_end && self.bookmarks {
            text.push_str(&self.bookmark(true));
        }
        text
    }

    /// Returns the next events, as many as there are; none when the stream ends.
    async fn next_chunk(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        loop {
            let end = async {
                match self.ends {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.api.closing.cancelled() => return None,
                // So that a client that reconnects can continue from here, even without events for long.
                () = end => {
                    self.ended = true;
                    return self.bookmarks.then(|| self.bookmark(false));
                }
                () = tokio::time::sleep_until(self.bookmark_at), if self.bookmarks => {
                    return Some(self.bookmark(false));
                }
                () = self.wait_for_changes() => {}
            }
            match self.api.reader.events_since(self.kind.kind, self.version) {
                Err(expired) => {
                    // It is too far behind and has to list again.
                    self.ended = true;
                    let status = StatusError::expired(expired.newest).to_json();
                    return Some(format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n"));
                }
                Ok((version, events)) => {
                    self.version = version;
                    let text = self.write_all(&events);
                    if !text.is_empty() {
                        let now = tokio::time::Instant::now();
                        self.last_sent = Some(now);
                        self.bookmark_at = now + BOOKMARK_PERIOD;
                        return Some(text);
                    }
                }
            }
        }
    }

    /// Waits for changes, and until the next events may be sent.
    async fn wait_for_changes(&self) {
        self.api.reader.changed(self.version).await;
        if let Some(last_sent) = self.last_sent {
            tokio::time::sleep_until(last_sent + MIN_INTERVAL).await;
        }
    }

    /// Writes events into one text, allocated once. With many watchers this is the main cost.
    fn write_all(&self, events: &[Arc<WatchEvent>]) -> String {
        let capacity = if self.selector.selects_everything() {
            events.iter().map(|event| event.object.text().len() + MAX_FRAME).sum()
        } else {
            0
        };
        let mut text = String::with_capacity(capacity);
        for event in events {
            self.write(&mut text, event);
        }
        text
    }

    /// Writes an event. An object that begins to match is added for this watcher, one that no longer matches is deleted.
    fn write(&self, out: &mut String, event: &WatchEvent) {
        let object = &event.object;
        if self.selector.selects_everything() {
            return self.write_as(out, event.event_type, object.text());
        }
        let selects = |object: &Snapshot| self.selector.matches_text(object.text());
        let before = event.before.as_ref().is_some_and(selects);
        let now = event.event_type != WatchEventType::Deleted && selects(object);
        match (before, now) {
            (false, true) => self.write_as(out, WatchEventType::Added, object.text()),
            (true, true) => self.write_as(out, WatchEventType::Modified, object.text()),
            (true, false) => self.write_as(out, WatchEventType::Deleted, object.text()),
            (false, false) => {}
        }
    }

    fn write_as(&self, out: &mut String, event_type: WatchEventType, text: &str) {
        let name = match event_type {
            WatchEventType::Added => "ADDED",
            WatchEventType::Modified => "MODIFIED",
            WatchEventType::Deleted => "DELETED",
        };
        out.extend(["{\"type\":\"", name, "\",\"object\":"]);
        match self.shape {
            Shape::Whole => out.push_str(text),
            shape => out.push_str(&shape.of(&self.api, self.kind, text)),
        }
        out.push_str("}\n");
    }

    fn bookmark(&mut self, initial_end: bool) -> String {
        self.bookmark_at = tokio::time::Instant::now() + BOOKMARK_PERIOD;
        let mut metadata = json!({"resourceVersion": self.version.to_string(), "creationTimestamp": null});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = json!({"apiVersion": "tilt.dev/v1alpha1", "kind": self.kind.name, "metadata": metadata});
        format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n")
    }
}

#[cfg(test)]
mod tests {
    use lilt_api::ObjectKind;
    use lilt_api::kinds::kinds;
    use lilt_model::Timestamp;
    use lilt_store::{Draft, LogWriter, Writer};
    use tokio::sync::mpsc;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn watcher(seconds: Option<u64>) -> (Writer, Watch) {
        let (_, logs) = LogWriter::open(None, || Timestamp::ZERO);
        let (writer, _, reader) = lilt_store::open(logs);
        let (writes, _) = mpsc::channel(1);
        let clock = || Timestamp::ZERO;
        let api = Api { reader, writes, clock, version: "0".into(), closing: CancellationToken::new() };
        let now = tokio::time::Instant::now();
        let watch = Watch {
            api,
            kind: kinds().of(ObjectKind::ConfigMap),
            shape: Shape::Whole,
            selector: ListQuery::default().selector().expect("everything"),
            version: 0,
            bookmarks: true,
            bookmark_at: now + BOOKMARK_PERIOD,
            ends: seconds.map(|seconds| now + Duration::from_secs(seconds)),
            ended: false,
            last_sent: None,
        };
        (writer, watch)
    }

    fn put(writer: &mut Writer, kind: ObjectKind, name: &str) {
        let draft = Draft::new(Key::new(kind, name), None, &json!({"name": name}).to_string(), "{}");
        writer.put(draft);
        writer.commit(Timestamp::ZERO);
    }

    fn read(text: Option<String>) -> (String, String) {
        let event: Value = serde_json::from_str(&text.expect("an event")).expect("one document");
        let version = &event["object"]["metadata"]["resourceVersion"];
        (
            event["type"].as_str().unwrap_or_default().to_owned(),
            version.as_str().unwrap_or_default().to_owned(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_watcher_gets_bookmarks_while_other_kinds_change() {
        let (mut writer, mut watch) = watcher(None);
        let busy = async {
            for number in 0..100 {
                put(&mut writer, ObjectKind::UIButton, &number.to_string());
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let chunk = tokio::select! {
            chunk = watch.next_chunk() => chunk,
            () = busy => None,
        };
        let (event_type, version) = read(chunk);
        assert_eq!(
            (event_type.as_str(), version.parse::<u64>().is_ok_and(|version| version >= 29)),
            ("BOOKMARK", true)
        );
        put(&mut writer, ObjectKind::ConfigMap, "one");
        assert_eq!(read(watch.next_chunk().await).0, "ADDED");
    }

    #[tokio::test(start_paused = true)]
    async fn watch_ends_with_a_bookmark() {
        let (mut writer, mut watch) = watcher(Some(10));
        put(&mut writer, ObjectKind::ConfigMap, "one");
        assert_eq!(read(watch.next_chunk().await).0, "ADDED");
        let (event_type, version) = read(watch.next_chunk().await);
        assert_eq!((event_type.as_str(), version.as_str()), ("BOOKMARK", "1"));
        assert_eq!(watch.next_chunk().await, None);
    }
}
