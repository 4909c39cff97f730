//! `GET /api/lines`: a page of the log, forwards or backwards from a line, for readers who scroll.
//!
//! A page is bounded in lines, in bytes and in how much is searched for it, so that the response is fast even if nothing
//! matches. `next` is where to continue.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use lilt_model::log::Line;
use lilt_model::{ResourceName, SpanId};
use lilt_store::{Filter, LogReader};
use serde::{Deserialize, Serialize};

use crate::Context;
use crate::log_query::{self, QueryError, blocking, invalid_parameter, malformed, unknown_parameter};

/// The maximum number of lines of a page.
pub const LINES_PER_PAGE: usize = 2_000;

/// The maximum size of a page, which its last line may exceed: a single line may have a megabyte.
const BYTES_PER_PAGE: usize = 1024 * 1024;

/// The number of fruitless searches after which a page ends. Each search reads some dozen megabytes.
const MAX_FRUITLESS_SEARCHES: usize = 8;

/// The response to `GET /api/lines`.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LogPage {
    /// The lines in order.
    pub lines: Vec<Line>,
    /// Where to continue: `from` this number forwards, or `before` it backwards. None: there are no more lines now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub next: Option<u64>,
    /// The number of the oldest stored line.
    pub begin: u64,
    /// The number that the next line of the session will get.
    pub end: u64,
}

/// The response to `GET /api/sections`.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LogSections {
    /// Oldest first.
    pub sections: Vec<SpanId>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    From(u64),
    Before(u64),
}

/// Handles `?from=N` or `?before=N`, `&count=N` and a filter (see [`log_query::add_parameter`]).
pub(crate) async fn lines(
    State(context): State<Context>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Json<LogPage>, Response> {
    let (filter, start, count) = read(&parameters).map_err(IntoResponse::into_response)?;
    let logs = context.reader.logs().clone();
    Ok(Json(blocking(move || page(&logs, &filter, start, count)).await?))
}

fn read(parameters: &[(String, String)]) -> Result<(Filter, Start, usize), QueryError> {
    let mut filter = Filter::default();
    let mut start = None;
    let mut count = LINES_PER_PAGE;
    for (name, value) in parameters {
        let number = || value.parse::<u64>().map_err(|_| invalid_parameter(name, value));
        match name.as_str() {
            "from" => start = Some(Start::From(number()?)),
            "before" => start = Some(Start::Before(number()?)),
            "count" => count = usize::try_from(number()?).unwrap_or(count).clamp(1, LINES_PER_PAGE),
            _ if log_query::add_parameter(&mut filter, name, value)? => {}
            _ => return Err(unknown_parameter(name)),
        }
    }
    let start = start.ok_or_else(|| malformed("from or before must say where".to_owned()))?;
    Ok((filter, start, count))
}

fn page(logs: &LogReader, filter: &Filter, start: Start, count: usize) -> LogPage {
    logs.store_partial();
    // Before searching, so that a reader who continues at the end misses nothing.
    let end = logs.end();
    let (lines, next) = match start {
        Start::From(from) => forwards(logs, filter, from, count),
        Start::Before(before) => backwards(logs, filter, before.min(end), count),
    };
    LogPage { lines, next, begin: logs.begin(), end }
}

/// Returns matching lines from a number on, and where to continue; none at the end.
pub(crate) fn forwards(
    logs: &LogReader,
    filter: &Filter,
    from: u64,
    count: usize,
) -> (Vec<Line>, Option<u64>) {
    let mut budget = PageBudget::new(count);
    let mut lines = Vec::new();
    let mut next = from;
    while budget.is_left() {
        let Some(found) = logs.take(filter, next, budget.lines) else { return (lines, None) };
        next = found.next;
        lines.extend(found.iter().map(|line| budget.take(line.text.len(), line.to_line())));
        budget.searched(found.is_empty());
    }
    (lines, (next < logs.end()).then_some(next))
}

fn backwards(logs: &LogReader, filter: &Filter, before: u64, count: usize) -> (Vec<Line>, Option<u64>) {
    let mut budget = PageBudget::new(count);
    let mut parts: Vec<Vec<Line>> = Vec::new();
    let mut next = Some(before);
    while let Some(before) = next.filter(|_| budget.is_left()) {
        let found = logs.take_back(filter, before, budget.lines);
        next = found.as_ref().map(|found| found.next);
        if let Some(found) = found {
            parts.push(found.iter().map(|line| budget.take(line.text.len(), line.to_line())).collect());
            budget.searched(found.is_empty());
        }
    }
    let lines = parts.into_iter().rev().flatten().collect();
    (lines, next.filter(|next| *next > logs.begin()))
}

/// What may still be added to a page.
struct PageBudget {
    lines: usize,
    bytes: usize,
    searches: usize,
}

impl PageBudget {
    fn new(lines: usize) -> Self {
        Self { lines, bytes: BYTES_PER_PAGE, searches: MAX_FRUITLESS_SEARCHES }
    }

    fn is_left(&self) -> bool {
        self.lines > 0 && self.bytes > 0 && self.searches > 0
    }

    fn take(&mut self, size: usize, line: Line) -> Line {
        self.lines = self.lines.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(size);
        line
    }

    fn searched(&mut self, is_fruitless: bool) {
        self.searches -= usize::from(is_fruitless);
    }
}

#[derive(Deserialize)]
pub(crate) struct SectionsQuery {
    resource: ResourceName,
}

/// `GET /api/sections?resource=NAME`: the pods, containers and servers that wrote the log of a resource.
pub(crate) async fn sections(
    State(context): State<Context>,
    Query(SectionsQuery { resource }): Query<SectionsQuery>,
) -> Json<LogSections> {
    Json(LogSections { sections: context.reader.logs().sections(&resource) })
}
