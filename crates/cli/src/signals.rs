//! The signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! SIGINT ends it even if it was ignored at the start, as in a script's `lilt up &`: `kill -INT` and a Ctrl-C for the
//! script also end lilt, as they end Tilt. An ignored SIGHUP stays ignored, so that `nohup` works.

use lilt_host::signals::is_ignored;
use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Handles signals until it is dropped.
pub(crate) struct Signals(JoinHandle<()>);

impl Signals {
    /// Cancels the token on these signals. Must be called within the runtime.
    pub(crate) fn cancel(cancel: CancellationToken) -> anyhow::Result<Signals> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        // Checked before a handler is installed, which would replace the inherited disposition.
        let mut hangup = if is_ignored(Signal::SIGHUP) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Signals(tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                true = async {
                    match &mut hangup {
                        Some(hangup) => hangup.recv().await.is_some(),
                        None => false,
                    }
                } => {}
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
