//! `GET /api/logs`: lines of the log, one JSON object each, as far as they are wanted and, if asked for, as they come.
//!
//! The client's speed sets the pace: the next lines are looked for when the last ones were taken, on a thread where that
//! may take its time.

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use lilt_model::escape::plain;
use lilt_store::{Filter, LineRef, LogReader};
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::question::{self, Refusal, blocking, check, no_such_parameter, not_understood};

/// Bytes after which a piece of the answer is sent.
const PIECE: usize = 64 * 1024;
/// Lines looked for at once.
const PAGE: usize = 1000;
/// How many lines from the beginning are no longer kept, in an answer that would begin with them.
pub const MISSING: &str = "lilt-lines-missing";
/// How many lines of the wanted resources and sources could not be written to disk. A line of the answer says where.
pub const LOST: &str = "lilt-lines-lost";

/// Which lines (see [`question::narrow`]), and `from=N&tail=N&follow=true&format=text&download=NAME`, all of them optional.
#[derive(Debug, Default)]
struct Question {
    filter: Filter,
    /// No line before this number.
    from: Option<u64>,
    tail: Option<usize>,
    follow: bool,
    format: Format,
    /// The name of the file that a browser shall write.
    download: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Format {
    /// One object per line.
    #[default]
    Json,
    /// As people read it, without colours.
    Text,
}

impl Question {
    fn read(parameters: &[(String, String)]) -> Result<Question, Refusal> {
        let mut question = Question::default();
        for (name, value) in parameters {
            let wrong = || not_understood(name, value);
            match name.as_str() {
                "from" => question.from = Some(value.parse().map_err(|_| wrong())?),
                "tail" => question.tail = Some(value.parse().map_err(|_| wrong())?),
                "follow" => question.follow = value.parse().map_err(|_| wrong())?,
                "format" => {
                    question.format = match value.as_str() {
                        "json" => Format::Json,
                        "text" => Format::Text,
                        _ => return Err(wrong()),
                    }
                }
                "download" => question.download = Some(value.clone()),
                _ if question::narrow(&mut question.filter, name, value)? => {}
                _ => return Err(no_such_parameter(name)),
            }
        }
        Ok(question)
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
            // Nothing in a file's name may end the header's text.
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            let name: String = name.chars().map(|it| if plain(it) { it } else { '_' }).collect();
            if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
                headers.insert(header::CONTENT_DISPOSITION, value);
            }
        }
        headers
    }

    fn write(&self, line: &LineRef<'_>, piece: &mut Vec<u8>) {
        match self.format {
            Format::Json => {
                // Writing to memory does not fail, and lines are JSON whatever is in them.
                let _ = serde_json::to_writer(&mut *piece, line);
                piece.push(b'\n');
            }
            Format::Text => {
                if !line.continues && self.filter.resources.len() != 1 {
                    let name = line.resource.map_or("", |name| name.as_str());
                    piece.extend_from_slice(format!("{name} │ ").as_bytes());
                }
                piece.extend_from_slice(plain(line.text).as_bytes());
                if !line.open {
                    piece.push(b'\n');
                }
            }
        }
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
    let headers = answer.question.headers(answer.missing(), answer.logs.lost(&answer.question.filter));
    let pieces = stream::unfold((answer, guard), |(answer, guard)| async move {
        let (piece, answer) = answer.next_piece().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), (answer, guard)))
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
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
        self.logs.store_partial();
        self.end = self.logs.end();
        if let Some(count) = self.question.tail {
            self.next = self.logs.tail(&self.question.filter, count, &|| !self.gone.is_cancelled());
        }
        self.next = self.next.max(self.question.from.unwrap_or_default());
    }

    fn missing(&self) -> u64 {
        if self.question.tail.is_some() || self.question.filter.since.is_some() {
            0
        } else {
            self.logs.begin().saturating_sub(self.question.from.unwrap_or_default())
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
                self.question.write(&line, &mut piece);
            }
            self.next = lines.next;
        }
        piece
    }
}
