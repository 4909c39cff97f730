//! Applies what a `KubernetesApply` says.

use std::time::Duration;

use lilt_engine::{AppliedObjects, Event};
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId};
use serde_json::Value;

use crate::context::Context;

/// As long as a resource's apply may take.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn run(
    context: Context,
    name: String,
    run: u64,
    yaml: String,
    timeout: Option<Duration>,
    resource: ResourceName,
) {
    let id = SpanId::from(format!("kubernetesapply:{name}"));
    let mut span = context.logs.span(id, Some(resource), Source::Build);
    span.info(&format!("Applying the objects of {name} to the cluster"));
    let outcome = tokio::select! {
        outcome = apply(&context, &yaml, timeout.unwrap_or(TIMEOUT)) => outcome,
        () = context.cancel.cancelled() => return,
    };
    match &outcome {
        Ok(applied) => {
            for (object, _) in &applied.uids {
                span.info(&format!("  → {object}"));
            }
        }
        Err(failure) => span.print(Level::Error, &format!("ERROR: {failure}")),
    }
    drop(span);
    context.tell(Event::ObjectsApplied { name, run, outcome }).await;
}

async fn apply(context: &Context, yaml: &str, timeout: Duration) -> Result<AppliedObjects, Failure> {
    let objects: Vec<Value> = lilt_tiltfile::kubernetes_objects(yaml)?;
    let objects = lilt_cluster::inject::prepare(&objects, &[], &[])?;
    let applied = context.cluster()?.apply(&objects, timeout).await?;
    let uids = applied.into_iter().map(|applied| (applied.object, applied.uid)).collect();
    Ok(AppliedObjects { objects, uids })
}
