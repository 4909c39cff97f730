//! What a session shows in the terminal: a stream of log lines, the start prompt, or the full-screen UI.

use std::io::IsTerminal as _;

use lilt_client::sign_in::CurrentKeys;
use lilt_host::{environment, terminal};
use lilt_model::Failure;
use lilt_model::request::Request;
use lilt_store::Reader;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;

use crate::stream::StreamOptions;
use crate::tty::{self, Tty};
use crate::{prompt, screen, stream};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalMode {
    /// Every line of log.
    Stream,
    /// A few lines, and keys to choose more.
    Prompt,
    /// The terminal UI.
    Ui,
    /// Nothing more.
    None,
}

impl TerminalMode {
    /// Returns the mode that `up` starts with: the stream without a terminal, in the background, in a dumb terminal,
    /// and with diagnostics on stderr, which would overwrite the screen.
    pub fn of(stream: bool, ui: bool) -> TerminalMode {
        let dumb = environment::variable(environment::TERM).is_some_and(|term| term == "dumb");
        let chatty = LevelFilter::current() != LevelFilter::OFF && std::io::stderr().is_terminal();
        match (ui, stream) {
            _ if dumb || chatty || !terminal::is_terminal() || !tty::is_foreground() => TerminalMode::Stream,
            (true, _) => TerminalMode::Ui,
            (false, true) => TerminalMode::Stream,
            (false, false) => TerminalMode::Prompt,
        }
    }
}

/// What a terminal mode needs of the session.
#[derive(Clone, Debug)]
pub struct SessionLink {
    pub reader: Reader,
    pub requests: mpsc::Sender<Request>,
    /// Which lines of log to print.
    pub lines: StreamOptions,
    /// The address of the dashboard, if there is one.
    pub address: Option<String>,
    /// The keys that sign a browser in.
    pub keys: Option<CurrentKeys>,
    /// Ends the session.
    pub cancel: CancellationToken,
    /// The session has ended, and its last log lines are in the store.
    pub over: CancellationToken,
}

/// Shown when the user opens the dashboard and there is none.
pub(crate) const NO_DASHBOARD: &str = "There is no browser UI: the session was started with port 0";

/// How long the end of the session waits for a terminal that takes no output.
const SHUTDOWN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

/// Shows the session until it is over.
pub async fn show(mode: TerminalMode, link: SessionLink) -> Result<(), Failure> {
    if mode == TerminalMode::Stream {
        stream::follow(link.reader.clone(), link.lines, link.over).await;
        return Ok(());
    }
    let (cancel, over) = (link.cancel.clone(), link.over.clone());
    // On its own thread: a blocked terminal must not block the session.
    let runtime = tokio::runtime::Handle::current();
    let mut shown = tokio::task::spawn_blocking(move || runtime.block_on(interact(mode, &link)));
    let end = async {
        over.cancelled().await;
        tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    };
    tokio::select! {
        biased;
        ended = &mut shown => {
            if ended.is_err() {
                // An error of the terminal ends the session in order.
                cancel.cancel();
                return Err(Failure::internal("what the terminal shows broke; the session was ended"));
            }
        }
        () = end => tty::restore_settings(),
    }
    Ok(())
}

async fn interact(mut mode: TerminalMode, link: &SessionLink) {
    let Ok(mut tty) = Tty::open(link.over.clone()) else {
        // Keys cannot be read; logs can still be printed.
        stream::follow(link.reader.clone(), link.lines.clone(), link.over.clone()).await;
        return;
    };
    loop {
        let next = match mode {
            TerminalMode::Prompt => prompt::run(link, &mut tty).await,
            TerminalMode::Ui => screen::run(link, &mut tty).await,
            TerminalMode::Stream => {
                tty.release();
                tokio::select! {
                    () = stream::follow(link.reader.clone(), link.lines.clone(), link.over.clone()) => {}
                    () = tty.handle_suspend() => {}
                }
                Ok(TerminalMode::None)
            }
            TerminalMode::None => return,
        };
        mode = next.unwrap_or(TerminalMode::Stream);
    }
}
