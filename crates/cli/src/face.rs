//! How a session shows itself in the terminal: a stream of lines, the prompt it starts with, or the whole screen.

use std::io::IsTerminal as _;

use lilt_host::environment;
use lilt_model::Failure;
use lilt_model::request::Request;
use lilt_store::Reader;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;

use crate::stream::StreamOptions;
use crate::tui::tty::{self, Tty};
use crate::{prompt, stream, terminal, tui};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Every line of log.
    Stream,
    /// A few lines, and keys to choose more.
    Prompt,
    /// The terminal UI.
    Ui,
    /// Nothing more.
    None,
}

impl Face {
    /// What `up` begins with. Without a terminal, or in the background, nobody can press keys; a dumb one shows no
    /// picture; and what lilt prints about itself would come in the middle of it.
    pub(crate) fn of(stream: bool, ui: bool) -> Face {
        let dumb = environment::variable(environment::TERM).is_some_and(|term| term == "dumb");
        let chatty = LevelFilter::current() != LevelFilter::OFF && std::io::stderr().is_terminal();
        match (ui, stream) {
            _ if dumb || chatty || !terminal::is_terminal() || !tty::is_foreground() => Face::Stream,
            (true, _) => Face::Ui,
            (false, true) => Face::Stream,
            (false, false) => Face::Prompt,
        }
    }
}

/// What a face has of the session.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) reader: Reader,
    pub(crate) requests: mpsc::Sender<Request>,
    /// Which lines of log to print.
    pub(crate) lines: StreamOptions,
    /// Of the dashboard, if there is one.
    pub(crate) address: Option<String>,
    /// What lets a browser in there.
    pub(crate) auth: Option<lilt_server::Auth>,
    /// Ends the session.
    pub(crate) cancel: CancellationToken,
    /// The session has ended, and its last words are in the store.
    pub(crate) over: CancellationToken,
}

/// Shown where the dashboard is asked for and there is none.
pub(crate) const NO_DASHBOARD: &str = "There is no browser UI: the session was started with port 0";

/// How long a terminal that takes no output may hold up the end.
const GOODBYE: std::time::Duration = std::time::Duration::from_secs(1);

/// Shows the session until it is over.
pub(crate) async fn show(face: Face, link: Link) -> Result<(), Failure> {
    if face == Face::Stream {
        stream::follow(link.reader.clone(), link.lines, link.over).await;
        return Ok(());
    }
    let (cancel, over) = (link.cancel.clone(), link.over.clone());
    // A thread of its own: a terminal that does not take what is written makes nobody else wait.
    let runtime = tokio::runtime::Handle::current();
    let mut shown = tokio::task::spawn_blocking(move || runtime.block_on(interact(face, &link)));
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

async fn interact(mut face: Face, link: &Link) {
    let Ok(mut tty) = Tty::open(link.over.clone()) else {
        // No keys can be read; what happens can still be told.
        stream::follow(link.reader.clone(), link.lines.clone(), link.over.clone()).await;
        return;
    };
    loop {
        let next = match face {
            Face::Prompt => prompt::run(link, &mut tty).await,
            Face::Ui => tui::run(link, &mut tty).await,
            Face::Stream => {
                tty.release();
                tokio::select! {
                    () = stream::follow(link.reader.clone(), link.lines.clone(), link.over.clone()) => {}
                    () = tty.obey() => {}
                }
                Ok(Face::None)
            }
            Face::None => return,
        };
        face = next.unwrap_or(Face::Stream);
    }
}
