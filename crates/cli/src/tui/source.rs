//! Reading pages of the log from the store.

use lilt_store::{Filter, LogReader};

use super::window::{Page, Scope, Want};

/// A few screens.
const PAGE: usize = 256;

pub(crate) fn read(logs: &LogReader, scope: &Scope, want: Want) -> Page {
    let resources = scope.resource.iter().cloned().collect();
    let filter = Filter { resources, source: scope.source, ..Filter::default() };
    // Before looking: what comes meanwhile is read next time.
    let end = logs.end();
    match want {
        Want::Older { before } => {
            let (lines, next) = logs.page_back(&filter, before, PAGE);
            Page { want, lines, reached: next.unwrap_or(0) }
        }
        Want::Newer { from } => {
            let (lines, next) = logs.page(&filter, from, PAGE);
            // Nothing there, and nowhere to go on: none of the lines until the end are wanted.
            let reached = if lines.is_empty() && next <= from { end } else { next };
            Page { want, lines, reached: reached.max(from) }
        }
    }
}
