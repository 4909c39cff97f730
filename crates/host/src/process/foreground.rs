//! Commands that use lilt's own terminal.

use std::process::{Command, Stdio};

use lilt_model::Failure;

use super::Exit;
use crate::error::Error;

/// Runs a command with lilt's own stdin, stdout and stderr, with `env` added to lilt's environment, and waits for it.
/// Blocks.
pub fn run_in_terminal(argv: &[String], env: &[(String, String)]) -> Result<Exit, Failure> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Error::EmptyCommand.into());
    };
    let status = Command::new(program)
        .args(arguments)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .status()
        .map_err(|cause| Error::NotStarted { what: format!("`{program}`"), cause })?;
    Ok(Exit::from(status))
}

/// Runs a command without input, with lilt's own stderr, and returns its exit and its stdout. Blocks.
pub fn capture_output(argv: &[String]) -> Result<(Exit, Vec<u8>), Failure> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Error::EmptyCommand.into());
    };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|cause| Error::NotStarted { what: format!("`{program}`"), cause })?;
    Ok((Exit::from(output.status), output.stdout))
}
