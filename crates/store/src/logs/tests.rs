//! Compares the log with simple models.

mod assembly;
mod properties;

use lilt_model::log::{Line, Source};
use lilt_model::secret::Secret;
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::{Filter, LogReader, LogWriter, Span};
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
fn lost_lines_are_counted_where_they_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writer, reader) = small(folder.path(), u64::MAX);
    let mut web = span(&writer, "web");
    let mut api = span(&writer, "api");
    let mut write = |range: std::ops::Range<u32>| {
        for line in range {
            let out = if line % 3 == 0 { &mut api } else { &mut web };
            out.write(format!("line {line}\n").as_bytes());
        }
    };
    write(0..70);
    // A directory at the path of a file simulates a full disk.
    let next = crate::segments::file::path(folder.path(), 70);
    std::fs::create_dir(next).expect("a directory");
    write(70..1000);
    let lines = reader.read(0, 10_000);
    let lost = reader.lost(&Filter::default());
    let is_warning = |line: &&Line| line.text.contains("are missing here");
    assert_eq!(lines.iter().filter(is_warning).count(), 1, "{:?}", texts(&lines));
    // The warning replaces one lost line.
    assert_eq!(lines.len() as u64 - 1 + lost, reader.end());
    let expected = format!("WARNING: {lost} lines are missing here: they could not be written to disk");
    let place = lines.iter().position(|line| line.text == expected).expect("it is there");
    assert_eq!(lines[place - 1].text, "line 69");
    assert!(lines.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    // Backwards, and from the middle of the gap.
    let back = reader.page_back(&Filter::default(), reader.end(), 10_000).0;
    assert_eq!(texts(&back), texts(&lines));
    assert_eq!(reader.read(100, 1)[0].text, expected);
    assert_eq!(reader.begin(), 0);

    let mut of_owners = 0;
    for name in ["web", "api"] {
        let filter = Filter { resources: vec![name.into()], ..Filter::default() };
        let lost = reader.lost(&filter);
        of_owners += lost;
        let lines = reader.page(&filter, 0, 10_000).0;
        let expected = format!("WARNING: {lost} lines are missing here: they could not be written to disk");
        let notices: Vec<&Line> = lines.iter().filter(is_warning).collect();
        assert_eq!(notices.iter().map(|line| &*line.text).collect::<Vec<_>>(), [&*expected]);
        assert_eq!(notices[0].resource, Some(name.into()));
        assert_eq!(texts(&reader.page_back(&filter, reader.end(), 10_000).0), texts(&lines));
    }
    // The first line, stored or lost, is the store's own warning, which has no owner.
    assert!(of_owners == lost || of_owners + 1 == lost, "{of_owners} of {lost}");
    let other = Filter { resources: vec!["other".into()], ..Filter::default() };
    assert_eq!((reader.lost(&other), reader.page(&other, 0, 10).0.len()), (0, 0));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "stands in for a full disk")]
fn unwritten_lines_do_not_count_as_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writer, reader) = small(folder.path(), u64::MAX);
    std::fs::create_dir(crate::segments::file::path(folder.path(), 0)).expect("a directory");
    let mut out = span(&writer, "web");
    (0..1000).for_each(|line| out.write(format!("line {line}\n").as_bytes()));
    assert_eq!(reader.begin(), 0);
    let lines = reader.read(0, 10_000);
    assert!(lines[0].text.contains("are missing here"), "{:?}", texts(&lines));
    assert_eq!(lines.len() as u64 - 1 + reader.lost(&Filter::default()), reader.end());
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "stands in for a full disk")]
async fn writing_resumes_when_the_disk_has_space() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writer, reader) = small(folder.path(), 20_000);
    let mut out = span(&writer, "web");
    let mut write =
        |range: std::ops::Range<u32>| range.for_each(|line| out.write(format!("line {line}\n").as_bytes()));
    // Simulates a full disk: the path is not a directory.
    std::fs::remove_dir(folder.path()).expect("it is empty");
    std::fs::write(folder.path(), b"").expect("a file");
    write(0..500);
    let files = || std::fs::read_dir(folder.path()).expect("a directory").count();
    std::fs::remove_file(folder.path()).expect("a file");
    std::fs::create_dir(folder.path()).expect("a directory");
    write(500..510);
    assert_eq!(files(), 0, "the next attempt is made later");
    tokio::time::advance(super::RETRY_PAUSE).await;
    write(510..600);
    assert!(files() > 5, "{}", files());
    let count = |words: &str| reader.read(0, 10_000).iter().filter(|line| line.text.contains(words)).count();
    assert_eq!(count("are missing here"), 1);
    assert_eq!(count("is written to disk again"), 1);
    // The limit deletes the warning together with lines of its age.
    write(600..3000);
    assert_eq!(count("are missing here"), 0);
    assert!(reader.begin() > 500);
    let lines = reader.read(0, 10_000);
    assert!(lines.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "stands in for a broken disk")]
fn unreadable_lines_are_replaced_by_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writer, reader) = small(folder.path(), u64::MAX);
    let mut out = span(&writer, "web");
    (0..500).for_each(|line| out.write(format!("line {line}\n").as_bytes()));
    let path = crate::segments::file::path(folder.path(), 70);
    std::fs::remove_file(&path).expect("it is written");
    std::fs::create_dir(&path).expect("a directory");
    let web = Filter { resources: vec!["web".into()], ..Filter::default() };
    for filter in [Filter::default(), web] {
        let lines = reader.page(&filter, 0, 10_000).0;
        let notices: Vec<_> = lines.iter().filter(|line| line.text.contains("cannot be read")).collect();
        assert_eq!(notices.len(), 1, "{:?}", texts(&lines));
        assert_eq!((notices[0].seq, lines.len()), (70, 500 - 7 + 1));
        let back = reader.page_back(&filter, reader.end(), 10_000).0;
        assert_eq!(texts(&back), texts(&lines));
    }
}
