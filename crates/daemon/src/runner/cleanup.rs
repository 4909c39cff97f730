//! Deletes what is no longer wanted.

use std::time::Duration;

use lilt_cluster::DeleteOutcome;
use lilt_engine::{CleanupReason, Event, Leftovers};
use lilt_model::Failure;
use lilt_model::ResourceName;
use lilt_model::SpanId;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::log::{Level, Source};

use super::local;
use super::patience::Patience;
use crate::context::Context;

/// How long what a disabled resource had deployed may take to end: its next deployment waits for that.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn run(
    context: Context,
    cleanup: u64,
    resource: ResourceName,
    leftovers: Leftovers,
    reason: CleanupReason,
) {
    let id = SpanId::from(format!("cleanup:{resource}:{cleanup}"));
    let span = || context.logs.span(id.clone(), Some(resource.clone()), Source::Build);
    let Leftovers { cluster, objects, command } = leftovers;
    let names = objects.iter().filter_map(ObjectRef::of).map(|object| object.to_string());
    let names: Vec<String> = names.chain(command.as_ref().map(|_| resource.to_string())).collect();
    let (why, wait) = match reason {
        CleanupReason::Unnamed => ("the Tiltfile no longer names", None),
        CleanupReason::Deleted => ("a KubernetesApply no longer names", None),
        CleanupReason::Disabled => ("was deployed and is disabled now", Some(PATIENCE)),
    };
    span().info(&format!("Deleting what {why}: {}", names.join(", ")));
    tokio::select! {
        () = context.edges.landings.none_of(&resource) => {}
        () = context.cancel.cancelled() => return,
    }
    if !objects.is_empty() {
        let deletion = async {
            let cluster = context.cluster(&cluster)?;
            let mut patience = Patience::new(&cluster, None);
            loop {
                match patience.attempt(cluster.delete(&objects, wait)).await {
                    Ok(outcomes) => return Ok(outcomes),
                    Err(failure) if patience.lasts(&failure, |words| span().info(words)).await => {}
                    Err(failure) => return Err(failure),
                }
            }
        };
        // Who quits does not want half of it to be left: nobody would know of the rest any more.
        let hurry = async {
            context.cancel.cancelled().await;
            if context.shutdown.is_cancelled() {
                context.end_of_grace().await;
            }
        };
        tokio::select! {
            result = deletion => match result {
                Ok(outcomes) => tell_kept(span(), outcomes),
                Err(failure) => complain(span(), Some(failure)),
            },
            () = hurry => return,
        }
    }
    if let Some(command) = &command {
        span().info(&format!("Running cmd: {}", command.display()));
        let command = context.meeting(&cluster, command);
        match local::run_command(&context, &command, span(), async |_| {}).await {
            Ok(ran) => complain(span(), local::failure_of(&command, ran)),
            Err(local::Cancelled) => return,
        }
    }
    context.tell(Event::CleanedUp { cleanup }).await;
}

fn tell_kept(mut span: lilt_store::Span, outcomes: Vec<(ObjectRef, DeleteOutcome)>) {
    for (_, outcome) in outcomes {
        if let DeleteOutcome::Kept(kept) = outcome {
            span.info(&kept.to_string());
        }
    }
}

fn complain(mut span: lilt_store::Span, failure: Option<Failure>) {
    if let Some(failure) = failure {
        span.print(Level::Error, &format!("ERROR: {failure}"));
    }
}
