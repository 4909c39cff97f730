//! `lilt token`: the token of a running session, for scripts.

use std::process::ExitCode;

use clap::Args;
use lilt_client::{Connect, sessions};
use lilt_host::terminal;
use lilt_model::Failure;
use serde_json::json;

/// Print or replace the token of a running session
///
/// Scripts send it in the header X-Tilt-Token. Anyone who has it can run commands as you, so keep it out of command lines,
/// which other users of this machine can read. The object API has another token, in ~/.tilt-dev/config, which ends with
/// the session and is not replaced.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt token --header | curl -H @- http://localhost:10350/api/resources
  lilt token --rotate       sign every browser and script out")]
pub(crate) struct Token {
    /// Replace the token: the old one, links and the cookies of browsers stop working
    #[arg(long)]
    rotate: bool,
    /// Print the whole header line, for `curl -H @-`
    #[arg(long, conflicts_with = "rotate")]
    header: bool,
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(token: Token) -> anyhow::Result<ExitCode> {
    let client = sessions::choose(&token.connect)?;
    // Checks that the session responds.
    client.get("/api/websocket_token").await?;
    let Some(current) = client.token() else {
        return Err(Failure::user(format!("the session on {} has no token", client.address()))
            .hint("it was started with TILT_DISABLE_HUD_AUTH=1")
            .into());
    };
    if token.rotate {
        client.post_json("/api/token/rotate", &json!({})).await?;
        terminal::line(&format!(
            "Replaced the token of {}; sign in again with `lilt open`",
            client.address()
        ));
    } else if token.header {
        terminal::line(&format!("X-Tilt-Token: {current}"));
    } else {
        terminal::line(current);
    }
    Ok(ExitCode::SUCCESS)
}
