//! Runs what a `Cmd` object says until it ends or is no longer wanted.

use lilt_engine::{Event, ServeExit};
use lilt_host::process::{Daemons, Exit, Process};
use lilt_model::command::Command;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId};

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
    let launch = launch(&context, &command);
    let started = Process::spawn(&context.edges.guardian, &launch, move |bytes| span.write(bytes));
    let mut process = match started.await {
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
            context.stop(&mut process, Daemons::End).await;
            return;
        }
    };
    let exit = match exit {
        Exit::Code(code) => ServeExit::Code(code),
        Exit::Signal(signal) => ServeExit::Signal(signal),
        Exit::Lost => ServeExit::Failed(Failure::environment(exit.to_string())),
    };
    context.tell(Event::CommandEnded { name, run, exit }).await;
}
