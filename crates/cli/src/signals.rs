//! Ctrl-C and its relatives.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels when the user, the shell or the system asks us to end. Must be called within the runtime.
pub(crate) fn cancel_on_signals(cancel: CancellationToken) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        cancel.cancel();
    }))
}
