//! Runs what a `Cmd` object says until it ends or is no longer wanted.

use lilt_engine::{Event, ServeExit};
use lilt_host::process::{Exit, Process};
use lilt_model::command::Command;
use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId};

use super::local::launch;
use crate::context::Context;

pub(crate) async fn run(
    context: Context,
    name: String,
    run: u64,
    command: Command,
    resource: Option<ResourceName>,
) {
    let id = SpanId::from(format!("cmd:{name}:{run}"));
    let mut span = context.logs.span(id.clone(), resource.clone(), Source::Runtime);
    span.info(&format!("Running cmd: {}", command.display()));
    let mut process = match Process::spawn(&launch(&context, &command), move |_, bytes| span.write(bytes)) {
        Ok(process) => process,
        Err(failure) => {
            context
                .logs
                .span(id, resource, Source::Runtime)
                .print(Level::Error, &format!("ERROR: {failure}"));
            context.tell(Event::CommandEnded { name, run, exit: ServeExit::Failed(failure) }).await;
            return;
        }
    };
    let pid = process.pid();
    context.tell(Event::CommandStarted { name: name.clone(), run, pid }).await;
    let exit = tokio::select! {
        exit = process.wait() => exit,
        () = context.cancel.cancelled() => {
            context.stop(&mut process).await;
            return;
        }
    };
    let exit = match exit {
        Exit::Code(code) => ServeExit::Code(code),
        Exit::Signal(signal) => ServeExit::Signal(signal),
    };
    context.tell(Event::CommandEnded { name, run, exit }).await;
}
