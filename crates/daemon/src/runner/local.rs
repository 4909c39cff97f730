//! Updates a local resource: runs its command.

use lilt_engine::{Cause, CommandExit, Event, LocalJob, UpdateOutcome};
use lilt_host::process::{Daemons, Exit, Launch, Process};
use lilt_model::command::Command;
use lilt_model::{Failure, ResourceName};
use lilt_store::Span;

use super::command::command_exit;
use super::report;
use crate::context::Context;

pub(crate) async fn run(context: Context, resource: ResourceName, update: u64, cause: Cause, job: &LocalJob) {
    let mut span = context.update_span(&resource, update);
    report::begin(&mut span, &cause);
    let outcome = match &job.command {
        None => UpdateOutcome::success(),
        Some(command) => {
            span.info(&format!("Running cmd: {}", command.display()));
            let started = async |pid: u32| {
                let resource = resource.clone();
                context.send(Event::UpdateCommandStarted { resource, update, image: None, pid }).await;
            };
            let Ok(ran) = run_command(&context, command, span, started).await else { return };
            let exit = ran
                .as_ref()
                .map_or_else(|failure| CommandExit::Failed(failure.clone()), |it| command_exit(*it));
            let ended = Event::UpdateCommandEnded { resource: resource.clone(), update, image: None, exit };
            context.send(ended).await;
            match failure_of(command, ran) {
                None => UpdateOutcome::success(),
                Some(failure) => {
                    let mut span = context.update_span(&resource, update);
                    report::failed(&mut span, &failure);
                    UpdateOutcome::failed(failure)
                }
            }
        }
    };
    context.send(Event::UpdateEnded { resource, update, outcome: Box::new(outcome) }).await;
}

/// The task was cancelled. No result is sent.
#[derive(Debug)]
pub(crate) struct Cancelled;

/// Runs a command to its end. Its output goes to the span, its process id to `started`.
pub(crate) async fn run_command(
    context: &Context,
    command: &Command,
    mut span: Span,
    started: impl AsyncFnOnce(u32),
) -> Result<Result<Exit, Failure>, Cancelled> {
    let launch = launch(context, command);
    let spawned = Process::spawn(&context.guardian, &launch, move |bytes| span.write(bytes));
    let mut process = match spawned.await {
        Ok(process) => process,
        Err(failure) => return Ok(Err(failure)),
    };
    started(process.pid()).await;
    tokio::select! {
        exit = process.wait() => Ok(Ok(exit)),
        () = context.cancel.cancelled() => {
            context.stop_process(&mut process, Daemons::Leave).await;
            Err(Cancelled)
        }
    }
}

/// Adds the session's environment to a command. The command's own variables take precedence.
pub(crate) fn launch(context: &Context, command: &Command) -> Launch {
    let mut launch = Launch::from(command);
    let mut environment = context.settings.variables();
    environment.append(&mut launch.env);
    launch.env = environment;
    launch
}

/// None: it succeeded.
pub(crate) fn failure_of(command: &Command, ran: Result<Exit, Failure>) -> Option<Failure> {
    let how = match ran {
        Ok(exit) => exit_failure(exit)?,
        Err(failure) => return Some(failure),
    };
    Some(Failure::user(format!("Command {:?} failed: {how}", command.display())))
}

/// None: it succeeded.
pub(crate) fn exit_failure(exit: Exit) -> Option<String> {
    match exit {
        Exit::Code(0) => None,
        Exit::Code(code) => Some(format!("exit status {code}")),
        Exit::Signal(_) | Exit::Lost => Some(exit.to_string()),
    }
}
