//! Reading pages of the log from the store.

use lilt_model::log::Line;
use lilt_store::LogReader;

use super::window::{Page, Scope, Want};

/// Lines looked at for one page; more where most are of others.
const PAGE: u64 = 256;
const SPARSE_PAGE: u64 = 4096;

pub(crate) fn read(logs: &LogReader, scope: &Scope, want: Want) -> Page {
    let count = if *scope == Scope::default() { PAGE } else { SPARSE_PAGE };
    let (from, until) = match want {
        Want::Older { before } => (before.saturating_sub(count), before),
        Want::Newer { from } => (from, logs.end().min(from + count)),
    };
    let mut lines = logs.read(from, usize::try_from(until - from).unwrap_or(usize::MAX));
    let reached = match want {
        // A read of what is no longer kept gives later lines: there is nothing before them.
        Want::Older { .. } if lines.first().is_none_or(|first| first.seq > from) => 0,
        Want::Older { .. } => from,
        Want::Newer { .. } => lines.last().map_or(until, |last| last.seq + 1).min(until),
    };
    lines.retain(|line: &Line| line.seq < until && scope.admits(line));
    Page { want, lines, reached }
}
