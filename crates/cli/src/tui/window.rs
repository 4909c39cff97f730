//! The part of the log that is in memory: lines of one scope, from one number to another without gaps. It slides with
//! what is looked at, so that a million lines cost no more than a thousand.

use std::collections::VecDeque;

use lilt_model::ResourceName;
use lilt_model::log::{Level, Line, Source};

use super::ansi::Styled;

/// Far more than a screen shows.
const MOST_LINES: usize = 2000;
const MOST_BYTES: usize = 1024 * 1024;
/// However long they are: more than a screen has rows.
const FEWEST_LINES: usize = 512;
/// What is read at once; more where most lines are of others.
const PAGE: u64 = 256;
const SPARSE_PAGE: u64 = 4096;

/// Whose lines are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// None: all.
    pub(crate) resource: Option<ResourceName>,
    /// None: both.
    pub(crate) source: Option<Source>,
}

impl Scope {
    fn admits(&self, line: &Line) -> bool {
        let resource = self.resource.as_ref().is_none_or(|name| line.resource.as_ref() == Some(name));
        resource && self.source.is_none_or(|source| line.source == source)
    }

    fn is_sparse(&self) -> bool {
        *self != Scope::default()
    }
}

/// A line, ready to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) seq: u64,
    pub(crate) resource: Option<ResourceName>,
    pub(crate) level: Level,
    pub(crate) styled: Styled,
}

/// Lines to be read from the store: all those with these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) from: u64,
    pub(crate) until: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) scope: Scope,
    pub(crate) lines: VecDeque<Shown>,
    bytes: usize,
    /// Every line of the scope from `begin` until `end` is in `lines`.
    begin: u64,
    end: u64,
    /// How far the log goes.
    grown: u64,
    colours: bool,
}

impl Window {
    pub(crate) fn new(colours: bool) -> Window {
        Window { colours, ..Window::default() }
    }

    pub(crate) fn grow(&mut self, end: u64) {
        self.grown = self.grown.max(end);
    }

    /// Forgets all, and begins at the end of the log.
    pub(crate) fn restart(&mut self, scope: Scope) {
        self.scope = scope;
        self.restart_at(self.grown);
    }

    /// Forgets all, and begins at a line.
    pub(crate) fn restart_at(&mut self, seq: u64) {
        let scope = std::mem::take(&mut self.scope);
        let at = seq.min(self.grown);
        *self = Window { scope, begin: at, end: at, grown: self.grown, ..Window::new(self.colours) };
    }

    /// Whether reading what is new would cost more than starting at the new end.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.grown - self.end > 4 * SPARSE_PAGE
    }

    pub(crate) fn older(&self) -> Option<Want> {
        let page = if self.scope.is_sparse() { SPARSE_PAGE } else { PAGE };
        (self.begin > 0).then(|| Want { from: self.begin.saturating_sub(page), until: self.begin })
    }

    pub(crate) fn newer(&self) -> Option<Want> {
        let until = self.grown.min(self.end + SPARSE_PAGE);
        (self.end < until).then_some(Want { from: self.end, until })
    }

    /// Takes what was read because of a want. What is far from `near` is forgotten when there is too much; lines that
    /// would push it out are left for later.
    pub(crate) fn take(&mut self, want: Want, lines: Vec<Line>, near: u64) {
        if want.until == self.begin {
            // A read of what is no longer kept gives later lines.
            let lost = lines.first().is_none_or(|first| first.seq > want.from);
            for line in lines.into_iter().rev().filter(|line| line.seq < want.until) {
                if !self.make_room(|lines| lines.back().map(|last| last.seq), |last| last > near) {
                    return;
                }
                self.begin = line.seq;
                self.add(line, VecDeque::push_front);
            }
            self.begin = if lost { 0 } else { want.from };
        } else if want.from == self.end {
            for line in lines.into_iter().filter(|line| line.seq < want.until) {
                if !self.make_room(|lines| lines.front().map(|first| first.seq), |first| first < near) {
                    return;
                }
                self.end = line.seq + 1;
                self.add(line, VecDeque::push_back);
            }
            self.end = want.until;
        }
    }

    /// Forgets lines at an end while there are too many; false if those are still needed.
    fn make_room(&mut self, edge: fn(&VecDeque<Shown>) -> Option<u64>, is_far: impl Fn(u64) -> bool) -> bool {
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

    fn add(&mut self, line: Line, push: fn(&mut VecDeque<Shown>, Shown)) {
        if !self.scope.admits(&line) {
            return;
        }
        let styled = Styled::parse(&line.text, self.colours);
        self.bytes += styled.text.len();
        push(&mut self.lines, Shown { seq: line.seq, resource: line.resource, level: line.level, styled });
    }

    fn forget(&mut self, pop: fn(&mut VecDeque<Shown>) -> Option<Shown>) {
        if let Some(line) = pop(&mut self.lines) {
            self.bytes -= line.styled.text.len();
        }
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MOST_LINES || (self.bytes > MOST_BYTES && self.lines.len() >= FEWEST_LINES)
    }

    /// The index of a line, or of the first one after it.
    pub(crate) fn index_of(&self, seq: u64) -> usize {
        self.lines.partition_point(|line| line.seq < seq)
    }

    pub(crate) fn has_all_newer(&self) -> bool {
        self.end >= self.grown
    }
}
