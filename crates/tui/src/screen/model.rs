//! What the terminal shows and what keys do to it. Pure: it reads no store, draws nothing and asks nobody; what is to
//! be done outside comes back as an [`Effect`].

mod keys;

use crossterm::event::KeyEvent;
use lilt_model::log::Source;
use lilt_model::request::Request;
use lilt_model::{ResourceName, Timestamp};
use lilt_store::Changes;

use super::layout::{Areas, areas};
use super::list::List;
use super::pane::Pane;
use super::window::{Page, Scope, Want};
use crate::overview::Overview;

/// The column of names before lines of all resources, with its rule.
pub(crate) const PREFIX: u16 = 16;
/// A narrower log has no such column.
const NARROWEST_WITH_PREFIX: u16 = 48;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Input {
    Key(KeyEvent),
    Resized(u16, u16),
    State(Changes),
    /// The log now goes up to this number.
    Grown(u64),
    Lines(Page),
    Time(Timestamp),
    /// Words for the user.
    Notice(String),
    /// The session is ending.
    Ending,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Ask(Request),
    /// In a browser.
    Open(String),
    /// Into the clipboard: what it is, and the text.
    Copy(&'static str, String),
    Redraw,
    Quit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    List,
    Log,
}

/// What keys mean now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Normal,
    /// Letters go into the filter of the list.
    Filter,
    /// Letters go into what will be searched for.
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
    /// The log shows all resources, not only the chosen one.
    pub(crate) all: bool,
    pub(crate) source: Option<Source>,
    /// The log fills the screen.
    pub(crate) whole: bool,
    pub(crate) notice: Option<String>,
    pub(crate) ending: bool,
    pub(crate) now: Timestamp,
    pub(crate) colours: bool,
    /// Of the dashboard.
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
        if self.pane.take_missed() {
            self.notice = Some(format!("no more lines with \"{}\"", self.pane.pattern));
        }
        self.arrange();
        effect
    }

    /// What should be read from the log.
    pub(crate) fn wants(&self) -> Option<Want> {
        if self.areas().log.height > 1 { self.pane.wants() } else { None }
    }

    /// Whether something shown changes with the time alone.
    pub(crate) fn ticks(&self) -> bool {
        self.overview.is_updating()
    }

    pub(crate) fn areas(&self) -> Areas {
        areas(self.size.0, self.size.1, self.whole, self.overview.has_problem())
    }

    pub(crate) fn scope(&self) -> Scope {
        let resource = if self.all { None } else { self.list.chosen().cloned() };
        Scope { resource, source: self.source }
    }

    pub(crate) fn has_prefix(&self) -> bool {
        self.all && self.areas().log.width >= NARROWEST_WITH_PREFIX
    }

    /// Makes list and log fit what was changed.
    fn arrange(&mut self) {
        let areas = self.areas();
        // One row for the titles of the columns.
        self.list.resize(usize::from(areas.list.height.saturating_sub(1)));
        self.pane.look_at(self.scope());
        let prefix = if self.has_prefix() { PREFIX } else { 0 };
        // One column for the mark of a line, one row for the title.
        let columns = areas.log.width.saturating_sub(prefix + 1);
        self.pane.resize(columns.into(), areas.log.height.saturating_sub(1).into());
    }

    pub(crate) fn chosen(&self) -> Option<(&ResourceName, &lilt_api::UIResource)> {
        let name = self.list.chosen()?;
        Some((name, self.overview.resource(name)?))
    }
}
