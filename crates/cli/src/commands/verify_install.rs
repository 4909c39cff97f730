//! `lilt verify-install`: checks that lilt works on this machine.

use std::process::ExitCode;

use clap::Args;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;

use crate::commands::version;

/// Check that lilt starts and may write where it keeps its logs
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt verify-install && echo fine")]
pub(crate) struct VerifyInstall {}

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    SessionDir::create()?;
    // Scripts only check the exit code.
    if terminal::is_terminal() {
        terminal::line(&format!("{} works here", version::text()));
    }
    Ok(ExitCode::SUCCESS)
}
