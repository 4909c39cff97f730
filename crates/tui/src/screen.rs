//! The session in a terminal, on the whole screen: resources with their states, logs, and keys for what the page has
//! buttons for.
//!
//! It reads the store and sends requests, as the page does. It draws when something changed, never more often than a
//! person can see, and costs nothing while nothing happens.

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
use crate::tty::{self, Sign, Tty};
use model::{Effect, Input, Model};

/// Between two pictures.
const PACE: Duration = Duration::from_millis(33);
/// How long the log may be searched before keys are looked at again.
const READING: Duration = Duration::from_millis(25);
/// While something runs, its time goes on.
const SECOND: Duration = Duration::from_secs(1);
/// A picture is written at once.
const PICTURE: usize = 64 * 1024;

type Screen = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Shows the session until it is over, or the terminal is. Returns what is to be shown then.
pub(crate) async fn run(link: &SessionLink, tty: &mut Tty) -> std::io::Result<TerminalMode> {
    tty.fill(true)?;
    let writer = BufWriter::with_capacity(PICTURE, std::io::stdout());
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

/// What signs a browser in at an address: the session's keys if it is on the session's page. An endpoint belongs to
/// somebody else, who must not get a code.
fn keys_for(address: &str, page: Option<&str>, keys: Option<&CurrentKeys>) -> Option<CurrentKeys> {
    let is_page = page.is_some_and(|page| address.starts_with(page));
    keys.filter(|_| is_page).cloned()
}

struct View<'a> {
    model: Model,
    link: &'a SessionLink,
    screen: Screen,
    revision: u64,
    /// How far the log goes.
    end: u64,
    /// A browser on its way.
    opening: Option<std::pin::Pin<Box<dyn Future<Output = String> + Send>>>,
}

impl View<'_> {
    async fn run(&mut self, tty: &mut Tty) -> std::io::Result<TerminalMode> {
        self.redraw()?;
        let mut drawn: Option<Instant> = None;
        loop {
            self.look();
            let reading = self.read();
            let next = drawn.map(|drawn| drawn + PACE).filter(|next| Instant::now() < *next);
            if next.is_none() {
                self.model.update(Input::Time(lilt_host::clock::now()));
                if !tty.is_away() {
                    self.screen.draw(|frame| draw::draw(&self.model, frame))?;
                }
                drawn = Some(Instant::now());
            }
            let due = match next {
                _ if reading => Some(Instant::now()),
                None if self.model.ticks() => Some(Instant::now() + SECOND),
                next => next,
            };
            // While a picture is due, more changes go into it: a flood of them wakes nobody.
            let listen = next.is_none() && !reading;
            if let Some(mode) = self.wait(tty, due, listen).await? {
                return Ok(mode);
            }
        }
    }

    /// Waits until something happens, or until it is time.
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

    fn take(&mut self, sign: Sign) -> std::io::Result<Option<TerminalMode>> {
        match sign {
            Sign::Event(Event::Key(key)) => {
                if let Some(effect) = self.model.update(Input::Key(key)) {
                    self.perform(effect)?;
                }
            }
            Sign::Event(Event::Resize(..)) | Sign::Resumed => self.redraw()?,
            Sign::Event(_) | Sign::Nothing => {}
            Sign::Quit => self.link.cancel.cancel(),
            Sign::Over => return Ok(Some(TerminalMode::None)),
            // Nothing can be pressed any more; what happens can still be told.
            Sign::Closed => return Ok(Some(TerminalMode::Stream)),
        }
        Ok(None)
    }

    /// Takes what the store has.
    fn look(&mut self) {
        if self.link.reader.revision() > self.revision {
            let changes = self.link.reader.changes_since(self.revision);
            self.revision = changes.revision;
            self.model.update(Input::State(changes));
        }
        self.end = self.link.reader.logs().end();
        self.model.update(Input::Grown(self.end));
    }

    /// Reads what the log view lacks; true if there is more to read.
    fn read(&mut self) -> bool {
        let logs = self.link.reader.logs();
        let deadline = Instant::now() + READING;
        while let Some(want) = self.model.wants() {
            let page = source::read(logs, &self.model.scope(), want);
            self.model.update(Input::Lines(page));
            if Instant::now() >= deadline {
                return self.model.wants().is_some();
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

    /// Forgets what is on the screen, and how large it was. `clear` would ask the terminal where its cursor is and wait for the answer.
    fn redraw(&mut self) -> std::io::Result<()> {
        let (columns, rows) = tty::size();
        self.model.update(Input::Resized(columns, rows));
        self.screen.resize(Rect::new(0, 0, columns, rows))
    }

    /// By the sequence that reaches the clipboard of the terminal's machine, over ssh too.
    fn copy(&mut self, text: &str) -> std::io::Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let writer = self.screen.backend_mut();
        write!(writer, "\x1b]52;c;{encoded}\x07")?;
        writer.flush()
    }
}
