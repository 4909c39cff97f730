//! Says when a time has come.

use lilt_engine::Event;
use lilt_model::Timestamp;

use crate::context::Context;

pub(crate) async fn run(context: Context, at: Timestamp) {
    loop {
        let left = at.since(lilt_host::clock::now());
        if left.is_zero() {
            break;
        }
        // The machine's clock may be set meanwhile: it is looked at again.
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            () = context.cancel.cancelled() => return,
        }
    }
    context.tell(Event::Woke).await;
}
