//! Removes old images from the engine.

use lilt_docker::{Engine, PruneRequest, Pruned, Removed};
use lilt_engine::{Event, PruneJob};
use lilt_model::log::Source;
use lilt_model::reference::Reference;
use lilt_model::{Failure, ResourceName, SpanId, size};

use super::deploy::engine;
use crate::context::Context;

pub(crate) async fn run(context: Context, job: &PruneJob) {
    let mut span =
        context.logs.span(SpanId::new("docker-prune"), Some(ResourceName::tiltfile()), Source::Build);
    // An engine that cannot be used is told of when something is to be built.
    if let Ok(engine) = engine(&context) {
        let lines = tokio::select! {
            lines = prune(engine, job, false) => lines,
            () = context.cancel.cancelled() => return,
        };
        match lines {
            Ok(lines) => lines.iter().for_each(|line| span.info(line)),
            // Not worth more: nothing that the user works on depends on it.
            Err(failure) => {
                span.info(&format!("[Docker Prune] error running docker prune: {}", failure.message));
            }
        }
    }
    context.tell(Event::Pruned).await;
}

/// Removes, and says what; `always`: also that there was nothing.
pub(crate) async fn prune(engine: &Engine, job: &PruneJob, always: bool) -> Result<Vec<String>, Failure> {
    let request = PruneRequest {
        now: lilt_host::clock::now(),
        max_age: job.settings.max_age,
        keep_recent: job.settings.keep_recent,
        names: job.names.iter().map(|name| Reference::parse(name)).collect::<Result<_, _>>()?,
        used: job.used.clone(),
    };
    Ok(describe(&engine.prune(&request).await?, always))
}

fn describe(pruned: &Pruned, always: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let kinds = [("containers", &pruned.containers), ("images", &pruned.images), ("caches", &pruned.caches)];
    for (kind, Removed { what, bytes }) in kinds {
        if what.is_empty() && !always {
            continue;
        }
        let freed = size::display(*bytes);
        lines.push(format!("[Docker Prune] removed {} {kind}, reclaimed {freed}", what.len()));
        lines.extend(what.iter().map(|what| format!("\t- {what}")));
    }
    lines.extend(pruned.refused.iter().map(|why| format!("[Docker Prune] {why}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_removed_is_told_and_nothing_is_not() {
        let images = Removed {
            what: vec!["untagged: web:tilt-1".into(), "deleted: sha256:1".into()],
            bytes: 2_500_000,
        };
        let pruned =
            Pruned { images, refused: vec!["cannot remove x: it is used".into()], ..Pruned::default() };
        assert_eq!(
            describe(&pruned, false),
            [
                "[Docker Prune] removed 2 images, reclaimed 2.5MB",
                "\t- untagged: web:tilt-1",
                "\t- deleted: sha256:1",
                "[Docker Prune] cannot remove x: it is used",
            ]
        );
        assert!(describe(&Pruned::default(), false).is_empty());
        assert_eq!(
            describe(&Pruned::default(), true),
            [
                "[Docker Prune] removed 0 containers, reclaimed 0B",
                "[Docker Prune] removed 0 images, reclaimed 0B",
                "[Docker Prune] removed 0 caches, reclaimed 0B",
            ]
        );
    }
}
