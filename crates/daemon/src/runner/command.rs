//! Runs what a `Cmd` object says until it ends or is no longer wanted, and keeps what it left behind until then.

use lilt_engine::{Event, ServeExit};
use lilt_host::process::Daemons;
use lilt_model::command::Command;
use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId};

use super::program;
use crate::context::Context;

pub(crate) async fn run(
    context: Context,
    name: String,
    run: u64,
    command: Command,
    resource: Option<ResourceName>,
) {
    let id = SpanId::from(span_id(&name, run));
    let span = || context.logs.span(id.clone(), resource.clone(), Source::Runtime);
    let started = async |pid: u32| context.tell(Event::CommandStarted { name: name.clone(), run, pid }).await;
    match program::keep(&context, &command, span, started).await {
        None => {}
        Some(Ok((exit, mut process))) => {
            context.tell(Event::CommandEnded { name, run, exit: program::told(exit) }).await;
            context.cancel.cancelled().await;
            context.stop(&mut process, Daemons::End).await;
        }
        Some(Err(failure)) => {
            span().print(Level::Error, &format!("ERROR: {failure}"));
            context.tell(Event::CommandEnded { name, run, exit: ServeExit::Failed(failure) }).await;
        }
    }
}

/// The section of log that a command and its probe share.
pub(super) fn span_id(name: &str, run: u64) -> String {
    format!("cmd:{name}:{run}")
}
