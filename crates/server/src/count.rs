//! `GET /api/count`: how many lines are wanted, of all there are.
//!
//! An answer is bounded in how much is looked through for it: `next` says where to go on counting.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use lilt_store::{Filter, LogReader};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::question::{self, Refusal, blocking, no_such_parameter, not_understood};

/// Looks at the log for one answer, each through some dozen megabytes at most.
const LOOKS: usize = 256;

/// Lines taken at once.
const TAKEN: usize = 100_000;

/// The answer to `GET /api/count`.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LineCount {
    pub count: u64,
    /// Where to go on: `from` this number.
    pub next: u64,
    /// That was all, now.
    pub done: bool,
}

/// `?from=N&until=N`, both optional, and which lines (see [`question::narrow`]). Headlines do not count unless they are
/// asked for by their text: they come with lines of any level.
pub(crate) async fn count(
    State(context): State<Context>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Json<LineCount>, Response> {
    let (filter, from, until) = read(&parameters).map_err(IntoResponse::into_response)?;
    let logs = context.reader.logs().clone();
    let gone = CancellationToken::new();
    // A client that disconnects drops this future.
    let _guard = gone.clone().drop_guard();
    Ok(Json(blocking(move || look(&logs, &filter, from, until, &gone)).await?))
}

fn read(parameters: &[(String, String)]) -> Result<(Filter, u64, u64), Refusal> {
    let mut filter = Filter::default();
    let (mut from, mut until) = (0, u64::MAX);
    for (name, value) in parameters {
        let number = || value.parse::<u64>().map_err(|_| not_understood(name, value));
        match name.as_str() {
            "from" => from = number()?,
            "until" => until = number()?,
            _ if question::narrow(&mut filter, name, value)? => {}
            _ => return Err(no_such_parameter(name)),
        }
    }
    Ok((filter, from, until))
}

fn look(logs: &LogReader, filter: &Filter, from: u64, until: u64, gone: &CancellationToken) -> LineCount {
    let end = logs.end().min(until);
    let by_text = filter.text.is_some() || !filter.fields.is_empty();
    let mut count = 0;
    let mut next = from;
    for _ in 0..LOOKS {
        if next >= end || gone.is_cancelled() {
            break;
        }
        let Some(found) = logs.take(filter, next, TAKEN) else {
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
    fn counting_stops_when_the_client_is_gone() {
        let (writer, reader) = LogWriter::open(None, || Timestamp(7));
        writer.span(SpanId::new("a"), None, Source::Runtime).write(b"one\ntwo\n");
        let gone = CancellationToken::new();
        let count = |gone: &CancellationToken| look(&reader, &Filter::default(), 0, u64::MAX, gone);
        assert_eq!((count(&gone).count, count(&gone).done), (2, true));
        gone.cancel();
        assert_eq!((count(&gone).count, count(&gone).next, count(&gone).done), (0, 0, false));
    }
}
