//! Runs what a `Cmd` object says until it ends or is no longer wanted.

use lilt_engine::{Event, ServeExit};
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
    let exit = match program::keep(&context, &command, span(), started).await {
        None => return,
        Some(Ok((exit, _))) => program::told(exit),
        Some(Err(failure)) => {
            span().print(Level::Error, &format!("ERROR: {failure}"));
            ServeExit::Failed(failure)
        }
    };
    context.tell(Event::CommandEnded { name, run, exit }).await;
}

/// The section of log that a command and its probe share.
pub(super) fn span_id(name: &str, run: u64) -> String {
    format!("cmd:{name}:{run}")
}
