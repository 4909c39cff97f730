//! `lilt docker`.

use std::process::ExitCode;

use clap::Args;
use lilt_host::process;
use lilt_host::terminal;
use lilt_model::Failure;

use crate::session;

/// Run a docker command as lilt would: on the same engine, with the same builder
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt docker -- build -f path/to/Dockerfile .\n  lilt docker -- ps")]
pub(crate) struct Docker {
    /// The command and its arguments; those that begin with a dash stand after --
    #[arg(value_name = "COMMAND")]
    arguments: Vec<String>,
}

pub(crate) async fn run(docker: Docker) -> anyhow::Result<ExitCode> {
    // Checks first, so that an unreachable engine has lilt's error message.
    let facts = lilt_daemon::examine_docker(None, session::plugin_output()).await?;
    let builder = if facts.buildkit? { "1" } else { "0" };
    let mut env = vec![("DOCKER_BUILDKIT".to_owned(), builder.to_owned())];
    env.extend(facts.variables);
    let shown: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let argv: Vec<String> = std::iter::once("docker".to_owned()).chain(docker.arguments).collect();
    terminal::aside(&format!("Running Docker command as:\n{} {}\n---", shown.join(" "), argv.join(" ")));
    let exit = tokio::task::spawn_blocking(move || process::run_in_terminal(&argv, &env)).await??;
    if !exit.success() {
        return Err(Failure::user(format!("docker ended with {exit}")).into());
    }
    Ok(ExitCode::SUCCESS)
}
