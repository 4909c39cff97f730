//! Runs the server of a resource, or the command of a `Cmd`, until it exits or is cancelled.

use std::time::Duration;

use lilt_engine::{CommandExit, Event, OnExit, Owner};
use lilt_host::process::{Daemons, Exit, Process};
use lilt_model::command::Command;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId, Unreachable};
use lilt_store::Span;

use super::local::launch;
use crate::context::Context;

/// Between two attempts to start a command while this machine lacks files, processes or memory.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn run(
    context: Context,
    owner: Owner,
    run: u64,
    command: Command,
    on_exit: OnExit,
    resource: Option<ResourceName>,
) {
    let id = span_id(&owner, run);
    let span = || context.logs.span(id.clone(), resource.clone(), Source::Runtime);
    let started = async |pid: u32| {
        context.send(Event::CommandStarted { owner: owner.clone(), run, pid }).await;
    };
    let ended = async |exit| context.send(Event::CommandEnded { owner: owner.clone(), run, exit }).await;
    match run_to_exit(&context, &command, span, started).await {
        None => {}
        Some(Err(failure)) => {
            span().print(Level::Error, &format!("ERROR: {failure}"));
            ended(CommandExit::Failed(failure)).await;
        }
        Some(Ok((exit, mut process))) => {
            if on_exit == OnExit::Fail {
                let message = match exit {
                    Exit::Code(code) => format!("exit status {code}"),
                    Exit::Signal(_) | Exit::Lost => exit.to_string(),
                };
                span().print(Level::Error, &format!("ERROR: server exited: {message}"));
            }
            ended(command_exit(exit)).await;
            if on_exit == OnExit::Keep {
                context.cancel.cancelled().await;
            }
            // A process that became a daemon would block the next run.
            context.stop_process(&mut process, Daemons::End).await;
        }
    }
}

/// Returns the log span that a command and its probe share.
pub(super) fn span_id(owner: &Owner, run: u64) -> SpanId {
    SpanId::from(match owner {
        Owner::Resource(resource) => format!("localserve:{resource}:{run}"),
        Owner::Object(object) => format!("cmd:{}:{run}", object.name),
    })
}

/// Starts a command and waits for its exit. Returns none if it was cancelled, and is ended.
///
/// `started` gets the process id. Waits while this machine lacks what it takes to start a process.
async fn run_to_exit(
    context: &Context,
    command: &Command,
    span: impl Fn() -> Span,
    started: impl AsyncFnOnce(u32),
) -> Option<Result<(Exit, Process), Failure>> {
    span().info(&format!("Running cmd: {}", command.display()));
    let launch = launch(context, command);
    let spawn = || {
        let mut span = span();
        Process::spawn(&context.guardian, &launch, move |bytes| span.write(bytes))
    };
    let mut is_reported = false;
    let mut process = loop {
        match spawn().await {
            Ok(process) => break process,
            // The command is not the cause.
            Err(failure) if failure.unreachable() == Some(&Unreachable::Machine) => {
                if !std::mem::replace(&mut is_reported, true) {
                    let condition = Unreachable::Machine.return_condition();
                    let message = format!("WARNING: {failure}\nThe command is started when {condition}");
                    span().print(Level::Warn, &message);
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
            context.stop_process(&mut process, Daemons::End).await;
            None
        }
    }
}

/// Converts an exit to the engine's type.
pub(super) fn command_exit(exit: Exit) -> CommandExit {
    match exit {
        Exit::Code(code) => CommandExit::Code(code),
        Exit::Signal(signal) => CommandExit::Signal(signal),
        Exit::Lost => CommandExit::Failed(Failure::environment(exit.to_string())),
    }
}
