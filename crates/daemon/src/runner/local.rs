//! An update of a local resource: run its command.

use lilt_engine::{Cause, Event, LocalJob, UpdateOutcome};
use lilt_host::process::{Daemons, Exit, Launch, Process};
use lilt_model::command::Command;
use lilt_model::{Failure, ResourceName};
use lilt_store::Span;

use super::report;
use crate::context::Context;

pub(crate) async fn run(context: Context, resource: ResourceName, update: u64, cause: Cause, job: &LocalJob) {
    let mut span = context.update_span(&resource, update);
    report::begin(&mut span, &cause);
    let outcome = match &job.command {
        None => UpdateOutcome::success(),
        Some(command) => {
            span.info(&format!("Running cmd: {}", command.display()));
            match run_command(&context, command, span).await {
                Ok(None) => UpdateOutcome::success(),
                Ok(Some(failure)) => {
                    let mut span = context.update_span(&resource, update);
                    report::failed(&mut span, &failure);
                    UpdateOutcome::failed(failure)
                }
                Err(Cancelled) => return,
            }
        }
    };
    context.tell(Event::UpdateEnded { resource, update, outcome: Box::new(outcome) }).await;
}

/// The task is no longer wanted; nothing is told.
#[derive(Debug)]
pub(crate) struct Cancelled;

/// Runs a command to its end, its output going to the span. None: it succeeded.
pub(crate) async fn run_command(
    context: &Context,
    command: &Command,
    mut span: Span,
) -> Result<Option<Failure>, Cancelled> {
    let launch = launch(context, command);
    let started = Process::spawn(&context.edges.guardian, &launch, move |bytes| span.write(bytes));
    let mut process = match started.await {
        Ok(process) => process,
        Err(failure) => return Ok(Some(failure)),
    };
    tokio::select! {
        exit = process.wait() => Ok(failure_of(command, exit)),
        () = context.cancel.cancelled() => {
            context.stop(&mut process, Daemons::Leave).await;
            Err(Cancelled)
        }
    }
}

/// A command with the session's environment under its own.
pub(crate) fn launch(context: &Context, command: &Command) -> Launch {
    let mut launch = Launch::from(command);
    let mut environment = context.settings.variables();
    environment.append(&mut launch.env);
    launch.env = environment;
    launch
}

fn failure_of(command: &Command, exit: Exit) -> Option<Failure> {
    let how = how_it_failed(exit)?;
    Some(Failure::user(format!("Command {:?} failed: {how}", command.display())))
}

/// None: it succeeded.
pub(crate) fn how_it_failed(exit: Exit) -> Option<String> {
    match exit {
        Exit::Code(0) => None,
        Exit::Code(code) => Some(format!("exit status {code}")),
        Exit::Signal(_) | Exit::Lost => Some(exit.to_string()),
    }
}
