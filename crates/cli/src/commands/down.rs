//! `lilt down`.

use std::process::ExitCode;

use tokio_util::sync::CancellationToken;

use crate::arguments::Down;
use crate::signals::Signals;
use crate::{session, terminal};

pub(crate) async fn run(down: Down) -> anyhow::Result<ExitCode> {
    let settings = session::settings_for_down(down.project)?;
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    lilt_daemon::down(settings, down.delete_namespaces, cancel, terminal::print).await?;
    Ok(ExitCode::SUCCESS)
}
