//! Runs a command until it exits or is no longer wanted: a server of a resource, or what a `Cmd` says.

use std::time::Duration;

use lilt_engine::{CommandExit, Event, OnExit, Owner};
use lilt_host::process::{Daemons, Exit, Process};
use lilt_model::command::Command;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId, Unreachable};
use lilt_store::Span;

use super::local::launch;
use crate::context::Context;

/// Between two attempts to start a command for which this machine lacks something.
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
                let words = match exit {
                    Exit::Code(code) => format!("exit status {code}"),
                    Exit::Signal(_) | Exit::Lost => exit.to_string(),
                };
                span().print(Level::Error, &format!("ERROR: server exited: {words}"));
            }
            ended(command_exit(exit)).await;
            if on_exit == OnExit::Keep {
                context.cancel.cancelled().await;
            }
            // What turned itself into a daemon would stand in the way of the next run.
            context.stop_process(&mut process, Daemons::End).await;
        }
    }
}

/// The section of log that a command and its probe share.
pub(super) fn span_id(owner: &Owner, run: u64) -> SpanId {
    SpanId::from(match owner {
        Owner::Resource(resource) => format!("localserve:{resource}:{run}"),
        Owner::Object(object) => format!("cmd:{}:{run}", object.name),
    })
}

/// Its end and what is left of it, or why it could not be started; none: it was no longer wanted and is gone. `started`
/// gets the process's number when it runs. A shortage of this machine is waited for.
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
            context.stop_process(&mut process, Daemons::End).await;
            None
        }
    }
}

/// An end as the engine knows it.
pub(super) fn command_exit(exit: Exit) -> CommandExit {
    match exit {
        Exit::Code(code) => CommandExit::Code(code),
        Exit::Signal(signal) => CommandExit::Signal(signal),
        Exit::Lost => CommandExit::Failed(Failure::environment(exit.to_string())),
    }
}
