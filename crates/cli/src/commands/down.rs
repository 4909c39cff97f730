//! `lilt down`.

use std::process::ExitCode;

use lilt_daemon::DownOptions;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use tokio_util::sync::CancellationToken;

use crate::arguments::{Down, Project};
use crate::session;
use crate::signals::Signals;

pub(crate) async fn run(down: Down) -> anyhow::Result<ExitCode> {
    let options = DownOptions { namespaces: down.delete_namespaces, volumes: down.delete_volumes };
    delete(down.project, options).await?;
    Ok(ExitCode::SUCCESS)
}

/// Deletes the resources of the Tiltfile, until Ctrl-C.
pub(crate) async fn delete(project: Project, options: DownOptions) -> anyhow::Result<()> {
    // Deleted at the end.
    let folder = SessionDir::create()?;
    let settings = session::settings_without_session("down", project, &folder)?;
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    Ok(lilt_daemon::down(settings, options, cancel, terminal::print).await?)
}
