//! A command that runs until it ends or is no longer wanted: what servers and `Cmd` objects share.

use std::time::Duration;

use lilt_engine::ServeExit;
use lilt_host::process::{Daemons, Exit, Process};
use lilt_model::command::Command;
use lilt_model::log::Level;
use lilt_model::{Failure, Unreachable};
use lilt_store::Span;

use super::local::launch;
use crate::context::Context;

/// Between two attempts to start a command for which this machine lacks something.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(500);

/// Its end and what is left of it, or why it could not be started; none: it was no longer wanted and is gone. `started`
/// gets the process's number when it runs. A shortage of this machine is waited for.
pub(super) async fn keep(
    context: &Context,
    command: &Command,
    span: impl Fn() -> Span,
    started: impl AsyncFnOnce(u32),
) -> Option<Result<(Exit, Process), Failure>> {
    span().info(&format!("Running cmd: {}", command.display()));
    let launch = launch(context, command);
    let spawn = || {
        let mut span = span();
        Process::spawn(&context.edges.guardian, &launch, move |bytes| span.write(bytes))
    };
    let mut is_reported = false;
    let mut process = loop {
        match spawn().await {
            Ok(process) => break process,
            // It says nothing of the command.
            Err(failure) if failure.unreachable() == Some(&Unreachable::Machine) => {
                if !std::mem::replace(&mut is_reported, true) {
                    let condition = Unreachable::Machine.return_condition();
                    let words = format!("WARNING: {failure}\nThe command is started when {condition}");
                    span().print(Level::Warn, &words);
                }
            }
            Err(failure) => return Some(Err(failure)),
        }
        tokio::select! {
            () = tokio::time::sleep(SHORTAGE_PAUSE) => {}
            () = context.cancel.cancelled() => return None,
        }
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
