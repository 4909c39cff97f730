//! `lilt dump`: what lilt knows, for people who look into it.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::instances::{self, Connect};
use crate::terminal;

#[derive(Debug, Subcommand)]
pub(crate) enum Dump {
    Webview(Webview),
}

/// Print the state behind the page as JSON: session, resources and log
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump webview | jq '.uiResources[].metadata.name'")]
pub(crate) struct Webview {
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(dump: Dump) -> anyhow::Result<ExitCode> {
    match dump {
        Dump::Webview(webview) => print(&webview.connect, "/api/view").await,
    }
}

/// Prints an answer of the session as it comes.
async fn print(connect: &Connect, path: &str) -> anyhow::Result<ExitCode> {
    let mut answer = instances::choose(connect)?.get(path).await?;
    while let Some(piece) = answer.next().await? {
        terminal::write(&piece)?;
    }
    terminal::write(b"\n")?;
    Ok(ExitCode::SUCCESS)
}
