//! A command that runs until it ends or is no longer wanted: what servers and `Cmd` objects share.

use lilt_engine::ServeExit;
use lilt_host::process::{Daemons, Exit, Process};
use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_store::Span;

use super::local::launch;
use crate::context::Context;

/// Its end and what is left of it, or why it could not be started; none: it was no longer wanted and is gone. `started`
/// gets the process's number when it runs.
pub(super) async fn keep(
    context: &Context,
    command: &Command,
    mut span: Span,
    started: impl AsyncFnOnce(u32),
) -> Option<Result<(Exit, Process), Failure>> {
    span.info(&format!("Running cmd: {}", command.display()));
    let launch = launch(context, command);
    let process = Process::spawn(&context.edges.guardian, &launch, move |bytes| span.write(bytes));
    let mut process = match process.await {
        Ok(process) => process,
        Err(failure) => return Some(Err(failure)),
    };
    started(process.pid()).await;
    tokio::select! {
        exit = process.wait() => Some(Ok((exit, process))),
        () = context.cancel.cancelled() => {
            context.stop(&mut process, Daemons::End).await;
            None
        }
    }
}

/// An end as the engine knows it.
pub(super) fn told(exit: Exit) -> ServeExit {
    match exit {
        Exit::Code(code) => ServeExit::Code(code),
        Exit::Signal(signal) => ServeExit::Signal(signal),
        Exit::Lost => ServeExit::Failed(Failure::environment(exit.to_string())),
    }
}
