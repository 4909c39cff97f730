//! Every line of the session can be read, also those that are only on disk.

use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_store::{Filter, LogWriter};

fn span(writer: &LogWriter, resource: &str) -> lilt_store::Span {
    writer.span(SpanId::new("build:1"), Some(ResourceName::new(resource)), Source::Build)
}

fn texts(lines: &[lilt_model::log::Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

#[test]
fn lines_split_between_writes_are_joined() {
    let (writer, reader) = LogWriter::open(None, || Timestamp(7));
    let mut out = span(&writer, "web");
    out.write(b"one\ntw");
    out.write(b"o\r\n\nthree");
    assert_eq!(texts(&reader.read(0, 10)), ["one", "two", ""]);
    drop(out);
    assert_eq!(texts(&reader.read(0, 10)), ["one", "two", "", "three"]);
}

#[test]
fn own_lines_end_incomplete_output() {
    let (writer, reader) = LogWriter::open(None, || Timestamp(7));
    let mut out = span(&writer, "web");
    out.write(b"half");
    out.print(Level::Error, "ERROR: it broke");
    let lines = reader.read(0, 10);
    assert_eq!(texts(&lines), ["half", "ERROR: it broke"]);
    assert_eq!(lines[1].level, Level::Error);
    assert_eq!(lines[1].resource, Some(ResourceName::new("web")));
}

#[test]
fn invalid_utf8_is_replaced() {
    let (writer, reader) = LogWriter::open(None, || Timestamp(7));
    span(&writer, "web").write(b"a\xff\xfeb\n");
    assert_eq!(texts(&reader.read(0, 1)), ["a\u{fffd}\u{fffd}b"]);
}

#[test]
fn line_without_end_is_split_but_complete() {
    let (writer, reader) = LogWriter::open(None, || Timestamp(7));
    let mut out = span(&writer, "web");
    for _ in 0..40 {
        out.write(&[b'x'; 64 * 1024]);
    }
    drop(out);
    let total: usize = reader.read(0, 100).iter().map(|line| line.text.len()).sum();
    assert_eq!(total, 40 * 64 * 1024);
}

#[test]
fn lines_are_read_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = LogWriter::open(Some(folder.path().to_owned()), || Timestamp(7));
    let mut out = span(&writer, "web");
    let count = 300_000;
    for number in 0..count {
        out.write(format!("line {number}\n").as_bytes());
    }
    assert_eq!(reader.end(), count);
    let mut next = 0;
    while next < count {
        let lines = reader.read(next, 1000);
        assert!(!lines.is_empty());
        for line in lines {
            assert_eq!((line.seq, line.text), (next, format!("line {next}")));
            next += 1;
        }
    }
}

#[test]
fn old_lines_are_skipped_without_a_folder() {
    let (writer, reader) = LogWriter::open(None, || Timestamp(7));
    let mut out = span(&writer, "web");
    for number in 0..300_000 {
        out.write(format!("line {number}\n").as_bytes());
    }
    let first = &reader.read(0, 1)[0];
    assert!(first.seq > 0);
    assert_eq!(first.text, format!("line {}", first.seq));
}

#[test]
fn disk_failure_is_reported_and_writing_continues() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("gone");
    let (writer, reader) = LogWriter::open(Some(missing), || Timestamp(7));
    let mut out = span(&writer, "web");
    for number in 0..20_000 {
        out.write(format!("line {number}\n").as_bytes());
    }
    let warned = reader.read(0, 100_000).iter().filter(|line| line.level == Level::Warn).count();
    assert_eq!(warned, 1);
    assert_eq!(reader.end(), 20_001);
}

#[tokio::test]
async fn follower_is_woken() {
    let (writer, reader) = LogWriter::open(None, || Timestamp(7));
    let waiting = tokio::spawn({
        let reader = reader.clone();
        async move { reader.grown(0).await }
    });
    span(&writer, "web").write(b"hello\n");
    assert_eq!(waiting.await.unwrap(), 1);
}

#[test]
fn warnings_and_errors_are_counted() {
    let (writer, reader) = LogWriter::open(None, || Timestamp(7));
    let web = ResourceName::new("web");
    let mut first = writer.span(SpanId::new("build:web:1"), Some(web.clone()), Source::Build);
    first.print(Level::Warn, "WARNING: old image\nuse another");
    first.write(b"WARNING: says the user's program\n");
    first.print(Level::Warn, "WARNING: once more");
    first.print(Level::Error, "ERROR: no");
    drop(first);
    let mut second = writer.span(SpanId::new("build:web:2"), Some(web.clone()), Source::Build);
    second.print(Level::Warn, "WARNING: of the next");
    assert_eq!(reader.count(&web, Level::Warn), 4, "in lines");
    assert!(!reader.knows(&ResourceName::new("other")));
}

/// Structured lines have their own level, in filters and in counts, from memory and from disk.
#[test]
fn structured_lines_are_filtered_by_their_own_level() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = LogWriter::open(Some(folder.path().to_owned()), || Timestamp(7));
    let web = ResourceName::new("web");
    let mut out = span(&writer, "web");
    out.headline("an update");
    out.write(b"plain {error}\n{\"level\":\"error\",\"msg\":\"first\"}\n{\"level\":\"info\"}\n{\"level\":");
    out.write(b"\"WARN\"}\n");
    for _ in 0..20_000 {
        out.write(b"{\"level\":\"info\",\"msg\":\"so much that the lines before leave memory, which holds four megabytes of them at most, and then some more of it, until it is two hundred and a few bytes\"}\n");
    }
    out.print(Level::Warn, "WARNING: lilt's own");
    out.write(b"{\"level\":\"error\",\"msg\":\"last\"}\n");

    let of = |level| Filter { levels: vec![level], ..Filter::default() };
    let errors = reader.page(&of(Level::Error), 0, usize::MAX).0;
    let found: Vec<&str> = texts(&errors).into_iter().filter(|text| text.starts_with('{')).collect();
    assert_eq!(found, [r#"{"level":"error","msg":"first"}"#, r#"{"level":"error","msg":"last"}"#]);
    assert_eq!((reader.count(&web, Level::Error), reader.count(&web, Level::Warn)), (2, 2));
}
