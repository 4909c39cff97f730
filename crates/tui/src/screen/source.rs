//! Reading pages of the log from the store.

use lilt_model::log::Line;
use lilt_store::{Filter, LineRef, LogReader};

use super::window::{LogRequest, Page, Scope};

/// A few screens.
const PAGE: usize = 256;

/// The maximum size of a page: a single line may have a megabyte.
const BYTES: usize = 256 * 1024;

pub(crate) fn read(logs: &LogReader, scope: &Scope, want: LogRequest) -> Page {
    let resources = scope.resource.iter().cloned().collect();
    let filter = Filter { resources, source: scope.source, ..Filter::default() };
    // Read first: lines that arrive meanwhile are read next time.
    let end = logs.end();
    match want {
        LogRequest::Older { before } => {
            let Some(found) = logs.take_back(&filter, before, PAGE) else {
                return Page { want, lines: Vec::new(), reached: 0 };
            };
            let mut lines = first_bytes(found.iter().rev());
            lines.reverse();
            let is_cut = lines.len() < found.len();
            let reached = lines.first().filter(|_| is_cut).map_or(found.next, |line| line.seq);
            Page { want, lines, reached }
        }
        LogRequest::Newer { from } => {
            let Some(found) = logs.take(&filter, from, PAGE) else {
                // No line until the end matches.
                return Page { want, lines: Vec::new(), reached: end.max(from) };
            };
            let lines = first_bytes(found.iter());
            let is_cut = lines.len() < found.len();
            let reached = lines.last().filter(|_| is_cut).map_or(found.next, |line| line.seq + 1);
            Page { want, lines, reached: reached.max(from) }
        }
    }
}

/// Returns the first lines up to [`BYTES`], so that very long lines cost neither memory nor time.
fn first_bytes<'l>(lines: impl Iterator<Item = LineRef<'l>>) -> Vec<Line> {
    let mut room = BYTES;
    let fitting = lines.take_while(|line| {
        let fits = room > 0;
        room = room.saturating_sub(line.text.len());
        fits
    });
    fitting.map(|line| line.to_line()).collect()
}

#[cfg(test)]
mod tests {
    use lilt_model::log::Source;
    use lilt_model::{SpanId, Timestamp};
    use lilt_store::LogWriter;

    use super::*;

    #[test]
    fn pages_are_bounded_by_bytes_and_reach_every_line() {
        let (writer, logs) = LogWriter::open(None, || Timestamp(7));
        let mut span = writer.span(SpanId::new("a"), None, Source::Runtime);
        for _ in 0..40 {
            span.write(&[&[b'x'; 50_000][..], b"\n"].concat());
        }
        let (mut older, mut before) = (Vec::new(), 40);
        while before > 0 {
            let page = read(&logs, &Scope::default(), LogRequest::Older { before });
            assert!(page.lines.len() <= BYTES / 50_000 + 1, "{} lines", page.lines.len());
            assert!(page.lines.is_sorted_by_key(|line| line.seq) && page.reached < before);
            older.extend(page.lines.iter().rev().map(|line| line.seq));
            before = page.reached;
        }
        assert_eq!(older, (0..40).rev().collect::<Vec<_>>());
        let (mut newer, mut from) = (Vec::new(), 0);
        while from < 40 {
            let page = read(&logs, &Scope::default(), LogRequest::Newer { from });
            assert!(page.lines.len() <= BYTES / 50_000 + 1, "{} lines", page.lines.len());
            newer.extend(page.lines.iter().map(|line| line.seq));
            from = page.reached;
        }
        assert_eq!(newer, (0..40).collect::<Vec<_>>());
    }
}
