//! `lilt down`.

use std::process::ExitCode;

use tokio_util::sync::CancellationToken;

use crate::arguments::Down;
use crate::{session, signals, terminal};

pub(crate) async fn run(down: Down) -> anyhow::Result<ExitCode> {
    let settings = session::settings_for_down(down.project)?;
    let cancel = CancellationToken::new();
    let signals = signals::cancel_on_signals(cancel.clone())?;
    let result = tokio::select! {
        result = lilt_daemon::down(settings, down.delete_namespaces, terminal::print) => result,
        () = cancel.cancelled() => Err(lilt_model::Failure::user("interrupted; some objects may be left")),
    };
    signals.abort();
    result?;
    Ok(ExitCode::SUCCESS)
}
