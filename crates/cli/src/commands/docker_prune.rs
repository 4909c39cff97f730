//! `lilt docker-prune`.

use std::process::ExitCode;

use clap::Args;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use tokio_util::sync::CancellationToken;

use crate::arguments::Project;
use crate::session;
use crate::signals::Signals;

/// Remove old images of the project from the Docker engine, as a session does from time to time
///
/// Only images that lilt has built go, with the containers and caches they left: those older than docker_prune_settings()
/// in the Tiltfile says, less the newest of each.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt docker-prune\n  lilt docker-prune -f other/Tiltfile")]
pub(crate) struct DockerPrune {
    #[command(flatten)]
    project: Project,
}

pub(crate) async fn run(prune: DockerPrune) -> anyhow::Result<ExitCode> {
    // Deleted at the end.
    let folder = SessionDir::create()?;
    let settings = session::settings_without_session("docker-prune", prune.project, &folder)?;
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    lilt_daemon::docker_prune(settings, cancel, terminal::print).await?;
    Ok(ExitCode::SUCCESS)
}
