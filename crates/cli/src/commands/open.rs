//! `lilt open`: the page of a running session in a browser.

use std::process::ExitCode;

use clap::Args;
use lilt_client::browser;
use lilt_client::{Connect, sessions};
use lilt_host::terminal;
use lilt_model::auth::{BROWSER_LIFETIME, CodeLifetime};

/// Open the page of a running session in a browser
///
/// Signs the browser in with a link that works once. Where there is no browser the link is printed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt open                 the session of this folder
  lilt open --print         only print the link, for a browser on another machine")]
pub(crate) struct Open {
    /// Print the link instead of opening it
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(open: Open) -> anyhow::Result<ExitCode> {
    let client = sessions::choose(&open.connect)?;
    // Checks that the session responds and accepts the token.
    client.get("/api/websocket_token").await?;
    if !open.print {
        match browser::open(&client.link(BROWSER_LIFETIME)?).await {
            Ok(()) => {
                terminal::line(&format!("Opened {} in the browser", client.address()));
                return Ok(ExitCode::SUCCESS);
            }
            Err(reason) => terminal::aside(&format!("{reason}; this link works once:")),
        }
    }
    terminal::line(&client.link(CodeLifetime::UntilSessionEnds)?);
    Ok(ExitCode::SUCCESS)
}
