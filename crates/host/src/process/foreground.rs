//! A command that has lilt's own terminal for a while.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use lilt_model::Failure;

use super::Exit;

/// Runs a command on lilt's own input and output, with these variables on top of lilt's own, and waits for it. Blocks.
pub fn in_terminal(argv: &[String], env: &[(String, String)]) -> Result<Exit, Failure> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Failure::user("the command is empty"));
    };
    let status = Command::new(program)
        .args(arguments)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .status()
        .map_err(|error| Failure::environment(format!("cannot start `{program}`: {error}")))?;
    Ok(match status.code() {
        Some(code) => Exit::Code(code),
        None => Exit::Signal(status.signal().unwrap_or_default()),
    })
}
