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
