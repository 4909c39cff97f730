//! `lilt logs`.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use lilt_api::UIResource;
use lilt_client::HttpResponse;
use lilt_client::{Connect, sessions};
use lilt_host::terminal;
use lilt_model::duration::parse_flag;
use lilt_model::log::Line;
use lilt_model::{Failure, ResourceName, SpanId, Timestamp};
use lilt_tui::stream::{Levels, Painter, Sources, levels, source};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::signals::Signals;

/// Print the log of a running session
///
/// Without names, of all resources; `(Tiltfile)` is the Tiltfile's own log. Every line of the session is there, also
/// those that have long scrolled away.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt logs                             all there is
  lilt logs -f web                      the log of web, and what comes
  lilt logs --tail 100 --level error    the last hundred errors
  lilt logs --since 5m --source build   what builds said in the last five minutes
  lilt logs --match 'HTTP 5\\d\\d' api    lines of api with such a text
  lilt logs --json web | jq .message    for programs")]
pub(crate) struct Logs {
    /// Resources whose lines to print
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    /// Go on with lines as they come, until Ctrl-C or the session's end
    #[arg(short, long)]
    follow: bool,
    /// Only lines of this level: warn or error, or both with a comma; and where updates begin
    #[arg(long, value_name = "LEVEL", value_parser = levels, default_value = "", hide_default_value = true)]
    level: Levels,
    /// Only lines of this source: all, build or runtime
    #[arg(long, value_name = "SOURCE", value_parser = source, default_value = "all")]
    source: Sources,
    /// Only lines that are not older, for example 30s, 5m or 1h
    #[arg(long, value_name = "DURATION", value_parser = since, default_value = "", hide_default_value = true)]
    since: Since,
    /// Only the last lines, so many of them; -1 for all
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true, value_parser = clap::value_parser!(i64).range(-1..))]
    tail: i64,
    /// Only lines with a text that matches this regular expression; (?i) at its beginning ignores case
    #[arg(long = "match", visible_alias = "grep", value_name = "REGEX")]
    pattern: Option<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
    /// Print control sequences in logs unchanged; by default only colours are kept
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    #[command(flatten)]
    connect: Connect,
}

/// The maximum age of lines; none: no limit.
#[derive(Clone, Copy, Debug)]
struct Since(Option<Duration>);

fn since(text: &str) -> Result<Since, String> {
    if text.is_empty() { Ok(Since(None)) } else { parse_flag(text).map(|duration| Since(Some(duration))) }
}

pub(crate) async fn run(logs: Logs) -> anyhow::Result<ExitCode> {
    let client = sessions::choose(&logs.connect)?;
    let answer = client.get(&logs.path(lilt_host::clock::now())).await?;
    for warning in incomplete(|name| answer.header(name)) {
        terminal::aside(&warning);
    }
    let printer = if logs.json {
        Printer::Json(Joined::default())
    } else {
        let names = logs.resources.len() != 1;
        let mut painter = Painter::new(terminal::has_colours(), names).raw(logs.raw);
        if names {
            // In the order of the Tiltfile. Without them, labels depend on the order of lines.
            let resources: Vec<UIResource> = client.get_json("/api/resources").await.unwrap_or_default();
            let names: Vec<ResourceName> =
                resources.iter().map(|resource| ResourceName::new(&resource.metadata.name)).collect();
            painter.learn(&names);
        }
        Printer::Text(painter)
    };
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    tokio::select! {
        printed = print(answer, printer, logs.follow) => printed?,
        // Ctrl-C is the normal end of --follow.
        () = cancel.cancelled() => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns warnings about missing lines from the headers of a response. Lines in the response report them, too, for
/// lines that are lost after the headers.
fn incomplete<'a>(header: impl Fn(&'static str) -> Option<&'a str>) -> Vec<String> {
    let count = |name| header(name).filter(|count| *count != "0");
    let missing = count(lilt_server::logs::MISSING)
        .map(|missing| format!("{missing} older lines are no longer kept (--log-limit)"));
    let lost = count(lilt_server::logs::LOST)
        .map(|lost| format!("{lost} lines are missing: they could not be written to disk"));
    missing.into_iter().chain(lost).collect()
}

impl Logs {
    /// Returns the path and query of the request.
    fn path(&self, now: Timestamp) -> String {
        let mut parameters = Vec::new();
        parameters.extend(self.resources.iter().map(|resource| ("resource", resource.clone())));
        parameters.extend(self.source.0.map(|source| ("source", source.as_str().to_owned())));
        parameters.extend(self.level.0.iter().map(|level| ("level", level.as_str().to_owned())));
        if let Some(age) = self.since.0 {
            let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            parameters.push(("since", Timestamp(now.0.saturating_sub(age).max(0)).to_string()));
        }
        parameters.extend(self.pattern.iter().map(|pattern| ("match", pattern.clone())));
        parameters.extend(u64::try_from(self.tail).map(|tail| ("tail", tail.to_string())));
        parameters.extend(self.follow.then(|| ("follow", "true".to_owned())));
        let written = parameters.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
        format!("/api/logs?{}", written.collect::<Vec<_>>().join("&"))
    }
}

/// Escapes a value of a query.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

async fn print(mut answer: HttpResponse, mut printer: Printer, follow: bool) -> anyhow::Result<()> {
    let mut rest = Vec::new();
    let mut text = String::new();
    loop {
        let piece = match answer.next_chunk().await {
            Ok(piece) => piece,
            // The end of the session ends --follow.
            Err(_) if follow => None,
            Err(failure) => return Err(failure.into()),
        };
        let Some(piece) = piece else { break };
        rest.extend_from_slice(&piece);
        let end = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        text.clear();
        for line in rest[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line = serde_json::from_slice(line).map_err(|error| {
                Failure::environment(format!("a line of the session cannot be read: {error}"))
            })?;
            printer.put(line, &mut text);
        }
        rest.drain(..end);
        terminal::write_raw(text.as_bytes())?;
    }
    text.clear();
    printer.end(&mut text);
    Ok(terminal::write_raw(text.as_bytes())?)
}

enum Printer {
    Text(Painter),
    Json(Joined),
}

impl Printer {
    fn put(&mut self, line: Line, out: &mut String) {
        match self {
            Printer::Text(painter) => painter.put(&line, out),
            Printer::Json(joined) => joined.put(line, out),
        }
    }

    fn end(&mut self, out: &mut String) {
        match self {
            Printer::Text(painter) => painter.end(out),
            Printer::Json(joined) => joined.end(out),
        }
    }
}

/// Prints whole lines as JSON: pieces are buffered until their line ends.
#[derive(Default)]
struct Joined {
    open: HashMap<SpanId, Line>,
}

impl Joined {
    fn put(&mut self, line: Line, out: &mut String) {
        let begun = self.open.remove(&line.span);
        let line = match begun {
            Some(mut begun) if line.continues => {
                begun.text.push_str(&line.text);
                Line { open: line.open, ..begun }
            }
            begun => {
                begun.iter().for_each(|begun| put_json(begun, out));
                // The end of a line whose beginning was filtered out, or already printed.
                if line.continues && line.text.is_empty() {
                    return;
                }
                line
            }
        };
        if line.open {
            self.open.insert(line.span.clone(), line);
        } else {
            put_json(&line, out);
        }
    }

    fn end(&mut self, out: &mut String) {
        let mut left: Vec<Line> = self.open.drain().map(|(_, line)| line).collect();
        left.sort_by_key(|line| line.seq);
        left.iter().for_each(|line| put_json(line, out));
    }
}

/// The fields of Tilt's JSON output, in its order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonLine<'l> {
    time: String,
    resource: &'l str,
    level: &'l str,
    message: &'l str,
    #[serde(rename = "spanID")]
    span_id: &'l str,
    #[serde(rename = "progressID")]
    progress_id: &'l str,
    build_event: &'l str,
    source: &'l str,
}

fn put_json(line: &Line, out: &mut String) {
    let json = JsonLine {
        time: whole_seconds(line.time),
        resource: line.resource.as_ref().map_or("", ResourceName::as_str),
        level: line.level.as_str(),
        message: &line.text,
        span_id: line.span.as_str(),
        progress_id: "",
        build_event: if line.headline { "init" } else { "" },
        source: line.source.as_str(),
    };
    // Strings always serialize.
    out.push_str(&terminal::escape_in_json(serde_json::to_string(&json).unwrap_or_default()));
    out.push('\n');
}

/// Formats a time without fractions, as Tilt does: `jq fromdate` cannot parse them.
fn whole_seconds(time: Timestamp) -> String {
    let text = time.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::log::{Level, Source};

    use super::*;

    fn line(span: &str, text: &str) -> Line {
        Line {
            seq: 0,
            time: Timestamp(1_763_236_313_000_001),
            resource: Some(ResourceName::new("web")),
            span: SpanId::new(span),
            source: Source::Build,
            level: Level::Info,
            text: text.into(),
            continues: false,
            open: false,
            headline: false,
        }
    }

    #[test]
    fn json_has_the_fields_of_tilt() {
        let mut out = String::new();
        put_json(&Line { headline: true, ..line("build:web:1", "Initial \"Build\"") }, &mut out);
        assert_eq!(
            out,
            "{\"time\":\"2025-11-15T19:51:53Z\",\"resource\":\"web\",\"level\":\"info\",\
             \"message\":\"Initial \\\"Build\\\"\",\"spanID\":\"build:web:1\",\"progressID\":\"\",\
             \"buildEvent\":\"init\",\"source\":\"build\"}\n"
        );
    }

    #[test]
    fn json_has_no_control_characters() {
        let mut out = String::new();
        put_json(&line("a", "\x1b[2J\u{9b}2Jä"), &mut out);
        assert!(!out.trim_end().contains(char::is_control), "{out:?}");
        let read: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(read["message"], "\x1b[2J\u{9b}2Jä");
    }

    #[test]
    fn pieces_of_a_line_become_one_json_object() {
        let mut joined = Joined::default();
        let mut out = String::new();
        let messages = |out: &str| -> Vec<String> {
            let values = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            values.map(|value| value["message"].as_str().unwrap().to_owned()).collect()
        };
        joined.put(Line { open: true, ..line("a", "Name? ") }, &mut out);
        joined.put(line("b", "between"), &mut out);
        joined.put(Line { continues: true, ..line("a", "Alice") }, &mut out);
        joined.put(Line { continues: true, ..line("c", "") }, &mut out);
        joined.put(Line { open: true, ..line("a", "last") }, &mut out);
        joined.end(&mut out);
        assert_eq!(messages(&out), ["between", "Name? Alice", "last"]);
    }

    #[test]
    fn incomplete_log_causes_warning() {
        let warnings = |missing: &'static str, lost: &'static str| {
            incomplete(|name| if name == lilt_server::logs::LOST { Some(lost) } else { Some(missing) })
        };
        assert!(warnings("0", "0").is_empty());
        assert_eq!(warnings("0", "12"), ["12 lines are missing: they could not be written to disk"]);
        assert_eq!(warnings("3", "0"), ["3 older lines are no longer kept (--log-limit)"]);
        assert_eq!(warnings("3", "12").len(), 2);
    }

    #[test]
    fn filters_become_query_parameters() {
        assert_eq!(escaped("a b&c=ä(d)"), "a%20b%26c%3D%C3%A4%28d%29");
    }
}
