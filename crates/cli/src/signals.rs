//! The signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! SIGINT ends it even if it was ignored at the start, as a script's `lilt up &` has it: `kill -INT` and a Ctrl-C for the
//! script mean lilt as well, and Tilt behaves the same. An ignored SIGHUP stays ignored, so that `nohup` works.

use lilt_host::signals::is_ignored;
use nix::sys::signal::Signal;
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
        // Asked before there is a handler, which would replace the inherited disposition.
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
