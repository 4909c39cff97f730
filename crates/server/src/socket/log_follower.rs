//! The part of the log that a page follows.

use lilt_model::log::Line;
use lilt_store::{Filter, LogReader};

use crate::lines::{LINES_PER_PAGE, forwards};
use crate::log_query::{self, QueryError};
use crate::protocol::{LINES_AFTER_GAP, MAX_FOLLOW_LAG, ServerMessage};

#[derive(Debug)]
pub(super) struct LogFollower {
    follow: u64,
    filter: Filter,
    next: u64,
}

impl LogFollower {
    pub(super) fn begin(follow: u64, query: &str, from: u64) -> Result<LogFollower, QueryError> {
        Ok(LogFollower { follow, filter: log_query::filter(query)?, next: from })
    }

    /// Returns whether there are unread lines.
    pub(super) fn is_behind(&self, logs: &LogReader) -> bool {
        logs.end() > self.next
    }

    /// Returns the next lines; none if no new line matches.
    pub(super) fn next_message(&mut self, logs: &LogReader) -> Option<ServerMessage> {
        let end = logs.end();
        let mut gap = false;
        if end.saturating_sub(self.next) > MAX_FOLLOW_LAG {
            let newest = logs.tail(&self.filter, LINES_AFTER_GAP, &|| true);
            // A few matching lines among many others are all sent.
            gap = newest > self.next;
            self.next = newest.max(self.next);
        }
        let (lines, next) = forwards(logs, &self.filter, self.next, LINES_PER_PAGE);
        self.next = next.unwrap_or_else(|| lines.last().map_or(end, |last: &Line| end.max(last.seq + 1)));
        let message = ServerMessage::Lines { follow: self.follow, next: self.next, gap, lines };
        match &message {
            ServerMessage::Lines { lines, .. } if lines.is_empty() => None,
            _ => Some(message),
        }
    }
}
