//! Deletes objects that are no longer wanted.

use std::time::Duration;

use lilt_engine::{CleanupReason, Event};
use lilt_model::ResourceName;
use lilt_model::SpanId;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::log::{Level, Source};
use serde_json::Value;

use crate::context::Context;

/// How long what a disabled resource had deployed may take to end: its next deployment waits for that.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn run(
    context: Context,
    cleanup: u64,
    resource: ResourceName,
    objects: Vec<Value>,
    reason: CleanupReason,
) {
    let id = SpanId::from(format!("cleanup:{resource}:{cleanup}"));
    let mut span = context.logs.span(id, Some(resource), Source::Build);
    let names: Vec<String> =
        objects.iter().filter_map(ObjectRef::of).map(|object| object.to_string()).collect();
    let (why, wait) = match reason {
        CleanupReason::Unnamed => ("the Tiltfile no longer names", None),
        CleanupReason::Deleted => ("a KubernetesApply no longer names", None),
        CleanupReason::Disabled => ("was deployed and is disabled now", Some(PATIENCE)),
    };
    span.info(&format!("Deleting what {why}: {}", names.join(", ")));
    let deletion = async { context.cluster()?.delete(&objects, wait).await };
    let result = tokio::select! {
        result = deletion => result,
        () = context.cancel.cancelled() => return,
    };
    if let Err(failure) = result {
        span.print(Level::Error, &format!("ERROR: {failure}"));
    }
    context.tell(Event::CleanedUp { cleanup }).await;
}
