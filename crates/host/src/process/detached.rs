//! Commands whose children may outlive lilt, such as one that opens a browser.

use std::process::Stdio;

use lilt_model::Failure;

use super::{Exit, Launch};
use crate::error::Error;

/// Runs a command without input and output, and waits for it. Processes that it leaves running are not stopped.
pub async fn run_detached(launch: &Launch) -> Result<Exit, Failure> {
    launch.check()?;
    let command = launch.command().map_err(|error| launch.explain(error))?;
    let mut command = tokio::process::Command::from(command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let status = child.map_err(|error| launch.explain(error))?.wait().await;
    Ok(status.map(Exit::from).map_err(Error::EndUnseen)?)
}
