//! Keeps a server of a local resource running until it is no longer wanted.

use lilt_engine::{Event, ServeExit};
use lilt_host::process::{Daemons, Exit, Process};
use lilt_model::command::Command;
use lilt_model::log::Level;
use lilt_model::{Failure, ResourceName};

use super::local::launch;
use crate::context::Context;

pub(crate) async fn run(context: Context, resource: ResourceName, generation: u64, command: Command) {
    let span_id = span_id(&resource, generation);
    let mut span = context.runtime_span(&resource, span_id.clone());
    span.info(&format!("Running cmd: {}", command.display()));
    let launch = launch(&context, &command);
    let started = Process::spawn(&context.edges.guardian, &launch, move |bytes| span.write(bytes));
    let mut process = match started.await {
        Ok(process) => process,
        Err(failure) => {
            context.runtime_span(&resource, span_id).print(Level::Error, &format!("ERROR: {failure}"));
            context.tell(Event::ServeEnded { resource, generation, exit: ServeExit::Failed(failure) }).await;
            return;
        }
    };
    let pid = process.pid();
    context.tell(Event::ServeStarted { resource: resource.clone(), generation, pid }).await;
    let exit = tokio::select! {
        exit = process.wait() => exit,
        () = context.cancel.cancelled() => {
            context.stop(&mut process, Daemons::End).await;
            return;
        }
    };
    let (words, exit) = match exit {
        Exit::Code(code) => (format!("exit status {code}"), ServeExit::Code(code)),
        Exit::Signal(signal) => (exit.to_string(), ServeExit::Signal(signal)),
        Exit::Lost => (exit.to_string(), ServeExit::Failed(Failure::environment(exit.to_string()))),
    };
    let line = format!("ERROR: server exited: {words}");
    context.runtime_span(&resource, span_id).print(Level::Error, &line);
    context.tell(Event::ServeEnded { resource, generation, exit }).await;
    // A server that turned itself into a daemon would stand in the way of the next one.
    context.stop(&mut process, Daemons::End).await;
}

/// The section of log that a server and its probe share.
pub(super) fn span_id(resource: &ResourceName, generation: u64) -> String {
    format!("localserve:{resource}:{generation}")
}
