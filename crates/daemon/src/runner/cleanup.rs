//! Deletes objects that are no longer wanted.

use std::time::Duration;

use lilt_cluster::DeleteOutcome;
use lilt_engine::{CleanupReason, Event, Leftovers};
use lilt_model::Failure;
use lilt_model::ResourceName;
use lilt_model::SpanId;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::log::{Level, Source};

use super::api_retry::ApiRetry;
use super::local;
use crate::context::Context;

/// How long to wait for the deletion of a disabled resource's objects: its next deployment waits for that.
const DELETE_TIMEOUT: Duration = Duration::from_secs(60);

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
        CleanupReason::Disabled => ("was deployed and is disabled now", Some(DELETE_TIMEOUT)),
    };
    span().info(&format!("Deleting what {why}: {}", names.join(", ")));
    if !objects.is_empty() {
        let deletion = async {
            let cluster = context.connections.cluster(&cluster)?;
            let mut retry = ApiRetry::new(&cluster, None);
            loop {
                match retry.attempt(cluster.delete(&objects, wait)).await {
                    Ok(outcomes) => return Ok(outcomes),
                    Err(failure) if retry.should_retry(&failure, |message| span().info(message)).await => {}
                    Err(failure) => return Err(failure),
                }
            }
        };
        // At the end of the session the deletion gets more time: the rest would be left behind.
        let hurry = async {
            context.cancel.cancelled().await;
            if context.shutdown.is_cancelled() {
                context.shutdown_grace_elapsed().await;
            }
        };
        tokio::select! {
            result = deletion => match result {
                Ok(outcomes) => print_kept(span(), outcomes),
                Err(failure) => print_failure(span(), Some(failure)),
            },
            () = hurry => return,
        }
    }
    if let Some(command) = &command {
        span().info(&format!("Running cmd: {}", command.display()));
        let command = context.connections.with_kubeconfig(&cluster, command);
        match local::run_command(&context, &command, span(), async |_| {}).await {
            Ok(ran) => print_failure(span(), local::failure_of(&command, ran)),
            Err(local::Cancelled) => return,
        }
    }
    context.send(Event::CleanedUp { cleanup }).await;
}

fn print_kept(mut span: lilt_store::Span, outcomes: Vec<(ObjectRef, DeleteOutcome)>) {
    for (_, outcome) in outcomes {
        if let DeleteOutcome::Kept(kept) = outcome {
            span.info(&kept.to_string());
        }
    }
}

fn print_failure(mut span: lilt_store::Span, failure: Option<Failure>) {
    if let Some(failure) = failure {
        span.print(Level::Error, &format!("ERROR: {failure}"));
    }
}
