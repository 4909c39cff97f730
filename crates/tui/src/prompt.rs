//! The start prompt of `up` in a terminal: a live summary in a few lines, and keys.

use std::fmt::Write as _;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEventKind};
use lilt_api::{UIResource, UpdateStatus};
use lilt_client::browser;
use lilt_host::terminal;
use lilt_model::escape;
use unicode_width::UnicodeWidthStr as _;

use crate::overview::Overview;
use crate::status::{Kind, Overall, messages, overall};
use crate::terminal_mode::{NO_DASHBOARD, SessionLink, TerminalMode};
use crate::tty::{self, TerminalEvent, Tty};
use crate::wrap::cut;

/// The time between two updates of the prompt.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of failing resources in the summary.
const MAX_FAILING: usize = 5;
/// The maximum number of lines of the Tiltfile's error.
const MAX_ERROR_LINES: usize = 8;

const BROWSER_KEY: &str = "(space) to open the browser\n";
const KEYS: &str = "(s) to stream logs (--stream=true)\n\
                    (t) to open the terminal UI (--legacy=true)\n\
                    (ctrl-c) to exit\n\n";

/// Shows the prompt until a key leaves it or the session ends.
pub(crate) async fn run(link: &SessionLink, tty: &mut Tty) -> std::io::Result<TerminalMode> {
    let browser_key = if link.address.is_some() { BROWSER_KEY } else { "" };
    terminal::print_raw(&format!("\n{browser_key}{KEYS}"));
    let mut prompt = Prompt { overview: Overview::default(), notice: None, block: Block::new() };
    let mut revision = 0;
    let mut opening: Option<std::pin::Pin<Box<dyn Future<Output = String> + Send>>> = None;
    loop {
        let changes = link.reader.changes_since(revision);
        revision = changes.revision;
        prompt.overview.apply(changes);
        let ending = link.cancel.is_cancelled();
        if !tty.is_in_background() {
            prompt.show(ending);
        }
        let opened = async {
            match &mut opening {
                Some(opening) => opening.await,
                None => std::future::pending().await,
            }
        };
        let changed = async {
            tokio::time::sleep(UPDATE_INTERVAL).await;
            link.reader.changed(revision).await
        };
        tokio::select! {
            biased;
            () = link.over.cancelled() => return Ok(TerminalMode::None),
            () = link.cancel.cancelled(), if !ending => {}
            sign = tty.next() => match sign {
                TerminalEvent::Event(Event::Key(key)) if key.kind != KeyEventKind::Release => match key.code {
                    KeyCode::Char('s') => return Ok(TerminalMode::Stream),
                    KeyCode::Char('t' | 'h') => return Ok(TerminalMode::Ui),
                    KeyCode::Char(' ') => {
                        let Some(address) = link.address.clone() else {
                            prompt.notice = Some(NO_DASHBOARD.to_owned());
                            continue;
                        };
                        prompt.notice = Some(format!("Opening browser: {address}"));
                        opening = Some(Box::pin(browser::open_signed_in(address, link.keys.clone())));
                    }
                    // Most terminals send a signal instead.
                    KeyCode::Char('c') if key.modifiers.contains(crossterm::event::KeyModifiers::CONTROL) => {
                        link.cancel.cancel();
                    }
                    _ => {}
                },
                TerminalEvent::Event(Event::Resize(..)) => prompt.block.resize(),
                TerminalEvent::Event(_) | TerminalEvent::Nothing => {}
                TerminalEvent::Resumed => prompt.block.restart(),
                TerminalEvent::Quit => link.cancel.cancel(),
                TerminalEvent::Over => return Ok(TerminalMode::None),
                TerminalEvent::Closed => return Ok(TerminalMode::Stream),
            },
            words = opened => {
                opening = None;
                prompt.notice = Some(words);
            }
            _ = changed => {}
        }
    }
}

struct Prompt {
    overview: Overview,
    notice: Option<String>,
    block: Block,
}

impl Prompt {
    fn show(&mut self, ending: bool) {
        let mut lines = summary(&self.overview);
        lines.extend(self.notice.clone());
        lines.extend(ending.then(|| "Ending: everything that was started is stopped …".to_owned()));
        self.block.put(lines);
    }
}

/// Returns the summary: a line of counts, then problems.
fn summary(overview: &Overview) -> Vec<String> {
    let resources = overview.len() - usize::from(overview.tiltfile().is_some());
    let mut lines = vec![counts(overview, resources)];
    if let Some(tiltfile) = overview.tiltfile() {
        let errors = messages(tiltfile).into_iter().filter(|(kind, _)| *kind == Kind::Error);
        let text = errors.flat_map(|(_, text)| text.lines()).take(MAX_ERROR_LINES);
        lines.extend(text.map(|line| format!("  {}", plain(line))));
    }
    let failing = || {
        let names = overview.names().filter(|name| !name.is_tiltfile());
        names.filter(|name| overview.resource(name).is_some_and(|it| overall(it) == Overall::Error))
    };
    for name in failing().take(MAX_FAILING) {
        let why = overview.resource(name).and_then(|it| messages(it).first()?.1.lines().next());
        lines.push(format!("  ✗ {name}: {}", plain(why.unwrap_or("failing"))));
    }
    let more = failing().count().saturating_sub(MAX_FAILING);
    lines.extend((more > 0).then(|| format!("  … and {more} more")));
    lines
}

fn counts(overview: &Overview, resources: usize) -> String {
    let plural = if resources == 1 { "" } else { "s" };
    let mut words = match overview.tiltfile().map(update_of) {
        None | Some(UpdateStatus::Pending | UpdateStatus::InProgress) if resources == 0 => {
            return "Loading the Tiltfile …".to_owned();
        }
        Some(UpdateStatus::Error) if resources == 0 => return "✗ The Tiltfile has an error:".to_owned(),
        Some(UpdateStatus::Error) => format!("✗ The Tiltfile has an error; {resources} resource{plural}"),
        _ => format!("{resources} resource{plural}"),
    };
    // The Tiltfile is not counted here.
    let tiltfile = overview.tiltfile().map(overall);
    let mut separator = ": ";
    for state in [Overall::Ok, Overall::Busy, Overall::Waiting, Overall::Idle, Overall::Error] {
        let count = overview.count(state) - usize::from(tiltfile == Some(state));
        let word = if state == Overall::Ok { "ready" } else { state.word() };
        if count > 0 {
            // Writing to a string does not fail.
            let _ = write!(words, "{separator}{count} {word}");
            separator = ", ";
        }
    }
    words
}

fn update_of(resource: &UIResource) -> UpdateStatus {
    resource.status.update_status
}

/// Removes control sequences.
fn plain(text: &str) -> String {
    escape::plain(text).chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Lines at the end of the output that are overwritten in place.
struct Block {
    lines: Vec<String>,
    columns: usize,
}

impl Block {
    fn new() -> Block {
        Block { lines: Vec::new(), columns: tty::size().0.into() }
    }

    /// Replaces the shown lines, if they changed.
    fn put(&mut self, lines: Vec<String>) {
        let lines: Vec<String> =
            lines.iter().map(|line| cut(line, self.columns.saturating_sub(1).max(1))).collect();
        if lines == self.lines {
            return;
        }
        terminal::print_raw(&format!("{}{}\n", self.erase(), lines.join("\n")));
        self.lines = lines;
    }

    /// Returns the sequence that erases the lines. Terminals that became narrower have wrapped them.
    fn erase(&self) -> String {
        let width = self.columns.max(1);
        let rows: usize = self.lines.iter().map(|line| line.width().div_ceil(width).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r\x1b[J") }
    }

    fn resize(&mut self) {
        self.columns = tty::size().0.into();
    }

    /// Starts a new block after other output.
    fn restart(&mut self) {
        self.lines.clear();
    }
}
