//! Deletes objects that nothing names any more.

use lilt_engine::Event;
use lilt_model::ResourceName;
use lilt_model::SpanId;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::log::{Level, Source};
use serde_json::Value;

use crate::context::Context;

pub(crate) async fn run(context: Context, cleanup: u64, resource: ResourceName, objects: Vec<Value>) {
    let id = SpanId::from(format!("cleanup:{resource}:{cleanup}"));
    let mut span = context.logs.span(id, Some(resource), Source::Build);
    let names: Vec<String> =
        objects.iter().filter_map(ObjectRef::of).map(|object| object.to_string()).collect();
    span.info(&format!("Deleting what the Tiltfile no longer names: {}", names.join(", ")));
    let deletion = async { context.cluster()?.delete(&objects, None).await };
    let result = tokio::select! {
        result = deletion => result,
        () = context.cancel.cancelled() => return,
    };
    if let Err(failure) = result {
        span.print(Level::Error, &format!("ERROR: {failure}"));
    }
    context.tell(Event::CleanedUp { cleanup }).await;
}
