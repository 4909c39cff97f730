//! `GET /api/count`: the number of lines that match a filter.
//!
//! One request searches a bounded part of the log. `next` is where to continue counting.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use lilt_store::{Filter, LogReader};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::log_query::{self, QueryError, blocking, invalid_parameter, unknown_parameter};

/// The number of searches for one response. Each reads some dozen megabytes at most.
const MAX_SEARCHES: usize = 256;

/// How many lines are read at once.
const CHUNK: usize = 100_000;

/// The response to `GET /api/count`.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LineCount {
    pub count: u64,
    /// Where to continue: `from` this number.
    pub next: u64,
    /// Whether all lines are counted.
    pub done: bool,
}

/// Handles `?from=N&until=N`, both optional, and a filter (see [`log_query::add_parameter`]).
///
/// Headlines, which match at any level, only count if the filter has a text or a field.
pub(crate) async fn count(
    State(context): State<Context>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Json<LineCount>, Response> {
    let (filter, from, until) = read(&parameters).map_err(IntoResponse::into_response)?;
    let logs = context.reader.logs().clone();
    let disconnected = CancellationToken::new();
    // A client that disconnects drops this future.
    let _guard = disconnected.clone().drop_guard();
    Ok(Json(blocking(move || count_lines(&logs, &filter, from, until, &disconnected)).await?))
}

fn read(parameters: &[(String, String)]) -> Result<(Filter, u64, u64), QueryError> {
    let mut filter = Filter::default();
    let (mut from, mut until) = (0, u64::MAX);
    for (name, value) in parameters {
        let number = || value.parse::<u64>().map_err(|_| invalid_parameter(name, value));
        match name.as_str() {
            "from" => from = number()?,
            "until" => until = number()?,
            _ if log_query::add_parameter(&mut filter, name, value)? => {}
            _ => return Err(unknown_parameter(name)),
        }
    }
    Ok((filter, from, until))
}

fn count_lines(
    logs: &LogReader,
    filter: &Filter,
    from: u64,
    until: u64,
    disconnected: &CancellationToken,
) -> LineCount {
    let end = logs.end().min(until);
    let by_text = filter.text.is_some() || !filter.fields.is_empty();
    let mut count = 0;
    let mut next = from;
    for _ in 0..MAX_SEARCHES {
        if next >= end || disconnected.is_cancelled() {
            break;
        }
        let Some(found) = logs.take(filter, next, CHUNK) else {
            next = end;
            break;
        };
        let counts = found.iter().filter(|line| line.seq < end && (by_text || !line.headline));
        count += counts.count() as u64;
        next = found.next;
    }
    LineCount { count, next: next.min(end), done: next >= end }
}

#[cfg(test)]
mod tests {
    use lilt_model::log::Source;
    use lilt_model::{SpanId, Timestamp};
    use lilt_store::LogWriter;

    use super::*;

    #[test]
    fn counting_stops_when_the_client_disconnects() {
        let (writer, reader) = LogWriter::open(None, || Timestamp(7));
        writer.span(SpanId::new("a"), None, Source::Runtime).write(b"one\ntwo\n");
        let disconnected = CancellationToken::new();
        let count = |disconnected: &CancellationToken| {
            count_lines(&reader, &Filter::default(), 0, u64::MAX, disconnected)
        };
        assert_eq!((count(&disconnected).count, count(&disconnected).done), (2, true));
        disconnected.cancel();
        assert_eq!(
            (count(&disconnected).count, count(&disconnected).next, count(&disconnected).done),
            (0, 0, false)
        );
    }
}
