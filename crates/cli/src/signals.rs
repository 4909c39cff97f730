//! Ctrl-C and its relatives.

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Listens as long as it lives.
pub(crate) struct Signals(JoinHandle<()>);

impl Signals {
    /// Cancels when the user, the shell or the system asks us to end. Must be called within the runtime.
    pub(crate) fn cancel(cancel: CancellationToken) -> anyhow::Result<Signals> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        Ok(Signals(tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            cancel.cancel();
        })))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.0.abort();
    }
}
