//! The store against simple models of it.

mod assembly;
mod properties;

use lilt_model::log::{Line, Source};
use lilt_model::secret::Secret;
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::{LogReader, LogWriter, Span};
use crate::segments::Sizes;

fn store() -> (LogWriter, LogReader) {
    LogWriter::open(None, || Timestamp(7))
}

/// Segments of a few lines, few of them in memory.
fn small(folder: &std::path::Path, disk: u64) -> (LogWriter, LogReader) {
    let sizes = Sizes { bytes: 200, lines: 7, recent: 1500, disk };
    LogWriter::open_sized(Some(folder.to_owned()), sizes, || Timestamp(7))
}

fn span(writer: &LogWriter, resource: &str) -> Span {
    writer.span(SpanId::new(format!("build:{resource}:1")), Some(ResourceName::new(resource)), Source::Build)
}

fn texts(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

fn secret(key: &str, value: &str) -> Secret {
    Secret { name: "db".into(), key: key.into(), value: value.into(), encoded: format!("{value}-in-base64") }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "stands in for a full disk")]
fn lines_that_a_full_disk_cost_are_counted_where_they_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writer, reader) = small(folder.path(), u64::MAX);
    let mut span = span(&writer, "web");
    let mut write =
        |range: std::ops::Range<u32>| range.for_each(|line| span.write(format!("line {line}\n").as_bytes()));
    write(0..70);
    // A directory in the place of a file stands for a disk that takes no more.
    let next = crate::segments::file::path(folder.path(), 70);
    std::fs::create_dir(next).expect("a directory");
    write(70..1000);
    let lines = reader.read(0, 10_000);
    let notices: Vec<&Line> = lines.iter().filter(|line| line.text.contains("are missing here")).collect();
    assert_eq!(notices.len(), 1, "{:?}", texts(&lines));
    // The notice stands in the place of a line that is lost.
    assert_eq!(lines.len() as u64 - 1 + reader.lost(), reader.end());
    let expected =
        format!("WARNING: {} lines are missing here: they could not be written to disk", reader.lost());
    assert_eq!(notices[0].text, expected);
    let place = lines.iter().position(|line| line.text == expected).expect("it is there");
    assert_eq!(lines[place - 1].text, "line 69");
    assert!(lines.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    // Backwards, and from the middle of what is missing.
    let back = reader.page_back(&super::Filter::default(), reader.end(), 10_000).0;
    assert_eq!(texts(&back), texts(&lines));
    assert_eq!(reader.read(100, 1)[0].text, expected);
}
