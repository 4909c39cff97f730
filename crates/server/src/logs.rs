//! `GET /api/logs`: streams the lines of the log that match a filter, as JSON objects or text, and optionally follows.
//!
//! The client's speed sets the pace: the next lines are read when the client has taken the last ones.

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use lilt_model::escape::plain;
use lilt_store::{Filter, LineRef, LogReader};
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::log_query::{self, QueryError, blocking, check_resource, invalid_parameter, unknown_parameter};

/// The size in bytes at which a chunk of the response is sent.
const CHUNK: usize = 64 * 1024;
/// How many lines are read at once.
const PAGE: usize = 1000;
/// The header with the number of lines at the beginning of the response that are no longer stored.
pub const MISSING: &str = "lilt-lines-missing";
/// The header with the number of lines of the matching resources and sources that could not be written to disk. Warnings
/// among the lines show where.
pub const LOST: &str = "lilt-lines-lost";

/// A filter (see [`log_query::add_parameter`]) and `from=N&tail=N&follow=true&format=text&download=NAME`, all optional.
#[derive(Debug, Default)]
struct LogsQuery {
    filter: Filter,
    /// The number of the first line.
    from: Option<u64>,
    tail: Option<usize>,
    follow: bool,
    format: Format,
    /// The name of the file for the browser to save.
    download: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Format {
    /// One object per line.
    #[default]
    Json,
    /// For people, without colours.
    Text,
}

impl LogsQuery {
    fn read(parameters: &[(String, String)]) -> Result<LogsQuery, QueryError> {
        let mut query = LogsQuery::default();
        for (name, value) in parameters {
            let wrong = || invalid_parameter(name, value);
            match name.as_str() {
                "from" => query.from = Some(value.parse().map_err(|_| wrong())?),
                "tail" => query.tail = Some(value.parse().map_err(|_| wrong())?),
                "follow" => query.follow = value.parse().map_err(|_| wrong())?,
                "format" => {
                    query.format = match value.as_str() {
                        "json" => Format::Json,
                        "text" => Format::Text,
                        _ => return Err(wrong()),
                    }
                }
                "download" => query.download = Some(value.clone()),
                _ if log_query::add_parameter(&mut query.filter, name, value)? => {}
                _ => return Err(unknown_parameter(name)),
            }
        }
        Ok(query)
    }

    fn headers(&self, missing: u64, lost: u64) -> HeaderMap {
        let kind = match self.format {
            Format::Json => "application/x-ndjson",
            Format::Text => "text/plain; charset=utf-8",
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(HeaderName::from_static(MISSING), HeaderValue::from(missing));
        headers.insert(HeaderName::from_static(LOST), HeaderValue::from(lost));
        if let Some(name) = &self.download {
            // The file's name must not end the quoted string of the header.
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            let name: String = name.chars().map(|it| if plain(it) { it } else { '_' }).collect();
            if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
                headers.insert(header::CONTENT_DISPOSITION, value);
            }
        }
        headers
    }

    fn write(&self, line: &LineRef<'_>, chunk: &mut Vec<u8>) {
        match self.format {
            Format::Json => {
                // Writing to memory does not fail, and every line can be written as JSON.
                let _ = serde_json::to_writer(&mut *chunk, line);
                chunk.push(b'\n');
            }
            Format::Text => {
                if !line.continues && self.filter.resources.len() != 1 {
                    let name = line.resource.map_or("", |name| name.as_str());
                    chunk.extend_from_slice(format!("{name} │ ").as_bytes());
                }
                chunk.extend_from_slice(plain(line.text).as_bytes());
                if !line.open {
                    chunk.push(b'\n');
                }
            }
        }
    }
}

pub(crate) async fn logs(
    State(context): State<Context>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Response, Response> {
    let query = LogsQuery::read(&parameters).map_err(IntoResponse::into_response)?;
    for resource in &query.filter.resources {
        check_resource(&context.reader, resource).map_err(IntoResponse::into_response)?;
    }
    let logs = context.reader.logs().clone();
    let disconnected = CancellationToken::new();
    // Cancels the search when the client disconnects.
    let guard = disconnected.clone().drop_guard();
    let mut log_stream =
        LogStream { logs, next: 0, end: 0, query, disconnected, ending: context.closing.clone() };
    let log_stream = blocking(move || {
        log_stream.begin();
        log_stream
    });
    let log_stream = log_stream.await?;
    let headers =
        log_stream.query.headers(log_stream.missing(), log_stream.logs.lost(&log_stream.query.filter));
    let chunks = stream::unfold((log_stream, guard), |(log_stream, guard)| async move {
        let (chunk, log_stream) = log_stream.next_chunk().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), (log_stream, guard)))
    });
    Ok((headers, Body::from_stream(chunks)).into_response())
}

struct LogStream {
    logs: LogReader,
    query: LogsQuery,
    next: u64,
    /// Where to end unless the client follows.
    end: u64,
    /// Cancelled when the client disconnects.
    disconnected: CancellationToken,
    /// Cancelled when the session ends.
    ending: CancellationToken,
}

impl LogStream {
    fn begin(&mut self) {
        self.logs.store_partial();
        self.end = self.logs.end();
        if let Some(count) = self.query.tail {
            self.next = self.logs.tail(&self.query.filter, count, &|| !self.disconnected.is_cancelled());
        }
        self.next = self.next.max(self.query.from.unwrap_or_default());
    }

    fn missing(&self) -> u64 {
        if self.query.tail.is_some() || self.query.filter.since.is_some() {
            0
        } else {
            self.logs.begin().saturating_sub(self.query.from.unwrap_or_default())
        }
    }

    /// Returns the next chunk; none at the end.
    async fn next_chunk(mut self) -> Option<(Bytes, LogStream)> {
        loop {
            // Checked before reading, so that the last read is complete.
            let over = self.ending.is_cancelled();
            let (chunk, log_stream) = blocking(move || {
                let chunk = self.read_chunk();
                (chunk, self)
            })
            .await
            .ok()?;
            self = log_stream;
            if !chunk.is_empty() {
                return Some((Bytes::from(chunk), self));
            }
            if self.next < self.logs.end().min(self.end) {
                continue;
            }
            if !self.query.follow || (over && self.end == u64::MAX) {
                return None;
            }
            tokio::select! {
                _ = self.logs.grown(self.next) => {}
                // Read once more, for the last lines.
                () = self.ending.cancelled() => {}
            }
            self.end = u64::MAX;
        }
    }

    /// Returns the next lines; empty if there are none now, or none in the part that was searched.
    fn read_chunk(&mut self) -> Vec<u8> {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK && self.next < self.end && !self.disconnected.is_cancelled() {
            let Some(lines) = self.logs.take(&self.query.filter, self.next, PAGE) else { break };
            for line in lines.iter() {
                if line.seq >= self.end || chunk.len() >= CHUNK {
                    self.next = line.seq.min(self.end);
                    return chunk;
                }
                self.query.write(&line, &mut chunk);
            }
            self.next = lines.next;
        }
        chunk
    }
}
