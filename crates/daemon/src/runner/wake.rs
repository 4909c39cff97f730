//! Reports when a point in time is reached.

use lilt_engine::Event;
use lilt_model::Timestamp;

use super::local::Cancelled;
use crate::context::Context;

pub(crate) async fn run(context: Context, at: Timestamp) {
    if sleep_until(&context, at).await.is_ok() {
        context.send(Event::Woke).await;
    }
}

/// Waits for a time of the machine's clock, unless the task is cancelled.
pub(super) async fn sleep_until(context: &Context, at: Timestamp) -> Result<(), Cancelled> {
    loop {
        let left = at.since(lilt_host::clock::now());
        if left.is_zero() {
            return Ok(());
        }
        // The clock may be set meanwhile, so it is read again.
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            () = context.cancel.cancelled() => return Err(Cancelled),
        }
    }
}
