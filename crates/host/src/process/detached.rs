//! A command whose work is to outlive lilt, such as opening a browser.

use std::process::Stdio;

use lilt_model::Failure;

use super::{Exit, Launch};
use crate::error::Error;

/// Runs a command without input and output, and waits for it. What it starts is not lilt's any more.
pub async fn detached(launch: &Launch) -> Result<Exit, Failure> {
    launch.check()?;
    let command = launch.command().map_err(|error| launch.explain(error))?;
    let mut command = tokio::process::Command::from(command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let status = child.map_err(|error| launch.explain(error))?.wait().await;
    Ok(status.map(Exit::from).map_err(Error::EndUnseen)?)
}
