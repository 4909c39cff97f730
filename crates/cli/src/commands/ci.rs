//! `lilt ci`.

use std::process::ExitCode;

use lilt_daemon::Ended;
use lilt_engine::{Mode, Verdict};
use lilt_model::Failure;
use lilt_model::api::{RuntimeStatus, UIResource, UpdateStatus, annotation};
use lilt_store::Reader;

use crate::arguments::Ci;
use crate::face::Face;
use crate::session::{self, Plan};
use crate::terminal;

pub(crate) async fn run(ci: Ci) -> anyhow::Result<ExitCode> {
    let bound = session::bind(&ci.web).await?;
    bound.announce("ci", &ci.project.file)?;
    let timeout = ci.timeout;
    let plan = Plan {
        project: ci.project,
        mode: Mode::Ci,
        forwards: true,
        face: Face::Stream,
        live_update: true,
        snapshot: ci.output_snapshot_on_exit,
        lines: ci.lines.filter(),
        environment: Vec::new(),
    };
    let mut unfinished = None;
    let ended = session::run(plan, bound, |reader, cancel| {
        let unfinished = &mut unfinished;
        async move {
            if timeout.is_zero() {
                return std::future::pending().await;
            }
            tokio::time::sleep(timeout).await;
            *unfinished = Some(waiting(&reader));
            cancel.cancel();
        }
    })
    .await?;
    match (ended, unfinished) {
        (Ended::Verdict(Verdict::Ready), _) => {
            terminal::line("SUCCESS. All workloads are healthy.");
            Ok(ExitCode::SUCCESS)
        }
        (Ended::Verdict(Verdict::Broken { resource, cause }), _) => {
            Err(Failure::user(format!("{resource}: {cause}")).into())
        }
        (Ended::Cancelled, Some(waiting)) => {
            let words = format!("not everything was ready after {timeout:?}");
            Err(Failure::environment(words).detail(waiting).hint("--timeout gives it more time").into())
        }
        (Ended::Cancelled, None) => Err(Failure::user("interrupted before everything was ready").into()),
    }
}

/// What is not ready yet, and why.
fn waiting(reader: &Reader) -> String {
    let resources = reader.changes_since(0).resources;
    let mut lines: Vec<String> = resources.iter().filter_map(|resource| why_not_ready(resource)).collect();
    lines.sort();
    lines.join("\n")
}

fn why_not_ready(resource: &UIResource) -> Option<String> {
    let status = &resource.status;
    let updated = matches!(status.update_status, UpdateStatus::Ok | UpdateStatus::NotApplicable);
    let runs = matches!(status.runtime_status, RuntimeStatus::Ok | RuntimeStatus::NotApplicable);
    if updated && runs {
        return None;
    }
    let note = |key: &str| resource.metadata.annotations.get(key).cloned();
    let why = note(annotation::HOLD).or_else(|| note(annotation::RUNTIME_MESSAGE));
    Some(format!("  {}: {}", resource.metadata.name, why.unwrap_or_else(|| "updating".into())))
}
