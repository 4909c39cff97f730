//! `lilt replay`: replays a recorded session and prints the resulting state.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lilt_engine::{Entry, State, project_resource, replay};
use lilt_host::terminal;
use lilt_model::Failure;
use serde_json::{Value, json};

/// Print the states of a session that was recorded with `lilt up --record FILE`
#[derive(Args, Debug)]
pub(crate) struct Replay {
    file: PathBuf,
    /// After every turn, not only at the end
    #[arg(long)]
    turns: bool,
}

pub(crate) fn run(arguments: &Replay) -> anyhow::Result<ExitCode> {
    let text = lilt_host::files::read(&arguments.file).ok_or_else(|| {
        Failure::user(format!("{} cannot be read", arguments.file.display()))
            .hint("`lilt up --record FILE` records a session")
    })?;
    let mut turn = 0u64;
    let mut written: std::io::Result<()> = Ok(());
    let state = replay(entries(&text)?, |state| {
        turn += 1;
        if arguments.turns && written.is_ok() {
            written = terminal::write(format!("{}\n", line(state, Some(turn))).as_bytes());
        }
    })
    .map_err(Failure::user)?;
    written?;
    terminal::write(format!("{}\n", line(&state, None)).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn entries(text: &[u8]) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::user(format!("line {} is no part of a recording: {error}", number + 1))
        };
        let line = line.map_err(|error| wrong(&error))?;
        entries.push(serde_json::from_str(&line).map_err(|error| wrong(&error))?);
    }
    Ok(entries)
}

/// Returns the objects of a state.
fn line(state: &State, turn: Option<u64>) -> Value {
    let names = state.tiltfile_names().chain(state.resource_names().cloned());
    let resources: Vec<_> = names.filter_map(|name| project_resource(state, &name)).collect();
    json!({ "turn": turn, "uiResources": resources })
}
