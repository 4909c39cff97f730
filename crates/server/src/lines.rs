//! `GET /api/lines`: a page of the log, forwards or backwards from a line, for readers who scroll.
//!
//! A page is bounded in lines, in bytes and in how much is looked through for it, so that a question for what is nowhere
//! is answered in time, too: `next` says where to go on.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use lilt_model::log::Line;
use lilt_model::{ResourceName, SpanId};
use lilt_store::{Filter, LogReader};
use serde::{Deserialize, Serialize};

use crate::Context;
use crate::question::{self, Refusal, blocking, malformed, no_such_parameter, not_understood};

/// The most lines of a page.
pub const LINES_PER_PAGE: usize = 2_000;

/// Where a page is full: a single line may have a megabyte.
const BYTES_PER_PAGE: usize = 1024 * 1024;

/// Looks without a find after which an answer without lines is given; each goes through some dozen megabytes.
const LOOKS: usize = 8;

/// The answer to `GET /api/lines`.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LogPage {
    /// In order.
    pub lines: Vec<Line>,
    /// Where to go on: `from` this number forwards, `before` it backwards. None: there is nothing more that way, now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub next: Option<u64>,
    /// The number of the oldest line that is kept.
    pub begin: u64,
    /// The number that the next line of the session will get.
    pub end: u64,
}

/// The answer to `GET /api/sections`.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LogSections {
    /// Oldest first.
    pub sections: Vec<SpanId>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    From(u64),
    Before(u64),
}

/// `?from=N` or `?before=N`, `&count=N`, and which lines (see [`question::narrow`]).
pub(crate) async fn lines(
    State(context): State<Context>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Json<LogPage>, Response> {
    let (filter, way, count) = read(&parameters).map_err(IntoResponse::into_response)?;
    let logs = context.reader.logs().clone();
    Ok(Json(blocking(move || page(&logs, &filter, way, count)).await?))
}

fn read(parameters: &[(String, String)]) -> Result<(Filter, Way, usize), Refusal> {
    let mut filter = Filter::default();
    let mut way = None;
    let mut count = LINES_PER_PAGE;
    for (name, value) in parameters {
        let number = || value.parse::<u64>().map_err(|_| not_understood(name, value));
        match name.as_str() {
            "from" => way = Some(Way::From(number()?)),
            "before" => way = Some(Way::Before(number()?)),
            "count" => count = usize::try_from(number()?).unwrap_or(count).clamp(1, LINES_PER_PAGE),
            _ if question::narrow(&mut filter, name, value)? => {}
            _ => return Err(no_such_parameter(name)),
        }
    }
    let way = way.ok_or_else(|| malformed("from or before must say where".to_owned()))?;
    Ok((filter, way, count))
}

fn page(logs: &LogReader, filter: &Filter, way: Way, count: usize) -> LogPage {
    logs.store_partial();
    // Before the look, so that whoever goes on at the end misses nothing.
    let end = logs.end();
    let (lines, next) = match way {
        Way::From(from) => forwards(logs, filter, from, count),
        Way::Before(before) => backwards(logs, filter, before.min(end), count),
    };
    LogPage { lines, next, begin: logs.begin(), end }
}

/// Wanted lines from a number on, and where to go on; none at the end.
pub(crate) fn forwards(
    logs: &LogReader,
    filter: &Filter,
    from: u64,
    count: usize,
) -> (Vec<Line>, Option<u64>) {
    let mut room = Room::new(count);
    let mut lines = Vec::new();
    let mut next = from;
    while room.is_left() {
        let Some(found) = logs.take(filter, next, room.lines) else { return (lines, None) };
        next = found.next;
        lines.extend(found.iter().map(|line| room.take(line.text.len(), line.to_line())));
        room.looked(found.is_empty());
    }
    (lines, (next < logs.end()).then_some(next))
}

fn backwards(logs: &LogReader, filter: &Filter, before: u64, count: usize) -> (Vec<Line>, Option<u64>) {
    let mut room = Room::new(count);
    let mut parts: Vec<Vec<Line>> = Vec::new();
    let mut next = Some(before);
    while let Some(before) = next.filter(|_| room.is_left()) {
        let found = logs.take_back(filter, before, room.lines);
        next = found.as_ref().map(|found| found.next);
        if let Some(found) = found {
            parts.push(found.iter().map(|line| room.take(line.text.len(), line.to_line())).collect());
            room.looked(found.is_empty());
        }
    }
    let lines = parts.into_iter().rev().flatten().collect();
    (lines, next.filter(|next| *next > logs.begin()))
}

/// What a page can still take.
struct Room {
    lines: usize,
    bytes: usize,
    looks: usize,
}

impl Room {
    fn new(lines: usize) -> Self {
        Self { lines, bytes: BYTES_PER_PAGE, looks: LOOKS }
    }

    fn is_left(&self) -> bool {
        self.lines > 0 && self.bytes > 0 && self.looks > 0
    }

    fn take(&mut self, size: usize, line: Line) -> Line {
        self.lines = self.lines.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(size);
        line
    }

    fn looked(&mut self, in_vain: bool) {
        self.looks -= usize::from(in_vain);
    }
}

#[derive(Deserialize)]
pub(crate) struct Whose {
    resource: ResourceName,
}

/// `GET /api/sections?resource=NAME`: the pods, containers and servers that wrote its log.
pub(crate) async fn sections(
    State(context): State<Context>,
    Query(Whose { resource }): Query<Whose>,
) -> Json<LogSections> {
    Json(LogSections { sections: context.reader.logs().sections(&resource) })
}
