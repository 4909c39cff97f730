//! The state of the full-screen UI. Pure: it neither reads the store nor draws; actions are returned as [`Effect`]s.

mod keys;

use crossterm::event::KeyEvent;
use lilt_model::log::Source;
use lilt_model::request::Request;
use lilt_model::{ResourceName, Timestamp};
use lilt_store::Changes;

use super::layout::{Areas, areas};
use super::list::List;
use super::pane::Pane;
use super::window::{LogRequest, Page, Scope};
use crate::overview::Overview;

/// The width of the name column before log lines, with its rule.
pub(crate) const PREFIX: u16 = 16;
/// A narrower log has no name column.
const MIN_WIDTH_WITH_PREFIX: u16 = 48;

/// An event of the UI.
#[derive(Debug)]
pub(crate) enum Input {
    Key(KeyEvent),
    Resized(u16, u16),
    State(Changes),
    /// The log now ends at this number.
    Grown(u64),
    Lines(Page),
    Time(Timestamp),
    /// A message for the user.
    Notice(String),
    /// The session is ending.
    Ending,
}

/// An action to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Ask(Request),
    /// Opens an address in a browser.
    Open(String),
    /// Copies into the clipboard: a description, and the text.
    Copy(&'static str, String),
    Redraw,
    Quit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    List,
    Log,
}

/// The input mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Normal,
    /// Typing edits the filter of the list.
    Filter,
    /// Typing edits the search pattern.
    Search(String),
    Help,
    /// Asks whether to end the session.
    Quit,
}

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) overview: Overview,
    pub(crate) list: List,
    pub(crate) pane: Pane,
    pub(crate) focus: Focus,
    pub(crate) mode: Mode,
    /// The log shows all resources, not only the selected one.
    pub(crate) all: bool,
    pub(crate) source: Option<Source>,
    /// The log fills the screen.
    pub(crate) whole: bool,
    pub(crate) notice: Option<String>,
    pub(crate) ending: bool,
    pub(crate) now: Timestamp,
    pub(crate) colours: bool,
    /// The address of the dashboard.
    pub(crate) address: Option<String>,
    size: (u16, u16),
}

impl Model {
    pub(crate) fn new(address: Option<String>, colours: bool) -> Model {
        Model {
            overview: Overview::default(),
            list: List::default(),
            pane: Pane::new(colours),
            focus: Focus::List,
            mode: Mode::Normal,
            all: false,
            source: None,
            whole: false,
            notice: None,
            ending: false,
            now: Timestamp::ZERO,
            colours,
            address,
            size: (80, 24),
        }
    }

    pub(crate) fn update(&mut self, input: Input) -> Option<Effect> {
        let mut effect = None;
        match input {
            Input::Key(key) => effect = keys::press(self, key),
            Input::Resized(columns, rows) => self.size = (columns, rows),
            Input::State(changes) => {
                if self.overview.apply(changes) {
                    self.list.rebuild(&self.overview);
                    self.pane.learn(self.overview.in_order());
                }
            }
            Input::Grown(end) => self.pane.grow(end),
            Input::Lines(page) => self.pane.take(page),
            Input::Time(now) => self.now = now,
            Input::Notice(words) => self.notice = Some(words),
            Input::Ending => self.ending = true,
        }
        if self.pane.take_not_found() {
            self.notice = Some(format!("no more lines with \"{}\"", self.pane.pattern));
        }
        self.arrange();
        effect
    }

    /// Returns which log lines to read.
    pub(crate) fn next_request(&self) -> Option<LogRequest> {
        if self.areas().log.height > 1 { self.pane.next_request() } else { None }
    }

    /// Returns whether the view changes with the time.
    pub(crate) fn ticks(&self) -> bool {
        self.overview.is_updating()
    }

    pub(crate) fn areas(&self) -> Areas {
        areas(self.size.0, self.size.1, self.whole, self.overview.has_problem())
    }

    pub(crate) fn scope(&self) -> Scope {
        let resource = if self.all { None } else { self.list.selected().cloned() };
        Scope { resource, source: self.source }
    }

    pub(crate) fn has_prefix(&self) -> bool {
        self.all && self.areas().log.width >= MIN_WIDTH_WITH_PREFIX
    }

    /// Updates the sizes of list and log.
    fn arrange(&mut self) {
        let areas = self.areas();
        // One row for the column titles.
        self.list.resize(usize::from(areas.list.height.saturating_sub(1)));
        self.pane.set_scope(self.scope());
        let prefix = if self.has_prefix() { PREFIX } else { 0 };
        // One column for the mark, one row for the title.
        let columns = areas.log.width.saturating_sub(prefix + 1);
        self.pane.resize(columns.into(), areas.log.height.saturating_sub(1).into());
    }

    pub(crate) fn selected(&self) -> Option<(&ResourceName, &lilt_api::UIResource)> {
        let name = self.list.selected()?;
        Some((name, self.overview.resource(name)?))
    }
}
