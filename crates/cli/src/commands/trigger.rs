//! `lilt trigger`.

use std::process::ExitCode;

use clap::Args;
use lilt_client::{Connect, sessions};
use lilt_host::terminal;
use lilt_model::Failure;
use lilt_model::request::TriggerReason;
use serde_json::json;

/// Update a resource now
///
/// If it is in manual mode and has pending changes, they are applied. Otherwise everything about it is done anew.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  lilt trigger web              rebuild and redeploy web\n  lilt trigger '(Tiltfile)'     load the Tiltfile again"
)]
pub(crate) struct Trigger {
    /// The resource to update
    #[arg(value_name = "RESOURCE")]
    resource: String,
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(trigger: Trigger) -> anyhow::Result<ExitCode> {
    let client = sessions::choose(&trigger.connect)?;
    let name = &trigger.resource;
    let body = json!({"manifest_names": [name], "build_reason": TriggerReason::CLI});
    let answer = client.post_json("/api/trigger", &body).await?;
    let words = String::from_utf8_lossy(&answer).trim().to_owned();
    if !words.is_empty() {
        return Err(Failure::user(words).into());
    }
    terminal::line(&format!("Successfully triggered update for resource: {name:?}"));
    Ok(ExitCode::SUCCESS)
}
