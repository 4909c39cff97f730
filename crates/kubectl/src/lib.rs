//! kubectl's verbs for the objects of a session: one module per verb.
//!
//! Kinds come from lilt's own table, so that no discovery requests are needed. Every command opens one
//! connection. Output, errors and exit codes are kubectl's.
//!
//! It uses the object API through `lilt-client`, and nothing else of a session.

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
mod lookup;
mod merge;
pub mod patch;
mod printers;
mod problem;
mod report;
pub mod shell;
mod targets;
mod template;
pub mod wait;

use std::process::ExitCode;

use lilt_client::Connect;
use lilt_client::object_api::Api;
use lilt_host::terminal;

pub use problem::Problem;

/// The result of a command.
pub type Outcome = Result<(), Problem>;

/// Runs a command on a single thread, which starts faster than several.
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

/// Connects to the API of the selected session. Warnings of the server go to stderr.
pub fn connect(connect: &Connect) -> Result<Api, Problem> {
    Ok(Api::find(connect, |warning| terminal::aside(&format!("Warning: {warning}")))?)
}
