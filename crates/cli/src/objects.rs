//! The objects of a session: the commands that read and write them, as Kubernetes' users know them.
//!
//! Kinds come from lilt's own table, so that nothing is asked before the question itself. Every command opens one
//! connection. What is printed, how mistakes are told and exit codes are kubectl's.

pub(crate) mod api_resources;
pub(crate) mod apply;
mod connection;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod describe;
mod documents;
pub(crate) mod edit;
mod editor;
pub(crate) mod explain;
mod flags;
pub(crate) mod get;
mod merge;
mod names;
pub(crate) mod patch;
mod printers;
mod problem;
mod reading;
mod request;
pub(crate) mod shell;
mod template;
pub(crate) mod updog;
pub(crate) mod wait;
mod watch;
mod writing;

use std::process::ExitCode;

use crate::terminal;
use problem::Problem;

type Outcome = Result<(), Problem>;

/// Runs a command to its end on one thread: it starts faster than several, and there is nothing to do beside it.
pub(crate) fn run(command: impl Future<Output = Outcome>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_background();
    match outcome {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Problem::Output(error)) => Err(error),
        Err(problem) => {
            terminal::aside(&problem.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}
