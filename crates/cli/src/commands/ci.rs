//! `lilt ci`.

use std::process::ExitCode;

use lilt_client::sessions;
use lilt_daemon::{SessionOutcome, Transport};
use lilt_engine::{Mode, Verdict};
use lilt_host::terminal;
use lilt_model::{Failure, ResourceName, duration};
use lilt_store::{LogReader, Reader};
use lilt_tui::TerminalMode;

use crate::arguments::{self, Ci};
use crate::session::{self, Plan};

/// How many last lines of a failed resource are repeated at the end.
const LAST_LINES: usize = 10;
/// How many log lines are searched for them.
const SEARCHED_LINES: u64 = 20_000;
/// Lines read at once.
const PAGE: u64 = 500;

pub(crate) async fn run(ci: Ci) -> anyhow::Result<ExitCode> {
    let bound = session::bind(&ci.web).await?;
    session::warn_about_sessions(&sessions::describe_deploying(&arguments::absolute(
        ci.project.file.clone(),
    )?));
    bound.announce("ci", &ci.project.file)?;
    let plan = Plan {
        command: "ci",
        project: ci.project,
        mode: Mode::Ci,
        forwards: true,
        terminal_mode: TerminalMode::Stream,
        live_update: Some(Transport::Any),
        snapshot: ci.output_snapshot_on_exit,
        lines: ci.lines.options(),
        ci_timeout: Some(ci.timeout),
        environment: Vec::new(),
        session: ci.session,
    };
    let mut logs = None;
    let ended = session::run(plan, bound, |reader: Reader, _| {
        logs = Some(reader.logs().clone());
        std::future::pending()
    })
    .await?;
    match ended {
        SessionOutcome::Verdict(Verdict::Ready) => {
            terminal::line("SUCCESS. All workloads are healthy.");
            Ok(ExitCode::SUCCESS)
        }
        SessionOutcome::Verdict(Verdict::Broken { resource, cause }) => {
            let failure = Failure::user(format!("{resource}: {cause}"));
            // A failure of the Tiltfile is complete without log lines.
            let logs = logs.filter(|_| !resource.is_tiltfile());
            let last = logs.map(|logs| last_lines(&logs, &resource)).unwrap_or_default();
            Err(if last.is_empty() { failure } else { failure.detail(quote_last_lines(&resource, &last)) }
                .into())
        }
        SessionOutcome::Verdict(Verdict::TimedOut { after, waiting }) => {
            let count = waiting.len();
            let plural = if count == 1 { "resource was" } else { "resources were" };
            let words = format!("Timeout after {}: {count} {plural} not ready", duration::display(after));
            let lines: Vec<String> = waiting.iter().map(|(name, how)| format!("  {name}: {how}")).collect();
            let hint = "--timeout, or ci_settings(timeout=…) in the Tiltfile, gives it more time";
            Err(Failure::environment(words).detail(lines.join("\n")).hint(hint).into())
        }
        SessionOutcome::Cancelled => Err(Failure::user("interrupted before everything was ready").into()),
    }
}

fn quote_last_lines(resource: &ResourceName, lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    format!("The last lines of {resource}:\n{}", lines.join("\n"))
}

/// Returns the last log lines of a resource, oldest first.
fn last_lines(logs: &LogReader, resource: &ResourceName) -> Vec<String> {
    let mut found = Vec::new();
    let mut end = logs.end();
    let oldest = end.saturating_sub(SEARCHED_LINES);
    while end > oldest && found.len() < LAST_LINES {
        let begin = end.saturating_sub(PAGE).max(oldest);
        let page = logs.read(begin, usize::try_from(end - begin).unwrap_or(usize::MAX));
        let own = page.iter().rev().filter(|line| line.seq < end && line.resource.as_ref() == Some(resource));
        found.extend(own.filter(|line| !line.text.trim().is_empty()).map(|line| line.text.clone()));
        end = begin;
    }
    found.truncate(LAST_LINES);
    found.reverse();
    found
}
