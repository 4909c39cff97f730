//! How a session shows itself in the terminal: a stream of lines, the prompt it starts with, or the whole screen.

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
    /// What `up` begins with. Without a terminal, or in the background, nobody can press keys; a dumb one shows no
    /// picture; and what lilt prints about itself would come in the middle of it.
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

/// What a terminal mode has of the session.
#[derive(Clone, Debug)]
pub struct SessionLink {
    pub reader: Reader,
    pub requests: mpsc::Sender<Request>,
    /// Which lines of log to print.
    pub lines: StreamOptions,
    /// Of the dashboard, if there is one.
    pub address: Option<String>,
    /// What lets a browser in there.
    pub keys: Option<CurrentKeys>,
    /// Ends the session.
    pub cancel: CancellationToken,
    /// The session has ended, and its last words are in the store.
    pub over: CancellationToken,
}

/// Shown where the dashboard is asked for and there is none.
pub(crate) const NO_DASHBOARD: &str = "There is no browser UI: the session was started with port 0";

/// How long a terminal that takes no output may hold up the end.
const GOODBYE: std::time::Duration = std::time::Duration::from_secs(1);

/// Shows the session until it is over.
pub async fn show(mode: TerminalMode, link: SessionLink) -> Result<(), Failure> {
    if mode == TerminalMode::Stream {
        stream::follow(link.reader.clone(), link.lines, link.over).await;
        return Ok(());
    }
    let (cancel, over) = (link.cancel.clone(), link.over.clone());
    // A thread of its own: a terminal that does not take what is written makes nobody else wait.
    let runtime = tokio::runtime::Handle::current();
    let mut shown = tokio::task::spawn_blocking(move || runtime.block_on(interact(mode, &link)));
    let end = async {
        over.cancelled().await;
        tokio::time::sleep(GOODBYE).await;
    };
    tokio::select! {
        biased;
        ended = &mut shown => {
            if ended.is_err() {
                // Nothing may be left running because its picture broke.
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
        // No keys can be read; what happens can still be told.
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
                    () = tty.obey() => {}
                }
                Ok(TerminalMode::None)
            }
            TerminalMode::None => return,
        };
        mode = next.unwrap_or(TerminalMode::Stream);
    }
}
