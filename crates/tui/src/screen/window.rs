//! The part of the log that is in memory: consecutive lines of one scope around the view, so that a million lines cost
//! no more than a thousand.

use std::collections::VecDeque;

use lilt_model::ResourceName;
use lilt_model::log::{Level, Line, Source};

use super::ansi::Styled;
use crate::stream::NameColumn;

/// Far more than a screen shows.
const MAX_LINES: usize = 2000;
const MAX_BYTES: usize = 1024 * 1024;
/// Kept however long they are: more than a screen has rows.
const MIN_LINES: usize = 512;
/// If more lines than this arrived meanwhile, the view continues at the new end instead of reading them.
const FAR_BEHIND: u64 = 16 * 1024;

/// Which lines are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// None: all resources.
    pub(crate) resource: Option<ResourceName>,
    /// None: all sources.
    pub(crate) source: Option<Source>,
}

impl Scope {
    #[cfg(test)]
    pub(crate) fn matches(&self, line: &Line) -> bool {
        let resource = self.resource.as_ref().is_none_or(|name| line.resource.as_ref() == Some(name));
        resource && self.source.is_none_or(|source| line.source == source)
    }
}

/// A line, ready to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct LoadedLine {
    pub(crate) seq: u64,
    pub(crate) resource: Option<ResourceName>,
    /// The resource's name, padded to its column.
    pub(crate) label: String,
    pub(crate) level: Level,
    pub(crate) styled: Styled,
}

/// Lines of the scope to read from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogRequest {
    /// Lines before this number.
    Older { before: u64 },
    /// Lines from this number on.
    Newer { from: u64 },
}

/// The lines that were read.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) want: LogRequest,
    /// Oldest first.
    pub(crate) lines: Vec<Line>,
    /// How far the log was read: the first number when reading backwards, else the one after the last.
    pub(crate) reached: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) scope: Scope,
    pub(crate) lines: VecDeque<LoadedLine>,
    bytes: usize,
    /// Every line of the scope from `begin` until `end` is in `lines`.
    begin: u64,
    end: u64,
    /// The end of the log.
    grown: u64,
    colours: bool,
    labels: NameColumn,
}

impl Window {
    pub(crate) fn new(colours: bool) -> Window {
        Window { colours, ..Window::default() }
    }

    /// Gives labels to these resources, which come in the Tiltfile's order.
    pub(crate) fn learn<'n>(&mut self, names: impl IntoIterator<Item = &'n ResourceName>) {
        self.labels.learn(names);
    }

    pub(crate) fn grow(&mut self, end: u64) {
        self.grown = self.grown.max(end);
    }

    /// Unloads all lines, and restarts at the end of the log.
    pub(crate) fn restart(&mut self, scope: Scope) {
        self.scope = scope;
        self.restart_at(self.grown);
    }

    /// Unloads all lines, and restarts at a line.
    pub(crate) fn restart_at(&mut self, seq: u64) {
        let scope = std::mem::take(&mut self.scope);
        let at = seq.min(self.grown);
        let labels = std::mem::take(&mut self.labels);
        *self = Window { scope, begin: at, end: at, grown: self.grown, labels, ..Window::new(self.colours) };
    }

    pub(crate) fn is_far_behind(&self) -> bool {
        self.grown.saturating_sub(self.end) > FAR_BEHIND
    }

    pub(crate) fn older(&self) -> Option<LogRequest> {
        (self.begin > 0).then_some(LogRequest::Older { before: self.begin })
    }

    pub(crate) fn newer(&self) -> Option<LogRequest> {
        (self.end < self.grown).then_some(LogRequest::Newer { from: self.end })
    }

    /// Adds a page. If there are too many lines, those far from `near` are unloaded; lines that would unload `near`
    /// are read later.
    pub(crate) fn take(&mut self, page: Page, near: u64) {
        match page.want {
            LogRequest::Older { before } if before == self.begin => {
                for line in page.lines.into_iter().rev() {
                    if !self.make_room(|lines| lines.back().map(|last| last.seq), |last| last > near) {
                        return;
                    }
                    self.begin = line.seq;
                    self.add(line, VecDeque::push_front);
                }
                self.begin = page.reached;
            }
            LogRequest::Newer { from } if from == self.end => {
                for line in page.lines {
                    if !self.make_room(|lines| lines.front().map(|first| first.seq), |first| first < near) {
                        return;
                    }
                    self.end = line.seq + 1;
                    self.add(line, VecDeque::push_back);
                }
                self.end = page.reached;
                // The log may have grown meanwhile.
                self.grow(page.reached);
            }
            // The page was requested before the view moved.
            LogRequest::Older { .. } | LogRequest::Newer { .. } => {}
        }
    }

    /// Unloads lines at one end while there are too many; returns false if they are still needed.
    fn make_room(
        &mut self,
        edge: fn(&VecDeque<LoadedLine>) -> Option<u64>,
        is_far: impl Fn(u64) -> bool,
    ) -> bool {
        while self.is_full() {
            let Some(seq) = edge(&self.lines) else { return true };
            if !is_far(seq) {
                return false;
            }
            if self.lines.front().is_some_and(|first| first.seq == seq) {
                self.forget(VecDeque::pop_front);
                self.begin = seq + 1;
            } else {
                self.forget(VecDeque::pop_back);
                self.end = seq;
            }
        }
        true
    }

    fn add(&mut self, line: Line, push: fn(&mut VecDeque<LoadedLine>, LoadedLine)) {
        let styled = Styled::parse(&line.text, self.colours);
        self.bytes += styled.text.len();
        let label = line.resource.as_ref().map(|name| self.labels.label(name).to_owned()).unwrap_or_default();
        let Line { seq, resource, level, .. } = line;
        push(&mut self.lines, LoadedLine { seq, resource, label, level, styled });
    }

    fn forget(&mut self, pop: fn(&mut VecDeque<LoadedLine>) -> Option<LoadedLine>) {
        if let Some(line) = pop(&mut self.lines) {
            self.bytes -= line.styled.text.len();
        }
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MAX_LINES || (self.bytes > MAX_BYTES && self.lines.len() >= MIN_LINES)
    }

    /// Returns the index of a line, or of the first one after it.
    pub(crate) fn index_of(&self, seq: u64) -> usize {
        self.lines.partition_point(|line| line.seq < seq)
    }

    pub(crate) fn has_all_newer(&self) -> bool {
        self.end >= self.grown
    }
}
