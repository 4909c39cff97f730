//! The log view: the cursor line, the rows around it, and a search.

use lilt_model::ResourceName;

use super::window::{LoadedLine, LogRequest, Page, Scope, Window};
use crate::wrap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Older,
    Newer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Search {
    direction: Direction,
    /// The line where it started; the cursor stays there if nothing is found.
    origin: u64,
    /// Whether to continue in the other direction.
    both: bool,
}

/// A position in the log: a row of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogPosition {
    pub(crate) seq: u64,
    pub(crate) row: usize,
}

#[derive(Debug)]
pub(crate) struct Pane {
    pub(crate) window: Window,
    /// The cursor: the line that is copied and where searches start.
    pub(crate) cursor: u64,
    /// The first row on the screen.
    pub(crate) top: LogPosition,
    /// The view follows the newest line.
    pub(crate) follow: bool,
    pub(crate) wrap: bool,
    /// Columns scrolled out on the left, when lines are not wrapped.
    pub(crate) left: usize,
    pub(crate) pattern: String,
    /// A search that continues in lines that are not read yet.
    seeking: Option<Search>,
    /// A search ended without a match; reported once.
    missed: bool,
    /// Columns and rows for the text.
    size: (usize, usize),
}

impl Pane {
    pub(crate) fn new(colours: bool) -> Pane {
        Pane {
            window: Window::new(colours),
            cursor: 0,
            top: LogPosition::default(),
            follow: true,
            wrap: true,
            left: 0,
            pattern: String::new(),
            seeking: None,
            missed: false,
            size: (1, 1),
        }
    }

    pub(crate) fn set_scope(&mut self, scope: Scope) {
        if self.window.scope != scope {
            self.window.restart(scope);
            self.follow = true;
            self.seeking = None;
            self.left = 0;
        }
    }

    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.size = (columns.max(1), rows.max(1));
        self.settle();
    }

    /// Returns which lines to read next; none if all visible and searched lines are loaded.
    pub(crate) fn next_request(&self) -> Option<LogRequest> {
        let window = &self.window;
        let rows = self.size.1;
        let seeks = |direction| self.seeking.is_some_and(|search| search.direction == direction);
        let below = window.lines.len().saturating_sub(window.index_of(self.cursor));
        let ahead = self.follow || seeks(Direction::Newer) || below <= rows;
        if let Some(newer) = window.newer().filter(|_| ahead) {
            return Some(newer);
        }
        let above = window.index_of(self.top.seq);
        if seeks(Direction::Older) || above < rows { window.older() } else { None }
    }

    pub(crate) fn learn<'n>(&mut self, names: impl IntoIterator<Item = &'n ResourceName>) {
        self.window.learn(names);
    }

    pub(crate) fn grow(&mut self, end: u64) {
        self.window.grow(end);
        if self.follow && self.window.is_far_behind() {
            self.window.restart(self.window.scope.clone());
        }
    }

    pub(crate) fn take(&mut self, page: Page) {
        // The visible lines and the position of a search are kept.
        let near = match page.want {
            LogRequest::Older { .. } => self.cursor,
            LogRequest::Newer { .. } => self.top.seq.min(self.cursor),
        };
        self.window.take(page, near);
        if let Some(search) = self.seeking {
            self.continue_search(search);
        }
        self.settle();
    }

    /// Moves the cursor by lines, or the view by rows where the cursor's line has more than fit.
    pub(crate) fn step(&mut self, direction: Direction, by: usize) {
        self.seeking = None;
        for _ in 0..by {
            match direction {
                Direction::Older => self.step_up(),
                Direction::Newer => self.step_down(),
            }
            self.settle();
        }
    }

    fn step_up(&mut self) {
        self.follow = false;
        let at = self.window.index_of(self.cursor);
        if self.top.seq == self.cursor && self.top.row > 0 {
            self.top.row -= 1;
        } else if at > 0 {
            self.cursor = self.window.lines[at - 1].seq;
        }
    }

    fn step_down(&mut self) {
        let at = self.window.index_of(self.cursor);
        let Some(line) = self.window.lines.get(at) else { return };
        let hidden = self.top.seq == line.seq && self.rows(line) - self.top.row > self.size.1;
        if hidden {
            self.top.row += 1;
        } else if let Some(next) = self.window.lines.get(at + 1) {
            self.cursor = next.seq;
        } else {
            self.follow |= self.window.has_all_newer();
        }
    }

    pub(crate) fn page(&mut self, direction: Direction) {
        self.step(direction, self.size.1.saturating_sub(1).max(1));
    }

    pub(crate) fn go_to_begin(&mut self) {
        self.follow = false;
        self.seeking = None;
        self.cursor = 0;
        self.top = LogPosition::default();
        self.window.restart_at(0);
    }

    pub(crate) fn go_to_end(&mut self) {
        self.seeking = None;
        if !self.window.has_all_newer() {
            self.window.restart(self.window.scope.clone());
        }
        self.follow = true;
        self.settle();
    }

    pub(crate) fn toggle_follow(&mut self) {
        if self.follow {
            self.follow = false;
        } else {
            self.go_to_end();
        }
    }

    pub(crate) fn toggle_wrap(&mut self) {
        self.wrap = !self.wrap;
        self.left = 0;
        self.top.row = 0;
        self.settle();
    }

    pub(crate) fn shift(&mut self, by: isize) {
        if !self.wrap {
            self.left = self.left.saturating_add_signed(by);
        }
    }

    /// Moves to the nearest line with a match: this one, one above, or one below.
    pub(crate) fn search(&mut self, pattern: String) {
        self.pattern = pattern;
        let here = self.current().is_some_and(|line| !self.matches(&line.styled.text).is_empty());
        if !here && !self.pattern.is_empty() {
            self.follow = false;
            self.continue_search(Search { direction: Direction::Older, origin: self.cursor, both: true });
            self.settle();
        }
    }

    /// Moves to the next line with a match.
    pub(crate) fn search_on(&mut self, direction: Direction) {
        if !self.pattern.is_empty() {
            self.follow = false;
            self.continue_search(Search { direction, origin: self.cursor, both: false });
            self.settle();
        }
    }

    fn continue_search(&mut self, search: Search) {
        let at = self.window.index_of(self.cursor);
        let lines = &self.window.lines;
        let is_match = |line: &&LoadedLine| !self.matches(&line.styled.text).is_empty();
        let (found, more, edge) = match search.direction {
            Direction::Older => {
                let found = lines.range(..at.min(lines.len())).rev().find(is_match);
                (found, self.window.older(), lines.front())
            }
            Direction::Newer => {
                let found = lines.range((at + 1).min(lines.len())..).find(is_match);
                (found, self.window.newer(), lines.back())
            }
        };
        self.seeking = None;
        if let Some(line) = found {
            self.cursor = line.seq;
        } else if more.is_some() {
            // The next page is searched from the edge of the searched lines.
            self.cursor = edge.map_or(self.cursor, |line| line.seq);
            self.seeking = Some(search);
        } else {
            self.return_to(search.origin);
            if search.both {
                self.continue_search(Search { direction: Direction::Newer, both: false, ..search });
            } else {
                self.missed = true;
            }
        }
    }

    /// Returns to where a search started; the lines there may have been unloaded meanwhile.
    fn return_to(&mut self, seq: u64) {
        self.cursor = seq;
        let known = self.window.lines.get(self.window.index_of(seq)).is_some_and(|line| line.seq == seq);
        if !known {
            self.window.restart_at(seq);
        }
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.seeking.is_some()
    }

    pub(crate) fn take_not_found(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }

    pub(crate) fn stop_search(&mut self) {
        self.seeking = None;
    }

    pub(crate) fn current(&self) -> Option<&LoadedLine> {
        self.window.lines.get(self.window.index_of(self.cursor)).filter(|line| line.seq == self.cursor)
    }

    /// Returns the matches of the pattern. Case matters only if the pattern has capitals.
    pub(crate) fn matches(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let pattern = self.pattern.as_str();
        if pattern.is_empty() {
            return Vec::new();
        }
        let exact = pattern.chars().any(char::is_uppercase) || !pattern.is_ascii();
        if exact {
            return text.match_indices(pattern).map(|(at, found)| at..at + found.len()).collect();
        }
        // The same length, so that its indices are valid in the text.
        let lower = text.to_ascii_lowercase();
        lower.match_indices(pattern).map(|(at, found)| at..at + found.len()).collect()
    }

    fn rows(&self, line: &LoadedLine) -> usize {
        if self.wrap { wrap::count(&line.styled.text, self.size.0) } else { 1 }
    }

    /// Clamps cursor and top to existing lines, with the cursor visible.
    fn settle(&mut self) {
        let lines = &self.window.lines;
        let Some(last) = lines.back() else { return };
        if self.follow {
            self.cursor = last.seq;
        }
        let at = self.window.index_of(self.cursor).min(lines.len() - 1);
        self.cursor = lines[at].seq;
        let height = self.size.1;
        let end = lines.len() - 1;
        // No empty rows below the last line while there are lines above.
        let lowest = self.rows_before(end, self.rows(&lines[end]), height);
        if self.follow {
            self.top = lowest;
            return;
        }
        // The cursor's line is completely visible, or fills the view.
        let rows = self.rows(&lines[at]);
        let (first, last) = if rows > height {
            (LogPosition { seq: self.cursor, row: 0 }, LogPosition { seq: self.cursor, row: rows - height })
        } else {
            (self.rows_before(at, rows, height), LogPosition { seq: self.cursor, row: 0 })
        };
        self.top = self.top.max(first).min(last).min(lowest);
        // The line may be unloaded, or have fewer rows than before.
        let at = self.window.index_of(self.top.seq).min(end);
        self.top = LogPosition { seq: lines[at].seq, row: self.top.row.min(self.rows(&lines[at]) - 1) };
    }

    /// Returns the position `height` rows before row `row` of a line, at least the first row.
    fn rows_before(&self, line: usize, row: usize, height: usize) -> LogPosition {
        let lines = &self.window.lines;
        let (mut at, mut above) = (line, row);
        let mut missing = height;
        loop {
            if above >= missing {
                return LogPosition { seq: lines[at].seq, row: above - missing };
            }
            missing -= above;
            if at == 0 {
                return LogPosition { seq: lines[0].seq, row: 0 };
            }
            at -= 1;
            above = self.rows(&lines[at]);
        }
    }

    /// Returns the visible rows: line, part of its text, whether it is the line's first row.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (&LoadedLine, std::ops::Range<usize>, bool)> {
        let begin = self.window.index_of(self.top.seq);
        let (columns, height) = self.size;
        let lines = self.window.lines.iter().skip(begin);
        let rows = lines.flat_map(move |line| {
            let text = &line.styled.text;
            let parts = if self.wrap {
                wrap::rows(text, columns)
            } else {
                std::iter::once(wrap::skip(text, self.left)..text.len()).collect()
            };
            parts.into_iter().enumerate().map(move |(row, part)| (line, part, row == 0))
        });
        rows.skip(self.top.row).take(height)
    }
}

#[cfg(test)]
mod tests;
