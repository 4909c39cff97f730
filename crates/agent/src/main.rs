//! The agent: installs itself into a volume, copies directories, starts and restarts a container's process, and changes
//! files on request of lilt.
#![expect(clippy::disallowed_methods, reason = "clippy.toml's rules are for lilt's own process")]
#![expect(clippy::print_stderr, reason = "stderr is the container's log")]

mod copy;
mod error;
mod home;
mod run;
mod serve;

use std::path::Path;
use std::process::ExitCode;

use error::AgentError;

const USAGE: &str = "usage: lilt-agent install DESTINATION…
       lilt-agent copy SOURCE DESTINATION [SOURCE DESTINATION]…
       lilt-agent run [--keep PATH]… [--restart-file PATH] [--wait] [--grace MILLISECONDS] -- COMMAND [ARGUMENT]…
       lilt-agent serve [--guest PATH]
       lilt-agent check";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["install", destinations @ ..] => install(destinations),
        ["copy", pairs @ ..] if pairs.len() % 2 == 0 => copy_all(pairs),
        ["run", rest @ ..] => match run::Options::parse(rest) {
            Some(options) => return run::run(&options),
            None => Err(AgentError::new(USAGE, "")),
        },
        ["serve"] => serve::serve(None),
        // In a container without the agent's volume: `program` is the agent's own copied file.
        ["serve", "--guest", program] => serve::serve(Some(Path::new(program))),
        // Succeeds if the agent can run here at all.
        ["check"] => Ok(()),
        _ => Err(AgentError::new(USAGE, "")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lilt-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Copies this program to each destination.
fn install(destinations: &[&str]) -> Result<(), AgentError> {
    let own = Path::new("/proc/self/exe");
    for destination in destinations.iter().map(Path::new) {
        if let Some(folder) = destination.parent() {
            copy::make_open_directory(folder)?;
        }
        copy::copy_file(own, destination)?;
        copy::set_mode(destination, 0o755)?;
    }
    Ok(())
}

fn copy_all(pairs: &[&str]) -> Result<(), AgentError> {
    pairs.chunks_exact(2).try_for_each(|pair| copy::copy(Path::new(pair[0]), Path::new(pair[1])))
}
