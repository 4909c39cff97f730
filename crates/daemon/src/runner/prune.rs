//! Removes old images from the engine.

use std::sync::Arc;

use lilt_docker::{Engine, PruneOutcome, PruneRequest};
use lilt_engine::{Event, PruneJob};
use lilt_model::log::Source;
use lilt_model::reference::Reference;
use lilt_model::{Failure, ResourceName, SpanId, size};

use crate::context::Context;

pub(crate) async fn run(context: Context, job: &PruneJob) {
    let mut span =
        context.logs.span(SpanId::new("docker-prune"), Some(ResourceName::tiltfile()), Source::Build);
    // An unusable engine is reported when something is to be built.
    let engines = job.clusters.iter().filter_map(|cluster| context.connections.build_engine(cluster).ok());
    for engine in distinct(engines) {
        let result = tokio::select! {
            result = prune(&engine, job, false, |line| span.info(line)) => result,
            () = context.cancel.cancelled() => return,
        };
        if let Err(failure) = result {
            // No error for the user: nothing depends on pruning.
            span.info(&format!("[Docker Prune] error running docker prune: {}", failure.message));
        }
    }
    context.send(Event::Pruned).await;
}

/// Removes duplicates: several clusters may share an engine.
pub(crate) fn distinct(engines: impl Iterator<Item = Arc<Engine>>) -> Vec<Arc<Engine>> {
    let mut all: Vec<Arc<Engine>> = Vec::new();
    for engine in engines {
        if !all.iter().any(|known| known.address() == engine.address()) {
            all.push(engine);
        }
    }
    all
}

/// Prunes one engine, and prints what was removed. `always`: also if that is nothing.
pub(crate) async fn prune(
    engine: &Engine,
    job: &PruneJob,
    always: bool,
    mut print: impl FnMut(&str),
) -> Result<(), Failure> {
    let request = PruneRequest {
        now: lilt_host::clock::now(),
        max_age: job.settings.max_age(),
        keep_recent: job.settings.keep_recent(),
        names: job.names.iter().map(|name| Reference::parse(name)).collect::<Result<_, _>>()?,
        used: job.used.clone(),
    };
    // Pruning caches may take minutes: earlier results are printed before.
    let mut report = |kind: &str, removed: &PruneOutcome| {
        describe(kind, removed, always).iter().for_each(|line| print(line));
    };
    report("containers", &engine.prune_containers(&request).await?);
    report("images", &engine.prune_images(&request).await?);
    report("caches", &engine.prune_caches(&request).await?);
    Ok(())
}

fn describe(kind: &str, removed: &PruneOutcome, always: bool) -> Vec<String> {
    let PruneOutcome { removed: what, bytes, refused } = removed;
    let mut lines = Vec::new();
    if !what.is_empty() || always {
        let freed = size::display(*bytes);
        lines.push(format!("[Docker Prune] removed {} {kind}, reclaimed {freed}", what.len()));
        lines.extend(what.iter().map(|what| format!("\t- {what}")));
    }
    lines.extend(refused.iter().map(|why| format!("[Docker Prune] {why}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prune_reports_what_it_removed() {
        let removed = PruneOutcome {
            removed: vec!["untagged: web:tilt-1".into(), "deleted: sha256:1".into()],
            bytes: 2_500_000,
            refused: vec!["cannot remove x: it is used".into()],
        };
        assert_eq!(
            describe("images", &removed, false),
            [
                "[Docker Prune] removed 2 images, reclaimed 2.5MB",
                "\t- untagged: web:tilt-1",
                "\t- deleted: sha256:1",
                "[Docker Prune] cannot remove x: it is used",
            ]
        );
        assert!(describe("caches", &PruneOutcome::default(), false).is_empty());
        let nothing = describe("caches", &PruneOutcome::default(), true);
        assert_eq!(nothing, ["[Docker Prune] removed 0 caches, reclaimed 0B"]);
    }
}
