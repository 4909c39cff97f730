//! Runs the programs that render objects: helm, kustomize, Docker Compose.

use lilt_model::Failure;
use lilt_model::command::Command;

use crate::failure::{cancelled, raise};
use crate::load_state::LoadState;
use crate::system::CommandOutput;

/// Returns a command in the directory of the file that runs.
pub(super) fn command(state: &LoadState<'_>, words: impl IntoIterator<Item = String>) -> Command {
    Command { argv: words.into_iter().collect(), dir: state.directory(), env: Vec::new(), unset: Vec::new() }
}

/// Formats a command as Tilt does: words with spaces in quotes.
pub(super) fn shown(command: &Command) -> String {
    let quoted = |word: &String| if word.contains(' ') { format!("{word:?}") } else { word.clone() };
    command.argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Runs a command and returns its stdout. A failure shows the command, its exit code and output.
pub(super) fn run(state: &LoadState<'_>, function: &str, command: &Command) -> starlark::Result<String> {
    run_if_present(state, function, command)?.ok_or_else(|| {
        let program = command.argv.first().map(String::as_str).unwrap_or_default();
        let failure = Failure::environment(format!("{function}: there is no program {program}"));
        raise(failure.hint(format!("install {program}, or make sure that it is on your PATH")))
    })
}

/// Like [`run`]; none if there is no such program.
pub(super) fn run_if_present(
    state: &LoadState<'_>,
    function: &str,
    command: &Command,
) -> starlark::Result<Option<String>> {
    state.print(&format!("Running: {}", shown(command)));
    match run_with_any_exit_code(state, function, command)? {
        Some(output) if output.exit_code != Some(0) => Err(raise(exit_failure(function, command, &output))),
        output => Ok(output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())),
    }
}

/// Runs a command and returns its output, also if it failed; none if there is no such program.
pub(super) fn run_with_any_exit_code(
    state: &LoadState<'_>,
    function: &str,
    command: &Command,
) -> starlark::Result<Option<CommandOutput>> {
    match state.run(&shown(command), command, None, &mut |_| {}) {
        Ok(output) => Ok(Some(output)),
        Err(error) => match error.kind() {
            std::io::ErrorKind::Interrupted => Err(raise(cancelled())),
            std::io::ErrorKind::NotFound => Ok(None),
            _ => {
                let words = format!("{function}: cannot run {:?}: {error}", shown(command));
                Err(raise(Failure::environment(words)))
            }
        },
    }
}

pub(super) fn exit_failure(function: &str, command: &Command, output: &CommandOutput) -> Failure {
    let how =
        output.exit_code.map_or("was ended by a signal".into(), |code| format!("exited with code {code}"));
    let failure = Failure::user(format!("{function}: {:?} {how}", shown(command)));
    let mut outputs = Vec::new();
    for (name, stream) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = String::from_utf8_lossy(stream);
        if !text.trim().is_empty() {
            outputs.push(format!("its {name}:\n{}", text.trim_end()));
        }
    }
    if outputs.is_empty() { failure } else { failure.detail(outputs.join("\n")) }
}
