//! The full-screen UI: resources with their statuses, logs, and keys for the actions of the page.
//!
//! It reads the store and sends requests, as the page does. It draws when something changed, at most 30 times a second,
//! and uses no CPU while nothing changes.

mod ansi;
mod draw;
mod layout;
mod list;
mod model;
pub(crate) mod pane;
mod source;
#[cfg(test)]
mod tests;
mod window;

use std::io::{BufWriter, Stdout, Write as _};
use std::time::Duration;

use base64::Engine as _;
use crossterm::event::Event;
use lilt_client::browser;
use lilt_client::sign_in::CurrentKeys;
use lilt_host::terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use tokio::time::Instant;

use crate::terminal_mode::{SessionLink, TerminalMode};
use crate::tty::{self, TerminalEvent, Tty};
use model::{Effect, Input, Model};

/// The minimum time between two frames.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);
/// How long the log is searched before keys are handled again.
const SEARCH_SLICE: Duration = Duration::from_millis(25);
/// How often shown durations are updated while something runs.
const SECOND: Duration = Duration::from_secs(1);
/// The size of the output buffer, so that a frame is one write.
const OUTPUT_BUFFER: usize = 64 * 1024;

type Screen = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Shows the session until it or the terminal ends. Returns the mode to show next.
pub(crate) async fn run(link: &SessionLink, tty: &mut Tty) -> std::io::Result<TerminalMode> {
    tty.fill(true)?;
    let writer = BufWriter::with_capacity(OUTPUT_BUFFER, std::io::stdout());
    let (columns, rows) = tty::size();
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    let screen = Terminal::with_options(CrosstermBackend::new(writer), TerminalOptions { viewport })?;
    let mut view = View {
        model: Model::new(link.address.clone(), terminal::has_colours()),
        link,
        screen,
        revision: 0,
        end: 0,
        opening: None,
    };
    let mode = view.run(tty).await;
    tty.fill(false)?;
    mode
}

/// Returns the keys that sign a browser in at an address of the session's page. Endpoints belong to other programs, which
/// must not get a code.
fn keys_for(address: &str, page: Option<&str>, keys: Option<&CurrentKeys>) -> Option<CurrentKeys> {
    let is_page = page.is_some_and(|page| address.starts_with(page));
    keys.filter(|_| is_page).cloned()
}

struct View<'a> {
    model: Model,
    link: &'a SessionLink,
    screen: Screen,
    revision: u64,
    /// The end of the log.
    end: u64,
    /// A browser that is being opened.
    opening: Option<std::pin::Pin<Box<dyn Future<Output = String> + Send>>>,
}

impl View<'_> {
    async fn run(&mut self, tty: &mut Tty) -> std::io::Result<TerminalMode> {
        self.redraw()?;
        let mut drawn: Option<Instant> = None;
        loop {
            self.look();
            let reading = self.read();
            let next = drawn.map(|drawn| drawn + FRAME_INTERVAL).filter(|next| Instant::now() < *next);
            if next.is_none() {
                self.model.update(Input::Time(lilt_host::clock::now()));
                if !tty.is_in_background() {
                    self.screen.draw(|frame| draw::draw(&self.model, frame))?;
                }
                drawn = Some(Instant::now());
            }
            let due = match next {
                _ if reading => Some(Instant::now()),
                None if self.model.ticks() => Some(Instant::now() + SECOND),
                next => next,
            };
            // Changes that arrive before the next frame are drawn together.
            let listen = next.is_none() && !reading;
            if let Some(mode) = self.wait(tty, due, listen).await? {
                return Ok(mode);
            }
        }
    }

    /// Waits until something happens or the next frame is due.
    async fn wait(
        &mut self,
        tty: &mut Tty,
        due: Option<Instant>,
        listen: bool,
    ) -> std::io::Result<Option<TerminalMode>> {
        let logs = self.link.reader.logs().clone();
        let end = self.end;
        let ending = self.model.ending;
        let time = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let opened = async {
            match &mut self.opening {
                Some(opening) => opening.await,
                None => std::future::pending().await,
            }
        };
        let input = tokio::select! {
            biased;
            () = self.link.over.cancelled() => return Ok(Some(TerminalMode::None)),
            sign = tty.next() => return self.take(sign),
            () = self.link.cancel.cancelled(), if !ending => Input::Ending,
            words = opened => {
                self.opening = None;
                Input::Notice(words)
            }
            _ = self.link.reader.changed(self.revision), if listen => return Ok(None),
            _ = logs.grown(end), if listen => return Ok(None),
            () = time => return Ok(None),
        };
        self.model.update(input);
        Ok(None)
    }

    fn take(&mut self, sign: TerminalEvent) -> std::io::Result<Option<TerminalMode>> {
        match sign {
            TerminalEvent::Event(Event::Key(key)) => {
                if let Some(effect) = self.model.update(Input::Key(key)) {
                    self.perform(effect)?;
                }
            }
            TerminalEvent::Event(Event::Resize(..)) | TerminalEvent::Resumed => self.redraw()?,
            TerminalEvent::Event(_) | TerminalEvent::Nothing => {}
            TerminalEvent::Quit => self.link.cancel.cancel(),
            TerminalEvent::Over => return Ok(Some(TerminalMode::None)),
            // Keys cannot be read any more; logs can still be printed.
            TerminalEvent::Closed => return Ok(Some(TerminalMode::Stream)),
        }
        Ok(None)
    }

    /// Reads the changes of the store.
    fn look(&mut self) {
        if self.link.reader.revision() > self.revision {
            let changes = self.link.reader.changes_since(self.revision);
            self.revision = changes.revision;
            self.model.update(Input::State(changes));
        }
        self.end = self.link.reader.logs().end();
        self.model.update(Input::Grown(self.end));
    }

    /// Reads log lines that the view needs; returns whether there are more.
    fn read(&mut self) -> bool {
        let logs = self.link.reader.logs();
        let deadline = Instant::now() + SEARCH_SLICE;
        while let Some(want) = self.model.next_request() {
            let page = source::read(logs, &self.model.scope(), want);
            self.model.update(Input::Lines(page));
            if Instant::now() >= deadline {
                return self.model.next_request().is_some();
            }
        }
        false
    }

    fn perform(&mut self, effect: Effect) -> std::io::Result<()> {
        match effect {
            Effect::Ask(request) => {
                if self.link.requests.try_send(request).is_err() {
                    let words = "the session takes no requests now; try again".to_owned();
                    self.model.update(Input::Notice(words));
                }
            }
            Effect::Open(address) => {
                self.model.update(Input::Notice(format!("opening {address}")));
                let keys = keys_for(&address, self.link.address.as_deref(), self.link.keys.as_ref());
                self.opening = Some(Box::pin(browser::open_signed_in(address, keys)));
            }
            Effect::Copy(what, text) => {
                self.copy(&text)?;
                self.model.update(Input::Notice(format!("copied {what}")));
            }
            Effect::Redraw => self.redraw()?,
            Effect::Quit => self.link.cancel.cancel(),
        }
        Ok(())
    }

    /// Redraws the whole screen. `clear` would ask the terminal for the cursor position and wait for the answer.
    fn redraw(&mut self) -> std::io::Result<()> {
        let (columns, rows) = tty::size();
        self.model.update(Input::Resized(columns, rows));
        self.screen.resize(Rect::new(0, 0, columns, rows))
    }

    /// Copies with the escape sequence that reaches the clipboard of the terminal's machine, also over ssh.
    fn copy(&mut self, text: &str) -> std::io::Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let writer = self.screen.backend_mut();
        write!(writer, "\x1b]52;c;{encoded}\x07")?;
        writer.flush()
    }
}
