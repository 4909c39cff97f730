//! `GET /api/logs`: lines of the log, one JSON object each, as far as they are wanted and, if asked for, as they come.
//!
//! The client's speed sets the pace: the next lines are looked for when the last ones were taken, on a thread where that
//! may take its time.

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use lilt_model::api::UIResource;
use lilt_model::log::{Level, Source};
use lilt_model::nearest::nearest;
use lilt_model::{ResourceName, Timestamp};
use lilt_store::{Filter, LogReader, Pattern, Reader};
use tokio_util::sync::CancellationToken;

use crate::Context;

/// Bytes after which a piece of the answer is sent.
const PIECE: usize = 64 * 1024;
/// Lines looked for at once.
const PAGE: usize = 1000;
/// How many lines from the beginning are no longer kept, in an answer that would begin with them.
pub const MISSING: &str = "lilt-lines-missing";

/// Why a question is not answered.
struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, format!("{}\n", self.1)).into_response()
    }
}

fn malformed(words: String) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, words)
}

/// `?resource=a&resource=b&source=build&level=warn&since=TIME&match=REGEX&tail=N&follow=true`, all of them optional.
#[derive(Debug, Default)]
struct Question {
    filter: Filter,
    tail: Option<usize>,
    follow: bool,
}

impl Question {
    fn read(parameters: &[(String, String)]) -> Result<Question, Refusal> {
        let mut question = Question::default();
        let filter = &mut question.filter;
        for (name, value) in parameters {
            let wrong = || malformed(format!("{name}={value} is not understood"));
            match name.as_str() {
                "resource" => filter.resources.push(ResourceName::new(value)),
                "source" => {
                    filter.source = match value.as_str() {
                        "all" => None,
                        "build" => Some(Source::Build),
                        "runtime" => Some(Source::Runtime),
                        _ => return Err(wrong()),
                    }
                }
                "level" => {
                    let level = Level::ALL.into_iter().find(|level| level.as_str() == value);
                    filter.levels.push(level.ok_or_else(wrong)?);
                }
                "since" => filter.since = Some(Timestamp::from_rfc3339(value).ok_or_else(wrong)?),
                "match" => filter.text = Some(Pattern::regex(value).map_err(|error| malformed(error.0))?),
                "tail" => question.tail = Some(value.parse().map_err(|_| wrong())?),
                "follow" => question.follow = value.parse().map_err(|_| wrong())?,
                _ => return Err(malformed(format!("there is no parameter {name:?}"))),
            }
        }
        Ok(question)
    }
}

pub(crate) async fn logs(
    State(context): State<Context>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Response, Response> {
    let question = Question::read(&parameters).map_err(IntoResponse::into_response)?;
    for resource in &question.filter.resources {
        check(&context.reader, resource).map_err(IntoResponse::into_response)?;
    }
    let logs = context.reader.logs().clone();
    let gone = CancellationToken::new();
    // Whoever goes away while lines are looked for is not looked for any longer.
    let guard = gone.clone().drop_guard();
    let mut answer = Answer { logs, next: 0, end: 0, question, gone, ending: context.closing.clone() };
    let answer = blocking(move || {
        answer.begin();
        answer
    });
    let answer = answer.await?;
    let missing = answer.missing();
    let pieces = stream::unfold((answer, guard), |(answer, guard)| async move {
        let (piece, answer) = answer.next_piece().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), (answer, guard)))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (header::HeaderName::from_static(MISSING), missing.to_string()),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// A name that is not known is most likely mistyped, unless the Tiltfile that may declare it is still being loaded.
fn check(reader: &Reader, name: &ResourceName) -> Result<(), Refusal> {
    let loaded = |tiltfile: &UIResource| tiltfile.status.last_deploy_time.is_some();
    if name.is_tiltfile()
        || reader.resource(name.as_str()).is_some()
        || reader.logs().knows(name)
        || !reader.resource(ResourceName::tiltfile().as_str()).is_some_and(|it| loaded(&it))
    {
        return Ok(());
    }
    let resources = reader.changes_since(0).resources;
    let mut known: Vec<&str> = resources.iter().map(|it| it.metadata.name.as_str()).collect();
    known.sort_unstable();
    let hint = match nearest(name.as_str(), known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are: {}", known.join(", ")),
    };
    Err(Refusal(StatusCode::NOT_FOUND, format!("there is no resource named \"{name}\"\nhint: {hint}")))
}

/// A panic there is one here.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Response> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

struct Answer {
    logs: LogReader,
    question: Question,
    next: u64,
    /// Where to end if nobody follows.
    end: u64,
    /// The client is.
    gone: CancellationToken,
    /// The session is.
    ending: CancellationToken,
}

impl Answer {
    fn begin(&mut self) {
        self.logs.show_partial();
        self.end = self.logs.end();
        if let Some(count) = self.question.tail {
            self.next = self.logs.tail(&self.question.filter, count, &|| !self.gone.is_cancelled());
        }
    }

    fn missing(&self) -> u64 {
        if self.question.tail.is_some() || self.question.filter.since.is_some() {
            0
        } else {
            self.logs.begin()
        }
    }

    /// None: that was all.
    async fn next_piece(mut self) -> Option<(Bytes, Answer)> {
        loop {
            // Asked before looking, so that the last look is a whole one.
            let over = self.ending.is_cancelled();
            let (piece, answer) = blocking(move || {
                let piece = self.look();
                (piece, self)
            })
            .await
            .ok()?;
            self = answer;
            if !piece.is_empty() {
                return Some((Bytes::from(piece), self));
            }
            if self.next < self.logs.end().min(self.end) {
                continue;
            }
            if !self.question.follow || (over && self.end == u64::MAX) {
                return None;
            }
            tokio::select! {
                _ = self.logs.grown(self.next) => {}
                // One more look, for the last words.
                () = self.ending.cancelled() => {}
            }
            self.end = u64::MAX;
        }
    }

    /// The next lines as JSON; none if there are none now, or none yet among those that were looked at.
    fn look(&mut self) -> Vec<u8> {
        let mut piece = Vec::new();
        while piece.len() < PIECE && self.next < self.end && !self.gone.is_cancelled() {
            let Some(lines) = self.logs.take(&self.question.filter, self.next, PAGE) else { break };
            for line in lines.iter() {
                if line.seq >= self.end || piece.len() >= PIECE {
                    self.next = line.seq.min(self.end);
                    return piece;
                }
                // Writing to memory does not fail, and lines are JSON whatever is in them.
                let _ = serde_json::to_writer(&mut piece, &line);
                piece.push(b'\n');
            }
            self.next = lines.next;
        }
        piece
    }
}
