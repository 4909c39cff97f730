//! `lilt analytics`: stores the choice on analytics, which lilt never sends.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lilt_host::terminal;
use lilt_host::{environment, files};
use lilt_model::Failure;

/// Show whether you agreed to statistics on your use of lilt. It sends none in any case
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt analytics\n  lilt analytics opt out")]
pub(crate) struct Analytics {
    #[command(subcommand)]
    command: Option<Choice>,
}

#[derive(Debug, Subcommand)]
enum Choice {
    Opt(Opt),
}

/// Agree (in) or disagree (out). The choice is kept; lilt sends nothing in any case
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt analytics opt out\n  lilt analytics opt in")]
pub(crate) struct Opt {
    /// in or out
    #[arg(value_name = "CHOICE", value_parser = ["in", "out", "opt-in", "opt-out", "default"], hide_possible_values = true)]
    choice: String,
}

pub(crate) fn run(analytics: &Analytics) -> anyhow::Result<ExitCode> {
    match &analytics.command {
        None => {
            terminal::line(&format!("analytics status : {}", status()));
            terminal::line("lilt sends nothing, whatever the status");
        }
        Some(Choice::Opt(Opt { choice })) => {
            let path = file()?;
            let choice = match choice.as_str() {
                "in" | "out" => format!("opt-{choice}"),
                _ => choice.clone(),
            };
            files::save_private(&path, choice.as_bytes())
                .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))?;
            terminal::aside(&format!(
                "wrote user collection strategy {choice:?} to file {}; lilt sends nothing in any case",
                path.display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns `default`, `opt-in` or `opt-out`.
pub(crate) fn status() -> String {
    let text = file().ok().and_then(|path| files::read(&path));
    let text = text.and_then(|text| String::from_utf8(text).ok()).map(|text| text.trim().to_owned());
    text.filter(|text| matches!(text.as_str(), "opt-in" | "opt-out")).unwrap_or_else(|| "default".to_owned())
}

/// Returns Tilt's file, so that the choice is shared with Tilt.
fn file() -> Result<PathBuf, Failure> {
    let folder = environment::tilt_folder().ok_or_else(|| {
        Failure::environment("there is no home folder to keep the choice in").hint("set HOME or TILT_DEV_DIR")
    })?;
    Ok(folder.join("analytics/user/choice.txt"))
}
