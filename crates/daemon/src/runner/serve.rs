//! Keeps a server of a local resource running until it is no longer wanted.

use lilt_engine::{Event, ServeExit};
use lilt_host::process::{Daemons, Exit};
use lilt_model::ResourceName;
use lilt_model::command::Command;
use lilt_model::log::Level;

use super::program;
use crate::context::Context;

pub(crate) async fn run(context: Context, resource: ResourceName, generation: u64, command: Command) {
    let span = || context.runtime_span(&resource, span_id(&resource, generation));
    let started = async |pid: u32| {
        context.tell(Event::ServeStarted { resource: resource.clone(), generation, pid }).await;
    };
    let (exit, mut process) = match program::keep(&context, &command, span, started).await {
        None => return,
        Some(Ok(ended)) => ended,
        Some(Err(failure)) => {
            span().print(Level::Error, &format!("ERROR: {failure}"));
            context.tell(Event::ServeEnded { resource, generation, exit: ServeExit::Failed(failure) }).await;
            return;
        }
    };
    let words = match exit {
        Exit::Code(code) => format!("exit status {code}"),
        Exit::Signal(_) | Exit::Lost => exit.to_string(),
    };
    span().print(Level::Error, &format!("ERROR: server exited: {words}"));
    context.tell(Event::ServeEnded { resource, generation, exit: program::told(exit) }).await;
    // A server that turned itself into a daemon would stand in the way of the next one.
    context.stop(&mut process, Daemons::End).await;
}

/// The section of log that a server and its probe share.
pub(super) fn span_id(resource: &ResourceName, generation: u64) -> String {
    format!("localserve:{resource}:{generation}")
}
