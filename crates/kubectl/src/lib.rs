//! The verbs over the objects of a session, as Kubernetes' users know them: one module per verb.
//!
//! Kinds come from lilt's own table, so that nothing is asked before the question itself. Every command opens one
//! connection. What is printed, how mistakes are told and exit codes are kubectl's.
//!
//! A front end: it knows the object API by `lilt-client` alone, and nothing of how a session carries anything out.

pub mod api_resources;
pub mod apply;
pub mod create;
pub mod delete;
pub mod describe;
pub mod documents;
pub mod edit;
mod editor;
pub mod explain;
mod flags;
pub mod get;
mod merge;
mod names;
pub mod patch;
mod printers;
mod problem;
mod reading;
pub mod shell;
mod template;
pub mod wait;
mod writing;

use std::process::ExitCode;

use lilt_client::Connect;
use lilt_client::object_api::Api;
use lilt_host::terminal;

pub use problem::Problem;

/// What becomes of a command.
pub type Outcome = Result<(), Problem>;

/// Runs a command to its end on one thread: it starts faster than several, and there is nothing to do beside it.
pub fn run(command: impl Future<Output = Outcome>) -> std::io::Result<ExitCode> {
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

/// Finds the API of the session that is meant. What the server warns of goes to stderr.
pub fn connect(connect: &Connect) -> Result<Api, Problem> {
    Ok(Api::find(connect, |warning| terminal::aside(&format!("Warning: {warning}")))?)
}
