//! The agent: gets itself into a volume, copies a directory there, starts a container's process and starts it anew,
//! and changes files at lilt's word.
#![expect(clippy::disallowed_methods, reason = "this program is about files, processes and the clock")]
#![expect(clippy::print_stderr, reason = "what it says goes to the container's log")]

mod copy;
mod home;
mod problem;
mod run;
mod serve;

use std::path::Path;
use std::process::ExitCode;

use problem::Problem;

const USAGE: &str = "usage: lilt-agent install DESTINATION…
       lilt-agent copy SOURCE DESTINATION [SOURCE DESTINATION]…
       lilt-agent run [--keep PATH]… [--restart-file PATH] [--wait] [--grace MILLISECONDS] -- COMMAND [ARGUMENT]…
       lilt-agent serve [--guest PATH]
       lilt-agent check";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["install", destinations @ ..] => install(destinations),
        ["copy", pairs @ ..] if pairs.len() % 2 == 0 => copy_all(pairs),
        ["run", rest @ ..] => match run::Options::parse(rest) {
            Some(options) => return run::run(&options),
            None => Err(Problem::new(USAGE, "")),
        },
        ["serve"] => serve::serve(None),
        // Its own file, in a container that was made without it.
        ["serve", "--guest", program] => serve::serve(Some(Path::new(program))),
        // It can be started here.
        ["check"] => Ok(()),
        _ => Err(Problem::new(USAGE, "")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("lilt-agent: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Copies this program.
fn install(destinations: &[&str]) -> Result<(), Problem> {
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

fn copy_all(pairs: &[&str]) -> Result<(), Problem> {
    pairs.chunks_exact(2).try_for_each(|pair| copy::copy(Path::new(pair[0]), Path::new(pair[1])))
}
